/* The tables of memory_output.h. */
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/table.h"
#include "cli/memory/memory_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *s(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Puts a dash into an empty cell. Frees the text. */
static void put_cell(struct table *table, struct buf *text)
{
    table_cell(table, text->len ? text->data : "-");
    buf_free(text);
}

static void put_count(struct table *table, size_t count)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", count);
    table_cell(table, text);
}

static void put_size(struct table *table, int64_t bytes, enum byte_units units)
{
    char text[MEMORY_SIZE_TEXT];
    table_cell(table, byte_units_size(bytes, units, text));
}

static void put_process(struct table *table, const struct object_sweep *sweep, int32_t process)
{
    struct buf name = {0};
    memory_process_name(sweep, process, &name);
    put_cell(table, &name);
}

/* --- lines --- */

static const char *const holding[] = {
    [OBJECT_LOCAL_REFERENCE] = "variable",      [OBJECT_PINNED_IN_MEMORY] = "pinned",
    [OBJECT_USED_BY_PENDING] = "task argument", [OBJECT_CAPTURED_IN_OBJECT] = "in an object",
    [OBJECT_ACTOR_HANDLE] = "actor handle",     [OBJECT_REFERENCE_UNKNOWN] = "unknown",
};

/* "300 × pinned, 12 × task argument by pid 77" */
static void add_held_by(const struct memory_line *line, const struct object_sweep *sweep,
                        const struct memory_style *style, struct buf *out)
{
    enum { SHOWN = 3 };
    for (size_t i = 0; i < line->holder_count && i < SHOWN; i++) {
        const struct memory_holder *holder = &line->holders[i];
        buf_printf(out, "%s%zu %s %s", i ? ", " : "", holder->refs, style->utf8 ? "\u00d7" : "x",
                   holding[holder->reference]);
        if ((int64_t)holder->process != line->owner) {
            buf_add_string(out, " by ");
            memory_process_name(sweep, (int32_t)holder->process, out);
        }
    }
    if (line->holder_count > SHOWN)
        buf_printf(out, ", %zu more", line->holder_count - SHOWN);
}

/* "1 of 3 only in objects": objects that no variable holds. */
static void add_marks(const struct memory_line *line, struct buf *out)
{
    for (size_t i = 0; i < MEMORY_HOLDS; i++) {
        const char *mark = memory_hold_mark((enum memory_hold)i);
        if (!line->holds[i] || !*mark)
            continue;
        buf_add_string(out, out->len ? ", " : "");
        if (line->holds[i] < line->objects)
            buf_printf(out, "%zu of %zu ", line->holds[i], line->objects);
        buf_add_string(out, mark);
    }
}

static void add_line(struct table *table, const struct memory_line *line,
                     const struct object_sweep *sweep, const struct memory_style *style)
{
    struct buf site = {0}, held = {0}, marks = {0};
    memory_site_name(line->call_site, &site);
    if (!site.len && *line->task_name)
        buf_printf(&site, "made by %s", line->task_name);
    add_held_by(line, sweep, style, &held);
    add_marks(line, &marks);
    put_size(table, line->unknown == line->objects ? -1 : line->bytes, style->units);
    put_count(table, line->objects);
    put_count(table, line->refs);
    if (line->holds[MEMORY_BY_HANDLE] == line->objects)
        table_cell(table, "-"); /* an actor's handle has no owner */
    else
        put_process(table, sweep, line->owner);
    put_cell(table, &site);
    put_cell(table, &marks);
    put_cell(table, &held);
}

void memory_print_lines(const struct memory_sites *lines, const struct object_sweep *sweep,
                        const struct memory_style *style, size_t limit, struct buf *out)
{
    static const struct table_column columns[] = {
        {"SIZE", true, false},    {"OBJECTS", true, false},   {"REFS", true, false},
        {"OWNER", false, true},   {"CALL SITE", false, true}, {"NO VARIABLE", false, true},
        {"HELD BY", false, true},
    };
    struct table *table = table_create(columns, sizeof columns / sizeof *columns);
    int64_t bytes = 0;
    size_t objects = 0;
    for (size_t i = 0; i < lines->count; i++) {
        if (i < limit) {
            add_line(table, &lines->lines[i], sweep, style);
            continue;
        }
        bytes += lines->lines[i].bytes;
        objects += lines->lines[i].objects;
    }
    table_render(table, style->width, style->colour, style->utf8, out);
    table_free(&table);
    if (lines->count > limit) {
        char size[MEMORY_SIZE_TEXT];
        buf_printf(out, "  %zu more line%s with %s in %zu object%s: --num-entries %zu shows all\n",
                   lines->count - limit, s(lines->count - limit),
                   byte_units_size(bytes, style->units, size), objects, s(objects), lines->count);
    }
}

/* --- groups --- */

/* The input of a cell, and its text. */
struct cell {
    const struct object_row *row;
    const struct object_sweep *sweep;
    const struct memory_style *style;
    struct buf *out;
};

static void cell_size(const struct cell *cell)
{
    char text[MEMORY_SIZE_TEXT];
    buf_add_string(cell->out, byte_units_size(cell->row->size, cell->style->units, text));
}

static void cell_reference(const struct cell *cell)
{
    buf_add_string(cell->out, object_reference_name(cell->row->reference));
}

static void cell_holding(const struct cell *cell)
{
    buf_add_string(cell->out, holding[cell->row->reference]);
}

static void cell_holder(const struct cell *cell)
{
    memory_process_name(cell->sweep, (int32_t)cell->row->process, cell->out);
}

static void cell_node(const struct cell *cell)
{
    const struct object_process *process = &cell->sweep->processes[cell->row->process];
    buf_add_string(cell->out, process->worker->ip ? process->worker->ip : "");
}

static void cell_pid(const struct cell *cell)
{
    buf_printf(cell->out, "%" PRId64, cell->sweep->processes[cell->row->process].worker->pid);
}

static void cell_type(const struct cell *cell)
{
    buf_add_string(cell->out, memory_type_name(cell->sweep, cell->row));
}

static void cell_status(const struct cell *cell)
{
    if (cell->row->ref->status != RAY_TASK_NIL)
        buf_add_string(cell->out, ray_task_status_name(cell->row->ref->status));
}

static void cell_attempt(const struct cell *cell)
{
    buf_printf(cell->out, "%" PRId32, cell->row->ref->attempt + 1);
}

static void cell_owner(const struct cell *cell)
{
    if (cell->row->reference == OBJECT_ACTOR_HANDLE)
        return;
    if (cell->row->owner == (int64_t)cell->row->process)
        buf_add_string(cell->out, "itself");
    else
        memory_process_name(cell->sweep, cell->row->owner, cell->out);
}

static void cell_maker(const struct cell *cell)
{
    const struct ray_task *task = object_sweep_task(cell->sweep, &cell->row->ref->id);
    if (task && task->name)
        buf_add_string(cell->out, task->name);
}

static void cell_copies(const struct cell *cell)
{
    const struct ray_object_location *at = object_sweep_location(cell->sweep, &cell->row->ref->id);
    if (at && at->known)
        buf_printf(cell->out, "%zu", at->node_count);
}

static void cell_where(const struct cell *cell)
{
    memory_where(cell->sweep, cell->row, cell->out);
}

static void cell_site(const struct cell *cell)
{
    memory_site_name(cell->row->ref->call_site, cell->out);
}

static void cell_object(const struct cell *cell)
{
    memory_object_name(&cell->row->ref->id, cell->style, cell->out);
}

/* When a column is shown. On a narrow terminal process names replace three columns of a wide one; a
 * column without any known value is left out. */
enum { ALWAYS, WIDE, NARROW, LOCATED, NAMED, SITED };

static const struct {
    struct table_column column;
    int when;
    void (*cell)(const struct cell *cell);
} row_columns[] = {
    {{"SIZE", true, false}, ALWAYS, cell_size},
    {{"REFERENCE", false, false}, WIDE, cell_reference},
    {{"HELD AS", false, false}, NARROW, cell_holding},
    {{"HELD BY", false, true}, NARROW, cell_holder},
    {{"NODE", false, false}, WIDE, cell_node},
    {{"PID", true, false}, WIDE, cell_pid},
    {{"TYPE", false, false}, WIDE, cell_type},
    {{"STATUS", false, true}, ALWAYS, cell_status},
    {{"ATTEMPT", true, false}, WIDE, cell_attempt},
    {{"OWNER", false, true}, ALWAYS, cell_owner},
    {{"MADE BY", false, true}, NAMED, cell_maker},
    {{"COPIES", true, false}, LOCATED, cell_copies},
    {{"WHERE", false, true}, LOCATED, cell_where},
    {{"CALL SITE", false, true}, SITED, cell_site},
    {{"OBJECT", false, false}, ALWAYS, cell_object},
};
enum { ROW_COLUMNS = sizeof row_columns / sizeof *row_columns, WIDE_FROM = 150 };

struct choice {
    struct table_column columns[ROW_COLUMNS];
    size_t index[ROW_COLUMNS]; /* into row_columns */
    size_t count;
    enum object_group_by by;
};

static void choose_columns(struct choice *out, const struct object_sweep *sweep,
                           const struct memory_style *style, bool locations)
{
    const bool shown[] = {
        [ALWAYS] = true,
        [WIDE] = style->width >= WIDE_FROM,
        [NARROW] = style->width<WIDE_FROM, [LOCATED] = locations, [NAMED] = sweep->task_count> 0,
        [SITED] = memory_has_call_sites(sweep)};
    out->count = 0;
    for (size_t i = 0; i < ROW_COLUMNS; i++) {
        if (!shown[row_columns[i].when])
            continue;
        out->columns[out->count] = row_columns[i].column;
        out->index[out->count++] = i;
    }
}

static void add_kinds(const struct object_group *group, const struct memory_style *style,
                      struct buf *out)
{
    const char *between = ": ";
    for (size_t i = 0; i <= OBJECT_REFERENCE_UNKNOWN; i++) {
        char size[MEMORY_SIZE_TEXT];
        if (!group->by_reference[i])
            continue;
        buf_printf(out, "%s%zu %s", between, group->by_reference[i],
                   object_reference_name((enum object_reference)i));
        if (group->bytes_by_reference[i] > 0)
            buf_printf(out, " (%s)",
                       byte_units_size(group->bytes_by_reference[i], style->units, size));
        between = ", ";
    }
}

/* Printable; the caller frees. */
static char *group_title(const struct object_group *group, enum object_group_by by)
{
    struct buf site = {0};
    if (by == OBJECT_BY_CALL_SITE)
        memory_site_name(group->key, &site);
    char *title = site.len ? text_printable(site.data, site.len, "")
                           : text_printable(group->key, strlen(group->key), "");
    buf_free(&site);
    return title;
}

static void add_group_line(const struct object_group *group, enum object_group_by by,
                           const struct memory_style *style, struct buf *out)
{
    char size[MEMORY_SIZE_TEXT];
    char *key = group_title(group, by);
    buf_printf(out, "%s%s%s  %s in %zu object%s, %zu reference%s", style->colour ? "\033[1m" : "",
               *key ? key : "unknown", style->colour ? "\033[0m" : "",
               byte_units_size(group->bytes, style->units, size), group->objects, s(group->objects),
               group->row_count, s(group->row_count));
    add_kinds(group, style, out);
    buf_add_string(out, "\n");
    free(key);
}

static void add_group(const struct object_group *group, const struct object_sweep *sweep,
                      const struct memory_style *style, const struct choice *choice, size_t limit,
                      struct buf *out)
{
    size_t shown = group->row_count < limit ? group->row_count : limit;
    add_group_line(group, choice->by, style, out);
    if (!shown)
        return;
    struct table *table = table_create(choice->columns, choice->count);
    for (size_t i = 0; i < shown; i++) {
        for (size_t k = 0; k < choice->count; k++) {
            struct buf text = {0};
            const struct cell cell = {group->rows[i], sweep, style, &text};
            row_columns[choice->index[k]].cell(&cell);
            put_cell(table, &text);
        }
    }
    table_render(table, style->width, style->colour, style->utf8, out);
    table_free(&table);
    if (shown < group->row_count)
        buf_printf(out, "  %zu more reference%s\n", group->row_count - shown,
                   s(group->row_count - shown));
}

void memory_print_groups(const struct object_report *report, const struct object_sweep *sweep,
                         const struct memory_style *style, enum object_group_by by, size_t groups,
                         size_t rows, bool locations, struct buf *out)
{
    struct choice choice;
    size_t shown = report->group_count < groups ? report->group_count : groups, most = 0;
    choose_columns(&choice, sweep, style, locations);
    choice.by = by;
    for (size_t i = 0; i < report->group_count; i++) {
        if (i < shown)
            add_group(&report->groups[i], sweep, style, &choice, rows, out);
        most = report->groups[i].row_count > most ? report->groups[i].row_count : most;
    }
    if (shown < report->group_count)
        buf_printf(out, "%zu more group%s\n", report->group_count - shown,
                   s(report->group_count - shown));
    if (shown < report->group_count || most > rows)
        buf_printf(out, "--num-entries %zu shows all\n",
                   most > report->group_count ? most : report->group_count);
}
