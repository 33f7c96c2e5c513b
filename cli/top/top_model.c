#include "cli/top/top_model.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

static const int64_t intervals_ms[] = {250, 500, 1000, 2000, 5000, 10000, 30000, 60000};
enum { INTERVAL_USUAL = 3 };
_Static_assert(sizeof intervals_ms / sizeof *intervals_ms == TOP_INTERVALS, "all have a time");

void top_model_init(struct top_model *model, const struct sweep_query *first)
{
    *model = (struct top_model){
        .sort_by = first->sort_by,
        .task = mem_string(first->task),
        .worker_id = mem_string(first->worker_id),
        .interval = INTERVAL_USUAL,
        .columns = 80,
        .height = 24,
        .stale = true,
        .source = "",
    };
    model->frames[0].by = first->group_by;
    buf_add_string(&model->filter, first->filter ? first->filter : "");
}

void top_model_clear(struct top_model *model)
{
    for (size_t i = 0; i < TOP_FRAMES; i++)
        free(model->frames[i].key);
    free(model->task);
    free(model->worker_id);
    free(model->rates);
    buf_free(&model->filter);
    *model = (struct top_model){0};
}

const struct top_frame *top_model_frame(const struct top_model *model)
{
    return &model->frames[model->depth];
}

static size_t list_depth(const struct top_model *model)
{
    size_t depth = model->depth;
    while (model->frames[depth].kind != TOP_LIST)
        depth--;
    return depth;
}

const struct top_frame *top_model_list(const struct top_model *model)
{
    return &model->frames[list_depth(model)];
}

const char *top_model_by_name(enum object_group_by by)
{
    return by == OBJECT_BY_NOTHING     ? "reference"
           : by == OBJECT_BY_CALL_SITE ? "call site"
                                       : object_group_name(by);
}

int64_t top_model_interval_ms(const struct top_model *model)
{
    return intervals_ms[model->interval];
}

bool top_model_names_wanted(const struct top_model *model)
{
    bool wanted = model->sort_by == OBJECT_SORT_AGE || model->task;
    for (size_t i = 0; i <= list_depth(model); i++)
        wanted = wanted || model->frames[i].by == OBJECT_BY_TASK;
    return wanted;
}

void top_model_wanted(const struct top_model *model, struct top_wanted *out)
{
    size_t depth = list_depth(model);
    *out = (struct top_wanted){
        .depth = depth,
        .by = model->frames[depth].by,
        .sort_by = model->sort_by,
        .filter = model->filter.len ? mem_string(model->filter.data) : NULL,
        .task = mem_string(model->task),
        .worker_id = mem_string(model->worker_id),
    };
    for (size_t i = 0; i < depth; i++)
        out->path[i] = (struct top_step){model->frames[i].by, mem_string(model->frames[i].key)};
}

/* --- the choice --- */

static bool is_chosen(const struct top_model *model, const struct top_frame *frame, size_t index)
{
    if (frame->by != OBJECT_BY_NOTHING)
        return text_equal(model->view->report->groups[index].key, frame->key);
    const struct object_row *row = top_view_row(model->view, index);
    const struct object_process *process = &model->view->scope.processes[row->process];
    return object_id_equal(&row->ref->id, &frame->object) &&
           text_equal(process->worker->worker_id, frame->worker_id);
}

void top_model_choose(struct top_model *model, struct top_frame *frame)
{
    size_t count = top_view_count(model->view, frame->by);
    if (model->stale || count == 0)
        return;
    if (frame->cursor >= count)
        frame->cursor = count - 1;
    frame->chosen = true;
    if (frame->by != OBJECT_BY_NOTHING) {
        free(frame->key);
        frame->key = mem_string(model->view->report->groups[frame->cursor].key);
        return;
    }
    const struct object_row *row = top_view_row(model->view, frame->cursor);
    const struct object_process *process = &model->view->scope.processes[row->process];
    frame->object = row->ref->id;
    text_copy(frame->worker_id, sizeof frame->worker_id, process->worker->worker_id);
}

void top_model_keep_in_sight(const struct top_model *model, struct top_frame *frame)
{
    size_t lines = (size_t)top_model_layout(model).list_lines;
    size_t count = top_view_count(model->view, frame->by);
    if (frame->scroll + lines > count)
        frame->scroll = count > lines ? count - lines : 0;
    if (frame->cursor < frame->scroll)
        frame->scroll = frame->cursor;
    if (lines && frame->cursor >= frame->scroll + lines)
        frame->scroll = frame->cursor - lines + 1;
}

void top_model_find_chosen(struct top_model *model, struct top_frame *frame)
{
    size_t count = top_view_count(model->view, frame->by);
    size_t at = 0;
    while (frame->chosen && at < count && !is_chosen(model, frame, at))
        at++;
    if (frame->chosen && at < count)
        frame->cursor = at;
    else
        top_model_choose(model, frame);
}

void top_model_set_view(struct top_model *model, const struct top_view *view,
                        const struct top_view *first)
{
    struct top_frame *frame = &model->frames[list_depth(model)];
    model->view = view;
    model->first = first;
    model->stale = false;
    /* While an object's facts show, that object stays the choice. */
    if (top_model_frame(model)->kind == TOP_LIST)
        top_model_find_chosen(model, frame);
    top_model_keep_in_sight(model, frame);
}

void top_model_resize(struct top_model *model, int columns, int height)
{
    model->columns = columns > 0 ? columns : 1;
    model->height = height > 0 ? height : 1;
    top_model_keep_in_sight(model, &model->frames[list_depth(model)]);
}

/* --- rates --- */

const struct top_rate *top_model_rate(const struct top_model *model, const char *node_id)
{
    for (size_t i = 0; i < model->rate_count; i++)
        if (text_equal(model->rates[i].node_id, node_id))
            return &model->rates[i];
    return NULL;
}

/* In bytes/s; -1 if unknown: a raylet that restarted has smaller counters. */
static double rate(int64_t now, int64_t before, int64_t ms)
{
    return ms > 0 && now >= before ? (double)(now - before) * 1000 / (double)ms : -1;
}

static void count_all(struct top_model *model)
{
    const struct object_sweep *sweep = model->sweep;
    model->objects = 0;
    model->bytes = 0;
    for (size_t i = 0; i < sweep->row_count;) {
        const struct object_id *id = &sweep->rows[i].ref->id;
        int64_t size = 0;
        for (; i < sweep->row_count && object_id_equal(&sweep->rows[i].ref->id, id); i++)
            if (sweep->rows[i].ref->size > size)
                size = sweep->rows[i].ref->size;
        model->objects++;
        model->bytes += size;
    }
}

void top_model_set_sweep(struct top_model *model, const struct object_sweep *sweep)
{
    struct top_rate *rates = mem_array(sweep->node_count + 1, sizeof *rates);
    size_t count = 0;
    for (size_t i = 0; i < sweep->node_count; i++) {
        const struct object_node *node = &sweep->nodes[i];
        const struct top_rate *before = top_model_rate(model, node->node_id);
        struct top_rate *now = &rates[count];
        if (!node->asked)
            continue;
        count++;
        *now = (struct top_rate){.created_bytes = node->store.created_bytes,
                                 .spilled_bytes = node->store.spilled_bytes,
                                 .taken_ms = sweep->taken_ms,
                                 .created = -1,
                                 .spilled = -1};
        text_copy(now->node_id, sizeof now->node_id, node->node_id);
        if (!before)
            continue;
        int64_t ms = sweep->taken_ms - before->taken_ms;
        now->created = rate(now->created_bytes, before->created_bytes, ms);
        now->spilled = rate(now->spilled_bytes, before->spilled_bytes, ms);
    }
    free(model->rates);
    model->rates = rates;
    model->rate_count = count;
    model->sweep = sweep;
    count_all(model);
}

/* --- layout --- */

struct top_layout top_model_layout(const struct top_model *model)
{
    enum { FIXED = 5 /* summary, path, title, status, keys */, LEAST_LIST = 5 };
    size_t nodes = model->sweep ? model->sweep->node_count : 0;
    int room = (model->height - FIXED - LEAST_LIST) / 2;
    size_t most = room > 1 ? (size_t)room : 1;
    struct top_layout layout = {.nodes = nodes, .more = nodes > most};
    if (layout.more)
        layout.nodes = most - 1;
    layout.path = 1 + (int)layout.nodes + layout.more;
    layout.title = layout.path + 1;
    layout.list = layout.title + 1;
    layout.keys = model->height - 1;
    layout.status = layout.keys - 1;
    layout.list_lines = layout.status > layout.list ? layout.status - layout.list : 0;
    return layout;
}

int32_t top_model_owner(const struct top_model *model)
{
    size_t count = 0, first;
    if (!model->sweep)
        return -1;
    first = object_sweep_rows_of(model->sweep, &top_model_frame(model)->object, &count);
    return count ? model->sweep->rows[first].owner : -1;
}
