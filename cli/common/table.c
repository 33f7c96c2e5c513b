#include "cli/common/table.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { GAP = 2, NARROWEST = 6 };

struct table {
    const struct table_column *columns;
    size_t count;
    char **cells;
    size_t cell_count;
    size_t room;
};

struct table *table_create(const struct table_column *columns, size_t count)
{
    struct table *table = mem_alloc(sizeof *table);
    table->columns = columns;
    table->count = count;
    return table;
}

void table_free(struct table **table)
{
    struct table *it = *table;
    if (!it)
        return;
    *table = NULL;
    for (size_t i = 0; i < it->cell_count; i++)
        free(it->cells[i]);
    free(it->cells);
    free(it);
}

void table_cell(struct table *table, const char *text)
{
    table->cells = mem_grow(table->cells, table->cell_count, &table->room, sizeof *table->cells);
    table->cells[table->cell_count++] = text_printable(text, strlen(text), "");
}

static int widest(const struct table *table, size_t column)
{
    int width = terminal_width(table->columns[column].title);
    for (size_t i = column; i < table->cell_count; i += table->count) {
        int cell = terminal_width(table->cells[i]);
        width = cell > width ? cell : width;
    }
    return width;
}

/* Narrows the widest column that may shrink, until the row fits. */
static void shrink(const struct table *table, int *widths, int limit)
{
    int total = 0;
    for (size_t i = 0; i < table->count; i++)
        total += widths[i] + GAP;
    while (total > limit) {
        size_t most = table->count;
        for (size_t i = 0; i < table->count; i++)
            if (table->columns[i].shrinks && widths[i] > NARROWEST &&
                (most == table->count || widths[i] > widths[most]))
                most = i;
        if (most == table->count)
            return;
        widths[most]--;
        total--;
    }
}

/* Appends as much of the text as fits into `width` columns; returns the columns used. */
static int add_cut(struct buf *out, const char *text, int width, bool utf8)
{
    int whole = terminal_width(text);
    if (whole <= width) {
        buf_add_string(out, text);
        return whole;
    }
    const char *mark = utf8 ? "…" : "~";
    int used = 0;
    mbstate_t state = {0};
    while (*text) {
        wchar_t wide;
        size_t len = mbrtowc(&wide, text, strlen(text), &state);
        bool odd = len == (size_t)-1 || len == (size_t)-2;
        int columns = odd ? 1 : wcwidth(wide);
        columns = columns > 0 ? columns : 0;
        if (used + columns > width - 1)
            break;
        if (odd)
            state = (mbstate_t){0};
        buf_add(out, text, odd ? 1 : len);
        text += odd ? 1 : len;
        used += columns;
    }
    buf_add_string(out, mark);
    return used + 1;
}

static void add_spaces(struct buf *out, int count)
{
    for (; count > 0; count--)
        buf_add_string(out, " ");
}

static void add_row(const struct table *table, const int *widths, char *const *cells, bool utf8,
                    struct buf *out)
{
    size_t start = out->len;
    for (size_t i = 0; i < table->count; i++) {
        const char *text = cells ? cells[i] : table->columns[i].title;
        add_spaces(out, GAP);
        if (table->columns[i].right)
            add_spaces(out, widths[i] - terminal_width(text));
        int used = add_cut(out, text, widths[i], utf8);
        if (!table->columns[i].right)
            add_spaces(out, widths[i] - used);
    }
    while (out->len > start && out->data[out->len - 1] == ' ')
        out->len--;
}

void table_render(const struct table *table, int width, bool colour, bool utf8, struct buf *out)
{
    int *widths = mem_array(table->count, sizeof *widths);
    for (size_t i = 0; i < table->count; i++)
        widths[i] = widest(table, i);
    shrink(table, widths, width);
    if (colour)
        buf_add_string(out, "\033[1m");
    add_row(table, widths, NULL, utf8, out);
    buf_add_string(out, colour ? "\033[0m\n" : "\n");
    for (size_t at = 0; at + table->count <= table->cell_count; at += table->count) {
        add_row(table, widths, table->cells + at, utf8, out);
        buf_add_string(out, "\n");
    }
    free(widths);
}
