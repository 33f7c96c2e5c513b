/* The lists of `raydbg memory --top`: nodes, groups and references. */
#include "cli/top/top_draw_parts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/call_site.h"
#include "cli/top/top_process.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- nodes --- */

static void draw_bar(struct top_page *page, int64_t used, int64_t capacity, int width,
                     const char *text)
{
    struct buf bar = {0};
    int room = width - (int)strlen(text);
    double part = capacity > 0 ? (double)used / (double)capacity : 0;
    int full = (int)((part < 1 ? part : 1) * width + 0.5);
    for (int i = 0; i < room; i++)
        buf_add_string(&bar, i < full ? "|" : " ");
    buf_add_string(&bar, text);
    top_page_add(page, TOP_PLAIN, "[");
    top_page_add(page, part >= 0.9 ? TOP_WARNING : TOP_BAR, "%.*s", full, bar.data);
    top_page_add(page, TOP_PLAIN, "%s]", full < (int)bar.len ? bar.data + full : "");
    buf_free(&bar);
}

/* Adds the counter only if it fits as a whole. */
static void draw_counter(struct top_page *page, const char *what, const char *size, const char *per)
{
    char text[64];
    snprintf(text, sizeof text, "  %s %8s%s", what, size, per);
    if ((int)strlen(text) <= top_page_room(page))
        top_page_add(page, TOP_PLAIN, "%s", text);
}

static void draw_speed(struct top_page *page, enum byte_units units, const char *what, double speed)
{
    char size[MEMORY_SIZE_TEXT];
    draw_counter(page, what, speed < 0 ? "?" : byte_units_size((int64_t)speed, units, size), "/s");
}

static void draw_node(const struct top_model *model, struct top_page *page,
                      const struct object_node *node)
{
    enum { NAME = 14, COUNTERS = 61, LEAST = 20, MOST = 60 };
    char used[MEMORY_SIZE_TEXT], capacity[MEMORY_SIZE_TEXT], text[2 * MEMORY_SIZE_TEXT + 2];
    const struct ray_store_stats *store = &node->store;
    const struct top_rate *rate = top_model_rate(model, node->node_id);
    int width = page->columns - NAME - COUNTERS;
    top_page_cell(page, TOP_PLAIN, NAME - 1, false, node->name);
    top_page_add(page, TOP_PLAIN, " ");
    if (!node->asked) {
        top_page_add(page, TOP_WARNING, "%s",
                     text_empty(node->problem) ? "did not answer" : node->problem);
        return;
    }
    width = width < LEAST ? LEAST : width > MOST ? MOST : width;
    snprintf(text, sizeof text, "%s/%s", byte_units_size(store->used, model->units, used),
             byte_units_size(store->available, model->units, capacity));
    draw_bar(page, store->used, store->available, width, text);
    draw_counter(page, "spilled", byte_units_size(store->spilled_bytes, model->units, used), "");
    draw_speed(page, model->units, "created", rate ? rate->created : -1);
    draw_speed(page, model->units, "spills", rate ? rate->spilled : -1);
}

void top_draw_nodes(const struct top_model *model, struct top_page *page, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        draw_node(model, page, &model->sweep->nodes[i]);
        top_page_end_line(page);
    }
}

/* --- columns --- */

struct line {
    const struct top_model *model;
    const struct object_group *group; /* NULL: `row` is set */
    const struct object_row *row;
};

/* Each appends its cell's text to `out` and returns its attribute. */
typedef enum top_attr (*cell_fn)(const struct line *line, struct buf *out);

struct column {
    const char *title; /* NULL: what the list is grouped by */
    int width;         /* without the gap; minimum for the last one */
    int drop;          /* 0: never; else the highest are dropped first if there is no room */
    bool right;
    cell_fn cell;
};

static const struct object_process *holder(const struct line *line)
{
    return &line->model->view->scope.processes[line->row->process];
}

static enum top_attr cell_size(const struct line *line, struct buf *out)
{
    char size[MEMORY_SIZE_TEXT];
    int64_t bytes = line->group ? line->group->bytes : line->row->ref->size;
    buf_add_string(out, byte_units_size(bytes, line->model->units, size));
    return TOP_PLAIN;
}

static enum top_attr cell_growth(const struct line *line, struct buf *out)
{
    char size[MEMORY_SIZE_TEXT];
    const struct object_group *before;
    if (!line->model->first)
        return TOP_PLAIN;
    before = top_view_group(line->model->first, line->group->key);
    int64_t grown = line->group->bytes - (before ? before->bytes : 0);
    if (grown)
        buf_add_string(out, byte_units_growth(grown, line->model->units, size));
    return grown > 0 ? TOP_GROWN : TOP_SHRUNK;
}

static enum top_attr cell_new(const struct line *line, struct buf *out)
{
    size_t count = 1;
    if (line->model->origin)
        object_sweep_rows_of(line->model->origin, &line->row->ref->id, &count);
    buf_add_string(out, count ? "" : "new");
    return TOP_GROWN;
}

static enum top_attr cell_refs(const struct line *line, struct buf *out)
{
    buf_printf(out, "%zu", line->group->row_count);
    return TOP_PLAIN;
}

static enum top_attr cell_objects(const struct line *line, struct buf *out)
{
    buf_printf(out, "%zu", line->group->objects);
    return TOP_PLAIN;
}

static enum top_attr add_kind(const struct line *line, enum object_reference kind, struct buf *out)
{
    size_t count = line->group->by_reference[kind];
    buf_printf(out, "%zu", count);
    return count ? TOP_PLAIN : TOP_DIM;
}

static enum top_attr cell_local(const struct line *line, struct buf *out)
{
    return add_kind(line, OBJECT_LOCAL_REFERENCE, out);
}

static enum top_attr cell_pinned(const struct line *line, struct buf *out)
{
    return add_kind(line, OBJECT_PINNED_IN_MEMORY, out);
}

static enum top_attr cell_pending(const struct line *line, struct buf *out)
{
    return add_kind(line, OBJECT_USED_BY_PENDING, out);
}

static enum top_attr cell_captured(const struct line *line, struct buf *out)
{
    return add_kind(line, OBJECT_CAPTURED_IN_OBJECT, out);
}

static enum top_attr cell_actors(const struct line *line, struct buf *out)
{
    return add_kind(line, OBJECT_ACTOR_HANDLE, out);
}

static enum top_attr cell_key(const struct line *line, struct buf *out)
{
    if (top_model_list(line->model)->by == OBJECT_BY_CALL_SITE)
        call_site_text(line->group->key, out);
    else
        buf_add_string(out, text_empty(line->group->key) ? "(none)" : line->group->key);
    return TOP_PLAIN;
}

static enum top_attr cell_pid(const struct line *line, struct buf *out)
{
    buf_printf(out, "%lld", (long long)holder(line)->worker->pid);
    return TOP_PLAIN;
}

static enum top_attr cell_type(const struct line *line, struct buf *out)
{
    buf_add_string(out, top_process_type(holder(line)));
    return TOP_PLAIN;
}

static enum top_attr cell_node(const struct line *line, struct buf *out)
{
    buf_add_string(out, line->model->view->scope.nodes[holder(line)->node].name);
    return TOP_PLAIN;
}

static enum top_attr cell_reference(const struct line *line, struct buf *out)
{
    buf_add_string(out, object_reference_name(line->row->reference));
    return TOP_PLAIN;
}

static enum top_attr cell_status(const struct line *line, struct buf *out)
{
    int status = (unsigned char)line->row->ref->status; /* never negative */
    buf_add_string(out, status == RAY_TASK_NIL ? "" : ray_task_status_name(status));
    return status == RAY_TASK_FAILED ? TOP_WARNING : TOP_DIM;
}

static enum top_attr cell_object(const struct line *line, struct buf *out)
{
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    object_id_hex(&line->row->ref->id, hex);
    buf_add_string(out, hex);
    return TOP_PLAIN;
}

static enum top_attr cell_site(const struct line *line, struct buf *out)
{
    call_site_text(line->row->ref->call_site, out);
    return TOP_PLAIN;
}

static const struct column group_columns[] = {
    {"SIZE", 10, 0, true, cell_size},      {"GROWTH", 11, 1, true, cell_growth},
    {"REFS", 7, 0, true, cell_refs},       {"OBJECTS", 7, 2, true, cell_objects},
    {"LOCAL", 6, 3, true, cell_local},     {"PINNED", 6, 4, true, cell_pinned},
    {"PENDING", 7, 5, true, cell_pending}, {"CAPTURED", 8, 6, true, cell_captured},
    {"ACTORS", 6, 7, true, cell_actors},   {NULL, 24, 0, false, cell_key},
};
static const struct column row_columns[] = {
    {"SIZE", 10, 0, true, cell_size},       {"", 3, 3, false, cell_new},
    {"PID", 8, 0, true, cell_pid},          {"TYPE", 6, 2, false, cell_type},
    {"NODE", 14, 1, false, cell_node},      {"REFERENCE", 22, 0, false, cell_reference},
    {"STATUS", 20, 4, false, cell_status},  {"OBJECT", 56, 5, false, cell_object},
    {"CALL SITE", 20, 0, false, cell_site},
};
/* For the references of one call site. */
static const struct column site_columns[] = {
    {"SIZE", 10, 0, true, cell_size},      {"", 3, 3, false, cell_new},
    {"PID", 8, 0, true, cell_pid},         {"TYPE", 6, 2, false, cell_type},
    {"NODE", 14, 1, false, cell_node},     {"REFERENCE", 22, 0, false, cell_reference},
    {"STATUS", 20, 4, false, cell_status}, {"OBJECT", 20, 0, false, cell_object},
};

enum { GAP = 1 };

struct columns {
    const struct column *items;
    size_t count;
    int least_dropped; /* columns with this `drop` or a higher one do not show */
};

static bool shows(const struct columns *columns, size_t index)
{
    return columns->items[index].drop < columns->least_dropped;
}

static void fit(struct columns *columns, int width)
{
    int total;
    columns->least_dropped = 100;
    do {
        int highest = 0;
        total = 0;
        for (size_t i = 0; i < columns->count; i++) {
            if (!shows(columns, i))
                continue;
            total += columns->items[i].width + GAP;
            highest = columns->items[i].drop > highest ? columns->items[i].drop : highest;
        }
        if (highest == 0)
            return;
        if (total > width)
            columns->least_dropped = highest;
    } while (total > width);
}

static struct columns columns_of(const struct top_model *model, int width)
{
#define COLUMNS(table)                                                                             \
    (struct columns)                                                                               \
    {                                                                                              \
        (table), sizeof(table) / sizeof *(table), 0                                                \
    }
    const struct top_frame *list = top_model_list(model);
    struct columns columns = COLUMNS(row_columns);
    if (list->by != OBJECT_BY_NOTHING)
        columns = COLUMNS(group_columns);
    for (const struct top_frame *frame = model->frames; frame != list; frame++)
        if (frame->by == OBJECT_BY_CALL_SITE && list->by == OBJECT_BY_NOTHING)
            columns = COLUMNS(site_columns);
#undef COLUMNS
    fit(&columns, width);
    return columns;
}

static void put_cell(struct top_page *page, const struct columns *columns, size_t index,
                     enum top_attr attr, const char *text)
{
    const struct column *column = &columns->items[index];
    bool last = index + 1 == columns->count;
    top_page_add(page, TOP_PLAIN, "%*s", GAP, "");
    top_page_cell(page, attr, last ? page->columns : column->width, column->right, text);
}

static void draw_title(const struct top_model *model, struct top_page *page,
                       const struct columns *columns)
{
    char by[32];
    text_copy(by, sizeof by, top_model_by_name(top_model_list(model)->by));
    for (char *c = by; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    for (size_t i = 0; i < columns->count; i++)
        if (shows(columns, i))
            put_cell(page, columns, i, TOP_TITLE,
                     columns->items[i].title ? columns->items[i].title : by);
    top_page_fill(page, TOP_TITLE, true);
    top_page_end_line(page);
}

static void draw_line(const struct line *line, struct top_page *page, const struct columns *columns,
                      bool chosen)
{
    for (size_t i = 0; i < columns->count; i++) {
        struct buf text = {0};
        if (!shows(columns, i))
            continue;
        buf_add_string(&text, "");
        enum top_attr attr = columns->items[i].cell(line, &text);
        put_cell(page, columns, i, attr, text.data);
        buf_free(&text);
    }
    if (chosen)
        top_page_fill(page, TOP_SELECTED, true);
    top_page_end_line(page);
}

void top_draw_list(const struct top_model *model, struct top_page *page, int lines)
{
    const struct top_frame *frame = top_model_list(model);
    struct columns columns = columns_of(model, page->columns);
    size_t count = model->stale ? 0 : top_view_count(model->view, frame->by);
    draw_title(model, page, &columns);
    for (size_t i = frame->scroll; i < count && i < frame->scroll + (size_t)lines; i++) {
        struct line line = {.model = model};
        if (frame->by == OBJECT_BY_NOTHING)
            line.row = top_view_row(model->view, i);
        else
            line.group = &model->view->report->groups[i];
        draw_line(&line, page, &columns, i == frame->cursor);
    }
    if (count == 0 && model->sweep)
        top_page_add(page, TOP_DIM, "%s",
                     model->stale                      ? " counting"
                     : model->filter.len               ? " nothing has the filter's text"
                     : frame != model->frames          ? " this is no more"
                     : model->task || model->worker_id ? " there is none"
                                                       : " no process refers to an object");
}
