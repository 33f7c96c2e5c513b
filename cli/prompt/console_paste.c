#include "cli/prompt/console_paste.h"

#include "base/mem.h"

#include <stdlib.h>

enum { LIMIT = 1 << 20 };

static const wchar_t end_mark[] = L"\033[201~";

static void add(struct paste *paste, wchar_t c)
{
    bool after_cr = paste->after_cr;
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    paste->after_cr = c == L'\r';
    if (c == L'\r')
        c = L'\n';
    else if ((c == L'\n' && after_cr) || (control && c != L'\n' && c != L'\t'))
        return;
    if (paste->len >= LIMIT)
        return;
    if (paste->len + 2 > paste->room) {
        paste->room = paste->room ? 2 * paste->room : 256;
        paste->text = mem_resize(paste->text, paste->room, sizeof *paste->text);
    }
    paste->text[paste->len++] = c;
}

bool paste_feed(struct paste *paste, wchar_t c)
{
    if (c == end_mark[paste->matched]) {
        paste->matched++;
        if (end_mark[paste->matched])
            return false;
        add(paste, L'\n'); /* makes room for the final 0; removed with the line ends */
        while (paste->len && paste->text[paste->len - 1] == L'\n')
            paste->len--;
        paste->text[paste->len] = L'\0';
        return true;
    }
    for (size_t i = 1; i < paste->matched; i++)
        add(paste, end_mark[i]);
    paste->matched = c == end_mark[0];
    if (!paste->matched)
        add(paste, c);
    return false;
}

void paste_clear(struct paste *paste)
{
    free(paste->text);
    *paste = (struct paste){0};
}
