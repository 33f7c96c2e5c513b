#include "cli/text/console_format.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/terminal.h"
#include "cli/text/console_colour.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void console_format_tint(struct buf *out, const struct style *style, enum tint tint)
{
    static const char *const codes[] = {
        [TINT_PLAIN] = "\033[0m", [TINT_BOLD] = "\033[1m",   [TINT_DIM] = "\033[2m",
        [TINT_MARK] = "\033[36m", [TINT_ERROR] = "\033[31m",
    };
    if (style->colour)
        buf_add_string(out, codes[tint]);
}

void console_format_tinted(struct buf *out, const struct style *style, enum tint tint,
                           const char *text)
{
    console_format_tint(out, style, tint);
    buf_add_string(out, text);
    console_format_tint(out, style, TINT_PLAIN);
}

const char *console_format_arrow(const struct style *style)
{
    return style->utf8 ? "→" : "->";
}

const char *console_format_ellipsis(const struct style *style)
{
    return style->utf8 ? "…" : "...";
}

const char *console_format_dot(const struct style *style)
{
    return style->utf8 ? " · " : " - ";
}

/* Bytes of the character at `text`, which is not at its end. */
static size_t step(const char *text)
{
    size_t len = 1;
    while ((text[len] & 0xC0) == 0x80)
        len++;
    return len;
}

size_t console_format_prefix(const char *text, size_t count)
{
    size_t at = 0;
    for (; count && text[at]; count--)
        at += step(text + at);
    return at;
}

size_t console_format_characters(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t at = 0; at < len && text[at]; at += step(text + at))
        count++;
    return count;
}

static int character_width(const char *text, size_t len)
{
    char one[16];
    if ((unsigned char)*text < 0x80 || len >= sizeof one)
        return 1;
    memcpy(one, text, len);
    one[len] = '\0';
    return terminal_width(one);
}

size_t console_format_fit(const char *text, int columns)
{
    size_t at = 0;
    while (text[at]) {
        size_t len = step(text + at);
        columns -= character_width(text + at, len);
        if (columns < 0)
            break;
        at += len;
    }
    return at;
}

bool console_format_one_line(struct buf *out, const struct style *style, const char *text,
                             int columns)
{
    size_t line = strcspn(text, "\r\n");
    char *clean = text_printable(text, line, "");
    size_t fits = console_format_fit(clean, columns);
    bool cut = clean[fits] || text[line];
    if (cut) {
        int room = columns - (style->utf8 ? 1 : 3);
        buf_add(out, clean, console_format_fit(clean, room > 0 ? room : 0));
        buf_add_string(out, console_format_ellipsis(style));
    } else {
        buf_add_string(out, clean);
    }
    free(clean);
    return cut;
}

static void add_count(struct buf *out, size_t count)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%zu", count);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            buf_add_string(out, ",");
        buf_add(out, &digits[i], 1);
    }
}

void console_format_flatten(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        size_t blank = strspn(from, " \t\r\n");
        if (blank && memchr(from, '\n', blank)) {
            *to++ = ' ';
            from += blank;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* "… 1,234 more characters: p --all x", and the end of the line. */
static void add_rest(struct buf *out, const struct style *style, size_t more, bool partial,
                     const char *how)
{
    if (more) {
        buf_add_string(out, "\n");
        console_format_tint(out, style, TINT_DIM);
        buf_printf(out, "%s %s", console_format_ellipsis(style), partial ? "over " : "");
        add_count(out, more);
        buf_printf(out, " more characters: %s", how);
        console_format_tint(out, style, TINT_PLAIN);
    }
    if (out->len == 0 || out->data[out->len - 1] != '\n')
        buf_add_string(out, "\n");
}

void console_format_value(struct buf *out, const struct style *style, const char *value,
                          size_t limit, bool partial, const char *how)
{
    size_t len = strlen(value);
    size_t shown = limit ? console_format_prefix(value, limit) : len;
    text_add_printable(out, value, shown, "\n\t");
    add_rest(out, style, console_format_characters(value + shown, len - shown), partial, how);
}

void console_format_value_of(struct buf *out, const struct style *style, const char *value,
                             size_t total, const char *how)
{
    size_t len = strlen(value), shown = console_format_characters(value, len);
    text_add_printable(out, value, len, "\n\t");
    add_rest(out, style, total > shown ? total - shown : 0, false, how);
}

int console_format_digits(int64_t number)
{
    int digits = 1;
    while (number >= 10) {
        number /= 10;
        digits++;
    }
    return digits;
}

/* Replaces tabs by spaces, up to the next column of eight. */
static char *expand_tabs(const char *text)
{
    struct buf out = {0};
    size_t column = 0;
    buf_reserve(&out, 1);
    for (; *text; text++) {
        size_t fill = *text == '\t' ? 8 - column % 8 : 1;
        if (*text == '\t')
            buf_add(&out, "        ", fill);
        else
            buf_add(&out, text, 1);
        column += (*text & 0xC0) == 0x80 ? 0 : fill;
    }
    buf_add(&out, "", 1);
    return buf_take(&out);
}

void console_format_source_line(struct buf *out, const struct style *style, int64_t number,
                                int digits, const char *text, bool current)
{
    const char *mark = current ? console_format_arrow(style) : style->utf8 ? " " : "  ";
    if (current)
        console_format_tint(out, style, TINT_MARK);
    buf_printf(out, "  %s %*" PRId64 "  ", mark, digits, number);
    if (current)
        console_format_tint(out, style, TINT_PLAIN);
    char *wide = expand_tabs(text);
    struct buf line = {0};
    console_format_one_line(&line, style, wide, style->columns - digits - 7);
    while (line.len && line.data[line.len - 1] == ' ')
        line.data[--line.len] = '\0';
    if (line.len)
        buf_add_string(out, "  ");
    if (line.len && style->colour)
        colour_python(out, line.data);
    else if (line.len)
        buf_add_string(out, line.data);
    else
        while (out->data[out->len - 1] == ' ')
            out->data[--out->len] = '\0';
    buf_add_string(out, "\n");
    buf_free(&line);
    free(wide);
}

char *console_format_path(const struct style *style, const char *path, const char *cwd)
{
    enum { LONGEST = 60 };
    static const char packages[] = "/site-packages/";
    const char *rest = path;
    size_t len = cwd ? strlen(cwd) : 0;
    const char *library = strstr(path, packages);
    if (len > 1 && strncmp(path, cwd, len) == 0 && path[len] == '/')
        rest = path + len + 1;
    else if (library)
        rest = library + strlen(packages);
    if (strlen(rest) <= LONGEST)
        return text_printable(rest, strlen(rest), "");
    const char *tail = strchr(rest + strlen(rest) - LONGEST, '/');
    if (!tail)
        return text_printable(rest, strlen(rest), "");
    char *clean = text_printable(tail, strlen(tail), "");
    char *shortened = mem_format("%s%s", console_format_ellipsis(style), clean);
    free(clean);
    return shortened;
}

void console_format_strip_note(char *text)
{
    char *note = text ? strstr(text, "       (note:") : NULL;
    if (note)
        *note = '\0';
}
