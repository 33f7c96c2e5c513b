#include "relay/verbs/task_set.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

size_t task_list_add(struct task_list *tasks, int64_t thread, int64_t rank, const char *name)
{
    if ((tasks->count & (tasks->count - 1)) == 0)
        tasks->items =
            mem_resize(tasks->items, tasks->count ? 2 * tasks->count : 1, sizeof *tasks->items);
    tasks->items[tasks->count] = (struct task_list_item){thread, rank, mem_string(name)};
    return tasks->count++;
}

void task_list_clear(struct task_list *tasks)
{
    for (size_t i = 0; i < tasks->count; i++)
        free(tasks->items[i].name);
    free(tasks->items);
    *tasks = (struct task_list){0};
}

int task_list_order(const struct task_list *tasks, size_t a, size_t b)
{
    uint64_t first = (uint64_t)tasks->items[a].rank, second = (uint64_t)tasks->items[b].rank;
    if (first != second)
        return first < second ? -1 : 1; /* as unsigned, -1 is the largest */
    return a < b ? -1 : a > b;
}

void task_set_add(struct task_set *set, size_t member)
{
    if ((set->count & (set->count - 1)) == 0)
        set->items = mem_resize(set->items, set->count ? 2 * set->count : 1, sizeof *set->items);
    set->items[set->count++] = member;
}

void task_set_clear(struct task_set *set)
{
    free(set->items);
    *set = (struct task_set){0};
}

static int compare(const void *a, const void *b, void *tasks)
{
    return task_list_order(tasks, *(const size_t *)a, *(const size_t *)b);
}

void task_set_sort(const struct task_list *tasks, struct task_set *set)
{
    if (set->count > 1)
        qsort_r(set->items, set->count, sizeof *set->items, compare, (void *)(uintptr_t)tasks);
}

/* Appends the ranks; gives the number of members that have one, which are first in the set. */
static size_t add_ranks(const struct task_list *tasks, const struct task_set *set, struct buf *out)
{
    size_t i = 0;
    while (i < set->count && tasks->items[set->items[i]].rank >= 0) {
        int64_t from = tasks->items[set->items[i]].rank, to = from;
        buf_printf(out, i ? ", %" PRId64 : "rank %" PRId64, from);
        for (; i < set->count; i++) { /* a rank with several threads is there more than once */
            int64_t rank = tasks->items[set->items[i]].rank;
            if (rank != to && rank != to + 1)
                break;
            to = rank;
        }
        if (to > from)
            buf_printf(out, to == from + 1 ? ", %" PRId64 : "-%" PRId64, to);
    }
    return i;
}

void task_set_text(const struct task_list *tasks, const struct task_set *set, size_t most,
                   struct buf *out)
{
    if (set->count == 1) {
        buf_add_string(out, tasks->items[set->items[0]].name);
        return;
    }
    size_t at = add_ranks(tasks, set, out);
    size_t left = set->count - at, shown = left > most ? most : left;
    for (size_t i = 0; i < shown; i++, at++) {
        buf_add_string(out, at ? ", " : "");
        buf_add_string(out, tasks->items[set->items[at]].name);
    }
    if (left > shown)
        buf_printf(out, at ? " and %zu more" : "%zu tasks", left - shown);
}

void task_set_json(const struct task_list *tasks, const struct task_set *set, struct buf *out)
{
    buf_add_string(out, "[");
    for (size_t i = 0; i < set->count; i++)
        buf_printf(out, i ? ",%" PRId64 : "%" PRId64, tasks->items[set->items[i]].thread);
    buf_add_string(out, "]");
}
