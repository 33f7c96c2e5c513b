#include "cli/top/top_page.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void top_page_init(struct top_page *page, int columns, int height, bool utf8)
{
    *page = (struct top_page){
        .columns = columns > 0 ? columns : 1,
        .height = height > 0 ? height : 1,
        .utf8 = utf8,
        .cursor = -1,
    };
    page->lines = mem_array((size_t)page->height, sizeof *page->lines);
}

void top_page_clear(struct top_page *page)
{
    for (int i = 0; i < page->height; i++) {
        for (size_t k = 0; k < page->lines[i].count; k++)
            free(page->lines[i].cells[k].text);
        free(page->lines[i].cells);
    }
    free(page->lines);
    *page = (struct top_page){0};
}

/* The longest beginning of `text` that is at most `width` columns wide, in bytes. */
static size_t beginning(const char *text, int width, int *used)
{
    size_t len = 0;
    *used = 0;
    while (text[len]) {
        char letter[8] = "";
        size_t step = text_utf8(text + len, strlen(text + len));
        step = step ? step : 1;
        memcpy(letter, text + len, step);
        int columns = terminal_width(letter);
        if (*used + columns > width)
            break;
        *used += columns;
        len += step;
    }
    return len;
}

/* Takes ownership of `text`, which is `width` columns wide. */
static void add_taken(struct top_page *page, enum top_attr attr, char *text, int width)
{
    struct top_line *line = &page->lines[page->next];
    line->cells = mem_resize(line->cells, line->count + 1, sizeof *line->cells);
    line->cells[line->count++] = (struct top_cell){attr, text};
    line->width += width;
}

static char *showable(const char *text, bool utf8)
{
    char *clean = text_printable(text, strlen(text), "");
    for (char *c = clean; *c && !utf8; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return clean;
}

static void add_cut(struct top_page *page, enum top_attr attr, const char *text, int width,
                    bool right, bool filled)
{
    int room, used, whole;
    room = top_page_room(page);
    if (width > room)
        width = room;
    if (width <= 0)
        return;
    char *clean = showable(text, page->utf8);
    struct buf out = {0};
    whole = terminal_width(clean);
    const char *end = whole > width ? page->utf8 ? "\u2026" : "~" : "";
    size_t len = beginning(clean, whole > width ? width - 1 : width, &used);
    used += *end != '\0';
    if (filled && right)
        buf_printf(&out, "%*s", width - used, "");
    buf_add(&out, clean, len);
    buf_add_string(&out, end);
    if (filled && !right)
        buf_printf(&out, "%*s", width - used, "");
    free(clean);
    if (out.len)
        add_taken(page, attr, buf_take(&out), filled ? width : used);
    buf_free(&out);
}

void top_page_add(struct top_page *page, enum top_attr attr, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = mem_alloc((size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    add_cut(page, attr, text, page->columns, false, false);
    free(text);
}

void top_page_cell(struct top_page *page, enum top_attr attr, int width, bool right,
                   const char *text)
{
    add_cut(page, attr, text, width, right, true);
}

int top_page_room(const struct top_page *page)
{
    return page->next < page->height ? page->columns - page->lines[page->next].width : 0;
}

void top_page_fill(struct top_page *page, enum top_attr attr, bool whole)
{
    if (page->next >= page->height)
        return;
    struct top_line *line = &page->lines[page->next];
    for (size_t i = 0; whole && i < line->count; i++)
        line->cells[i].attr = attr;
    add_cut(page, attr, "", page->columns - line->width, false, true);
}

void top_page_end_line(struct top_page *page)
{
    if (page->next < page->height)
        page->next++;
}

void top_page_go(struct top_page *page, int line)
{
    page->next = line < 0 ? 0 : line;
}

char *top_page_text(const struct top_page *page, int line)
{
    struct buf out = {0};
    buf_add_string(&out, "");
    for (size_t i = 0; line < page->height && i < page->lines[line].count; i++)
        buf_add_string(&out, page->lines[line].cells[i].text);
    while (out.len && out.data[out.len - 1] == ' ')
        out.data[--out.len] = '\0';
    return buf_take(&out);
}
