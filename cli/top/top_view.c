#include "cli/top/top_view.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void top_wanted_clear(struct top_wanted *wanted)
{
    for (size_t i = 0; i < wanted->depth; i++)
        free(wanted->path[i].key);
    free(wanted->filter);
    free(wanted->task);
    free(wanted->worker_id);
    *wanted = (struct top_wanted){0};
}

bool top_wanted_equal(const struct top_wanted *a, const struct top_wanted *b)
{
    for (size_t i = 0; i < a->depth && i < b->depth; i++)
        if (a->path[i].by != b->path[i].by || !text_equal(a->path[i].key, b->path[i].key))
            return false;
    return a->depth == b->depth && a->by == b->by && a->sort_by == b->sort_by &&
           text_equal(a->filter, b->filter) && text_equal(a->task, b->task) &&
           text_equal(a->worker_id, b->worker_id);
}

static int by_position(const void *a, const void *b)
{
    const struct object_row *one = *(const struct object_row *const *)a;
    const struct object_row *two = *(const struct object_row *const *)b;
    return (one > two) - (one < two);
}

/* Keeps only the rows of one group, in the order of a sweep. */
static void narrow(struct top_view *view, const struct object_group *group)
{
    size_t count = group ? group->row_count : 0;
    struct object_row *rows = mem_array(count + 1, sizeof *rows);
    if (count)
        qsort(group->rows, count, sizeof(void *), by_position);
    for (size_t i = 0; i < count; i++)
        rows[i] = *group->rows[i];
    object_report_free(&view->report);
    free(view->scope.rows);
    view->scope.rows = rows;
    view->scope.row_count = count;
}

struct top_view *top_view_build(const struct top_wanted *wanted, const struct object_sweep *sweep)
{
    struct top_view *view = mem_alloc(sizeof *view);
    view->sort_by = wanted->sort_by;
    view->scope = *sweep;
    view->scope.rows = mem_array(sweep->row_count + 1, sizeof *sweep->rows);
    if (sweep->row_count)
        memcpy(view->scope.rows, sweep->rows, sweep->row_count * sizeof *sweep->rows);
    struct sweep_query query = {
        .sort_by = wanted->sort_by,
        .filter = wanted->filter,
        .task = wanted->task,
        .worker_id = wanted->worker_id,
    };
    for (size_t i = 0; i < wanted->depth; i++) {
        query.group_by = wanted->path[i].by;
        view->report = sweep_query_run(&query, &view->scope);
        narrow(view, top_view_group(view, wanted->path[i].key));
        /* The rows that are left have passed the filters. */
        query.filter = query.task = query.worker_id = NULL;
    }
    query.group_by = wanted->by;
    view->report = sweep_query_run(&query, &view->scope);
    return view;
}

void top_view_free(struct top_view **view)
{
    struct top_view *it = *view;
    if (!it)
        return;
    *view = NULL;
    object_report_free(&it->report);
    free(it->scope.rows);
    free(it);
}

const struct object_group *top_view_group(const struct top_view *view, const char *key)
{
    for (size_t i = 0; view && i < view->report->group_count; i++)
        if (text_equal(view->report->groups[i].key, key))
            return &view->report->groups[i];
    return NULL;
}

size_t top_view_count(const struct top_view *view, enum object_group_by by)
{
    const struct object_report *report = view ? view->report : NULL;
    if (!report || by != OBJECT_BY_NOTHING)
        return report ? report->group_count : 0;
    return report->group_count ? report->groups[0].row_count : 0;
}

const struct object_row *top_view_row(const struct top_view *view, size_t index)
{
    return index < top_view_count(view, OBJECT_BY_NOTHING) ? view->report->groups[0].rows[index]
                                                           : NULL;
}
