#include "cli/why/why_output.h"

#include "base/text.h"
#include "cli/common/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 6 };

/* Adds text of Ray's or the program's; a line break becomes a space. */
static void add_text(struct buf *out, const char *text, const struct why_style *style)
{
    char *printable = text_printable(text, strlen(text), "\n");
    for (char *at = printable; *at; at++) {
        bool dot = (unsigned char)at[0] == 0xC2 && (unsigned char)at[1] == 0xB7; /* · */
        if (dot && !style->utf8) {
            buf_add_string(out, "-");
            at++;
        } else {
            buf_add(out, *at == '\n' ? " " : at, 1);
        }
    }
    free(printable);
}

static void add_line(struct buf *out, const char *before, const char *text,
                     const struct why_style *style)
{
    buf_add_string(out, before);
    add_text(out, text, style);
    buf_add_string(out, "\n");
}

static const char *bold(const struct why_style *style)
{
    return style->colour ? "\033[1m" : "";
}

static const char *red(const struct why_style *style)
{
    return style->colour ? "\033[31m" : "";
}

static const char *dim(const struct why_style *style)
{
    return style->colour ? "\033[2m" : "";
}

static const char *plain(const struct why_style *style)
{
    return style->colour ? "\033[0m" : "";
}

/* --- a report --- */

static void add_heading(const struct why_report *report, const struct why_style *style,
                        struct buf *out)
{
    enum { SHOWN = 8, OWN = 16 };
    bool is_creation = strncmp(report->id, "ffffffffffffffff", OWN) == 0;
    buf_add_string(out, bold(style));
    if (!text_empty(report->name)) {
        add_text(out, report->name, style);
        buf_add_string(out, style->utf8 ? " · " : " - ");
    }
    buf_printf(out, "%.*s%s%s", SHOWN, is_creation ? report->id + OWN : report->id, plain(style),
               style->utf8 ? " · " : " - ");
    add_line(out, "", report->summary, style);
}

/* The directory and the name of a file. */
static const char *short_path(const char *path)
{
    const char *last = strrchr(path, '/'), *at = path;
    for (const char *slash = strchr(path, '/'); slash && slash != last;
         slash = strchr(slash + 1, '/'))
        at = slash + 1;
    return last ? at : path;
}

static size_t users_last_frame(const struct why_report *report)
{
    size_t found = report->frame_count;
    for (size_t i = 0; i < report->frame_count; i++)
        if (report->frames[i].is_users)
            found = i;
    return found;
}

static void add_frames(const struct why_report *report, const struct why_style *style,
                       struct buf *out)
{
    size_t marked = users_last_frame(report), first = 0;
    const char *arrow = style->utf8 ? "→" : "->";
    if (report->frame_count > FRAMES)
        first = report->frame_count - FRAMES;
    if (marked < first)
        first = marked;
    for (size_t i = first; i < report->frame_count; i++) {
        const struct why_frame *frame = &report->frames[i];
        if (i != marked && i + FRAMES < report->frame_count)
            continue;
        buf_printf(out, "  %s ", i == marked ? arrow : style->utf8 ? " " : "  ");
        add_text(out, short_path(frame->file), style);
        buf_printf(out, ":%lld in ", (long long)frame->line);
        add_line(out, "", frame->function, style);
    }
}

static void add_list(const char *before, const struct why_list *list, const struct why_style *style,
                     struct buf *out)
{
    for (size_t i = 0; i < list->count; i++)
        add_line(out, before, list->items[i], style);
}

static void add_chain(const struct why_report *report, const struct why_style *style,
                      struct buf *out)
{
    if (report->chain_count < 2)
        return;
    buf_printf(out, "  %s", dim(style));
    for (size_t i = 0; i < report->chain_count; i++) {
        if (i)
            buf_add_string(out, style->utf8 ? " → " : " -> ");
        add_text(out, report->chain[i].text, style);
    }
    buf_printf(out, "%s\n", plain(style));
}

void why_output_report(const struct why_report *report, const struct why_style *style,
                       struct buf *out)
{
    bool good = text_equal(report->code, "finished") || text_equal(report->code, "alive") ||
                text_equal(report->code, "running") || text_equal(report->code, "idle");
    add_heading(report, style, out);
    buf_printf(out, "  %s", good ? "" : red(style));
    add_text(out, report->cause, style);
    buf_printf(out, "%s\n", good ? "" : plain(style));
    add_frames(report, style, out);
    add_list("  ", &report->details, style, out);
    add_list("  ", &report->ray, style, out);
    add_list("  not known: ", &report->unknown, style, out);
    add_chain(report, style, out);
    for (size_t i = 0; i < report->next.count; i++)
        add_line(out, i ? "      " : "next: ", report->next.items[i], style);
}

/* --- the overview --- */

static void add_rows(const struct why_records *records, const struct why_overview *overview,
                     const struct why_style *style, struct buf *out)
{
    static const struct table_column columns[] = {
        {.title = "ID"},    {.title = "NAME", .shrinks = true}, {.title = "COUNT", .right = true},
        {.title = "STATE"}, {.title = "SINCE", .right = true},  {.title = "CAUSE", .shrinks = true},
    };
    struct table *table = table_create(columns, sizeof columns / sizeof *columns);
    char cell[64], span[WHY_SPAN_TEXT];
    for (size_t i = 0; i < overview->count; i++) {
        const struct why_row *row = &overview->rows[i];
        snprintf(cell, sizeof cell, "%.8s", row->id);
        table_cell(table, cell);
        table_cell(table, row->name);
        snprintf(cell, sizeof cell, "%zu", row->count);
        table_cell(table, cell);
        table_cell(table, row->state);
        table_cell(table, row->at_ms ? why_span(records->now_ms - row->at_ms, span) : "-");
        table_cell(table, row->cause);
    }
    table_render(table, style->width, style->colour, style->utf8, out);
    table_free(&table);
}

void why_output_gaps(const struct why_records *records, const struct why_style *style,
                     struct buf *out)
{
    if (records->dropped)
        buf_printf(out, "Ray has forgotten %lld changes of tasks\n", (long long)records->dropped);
    for (int part = 0; part < WHY_PARTS; part++)
        if (records->problems[part].code) {
            buf_printf(out, "not known: %s: ", why_records_part_name((enum why_part)part));
            add_line(out, "", records->problems[part].what, style);
        }
}

void why_output_overview(const struct why_records *records, const struct why_overview *overview,
                         const char *cluster, const struct why_style *style, struct buf *out)
{
    char span[WHY_SPAN_TEXT];
    why_span(records->now_ms - records->since_ms, span);
    if (overview->count)
        add_rows(records, overview, style, out);
    else if (!why_records_has_gaps(records))
        buf_printf(out, "Nothing waits, and nothing failed in the last %s.\n", span);
    if (!records->problems[WHY_ATTEMPTS].code)
        buf_printf(out, "tasks of %s: %zu running, %zu waiting, %zu failed, %zu finished\n",
                   cluster, overview->tasks_running, overview->tasks_waiting,
                   overview->tasks_failed, overview->tasks_finished);
    why_output_gaps(records, style, out);
    if (overview->count)
        buf_printf(out, "next: raydbg why %.8s\n", overview->rows[0].id);
}
