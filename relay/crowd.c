#include "relay/crowd.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

size_t crowd_add(struct crowd *crowd, int64_t thread, int64_t rank, const char *name)
{
    if ((crowd->count & (crowd->count - 1)) == 0)
        crowd->items =
            mem_resize(crowd->items, crowd->count ? 2 * crowd->count : 1, sizeof *crowd->items);
    crowd->items[crowd->count] = (struct crowd_member){thread, rank, mem_string(name)};
    return crowd->count++;
}

void crowd_clear(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        free(crowd->items[i].name);
    free(crowd->items);
    *crowd = (struct crowd){0};
}

int crowd_order(const struct crowd *crowd, size_t a, size_t b)
{
    uint64_t first = (uint64_t)crowd->items[a].rank, second = (uint64_t)crowd->items[b].rank;
    if (first != second)
        return first < second ? -1 : 1; /* -1 is the largest */
    return a < b ? -1 : a > b;
}

void crowd_set_add(struct crowd_set *set, size_t member)
{
    if ((set->count & (set->count - 1)) == 0)
        set->items = mem_resize(set->items, set->count ? 2 * set->count : 1, sizeof *set->items);
    set->items[set->count++] = member;
}

void crowd_set_clear(struct crowd_set *set)
{
    free(set->items);
    *set = (struct crowd_set){0};
}

static int compare(const void *a, const void *b, void *crowd)
{
    return crowd_order(crowd, *(const size_t *)a, *(const size_t *)b);
}

void crowd_set_sort(const struct crowd *crowd, struct crowd_set *set)
{
    if (set->count > 1)
        qsort_r(set->items, set->count, sizeof *set->items, compare, (void *)(uintptr_t)crowd);
}

/* Gives how many of the set have a rank: they come first. */
static size_t add_ranks(const struct crowd *crowd, const struct crowd_set *set, struct buf *out)
{
    size_t i = 0;
    while (i < set->count && crowd->items[set->items[i]].rank >= 0) {
        int64_t from = crowd->items[set->items[i]].rank, to = from;
        buf_printf(out, i ? ", %" PRId64 : "rank %" PRId64, from);
        for (; i < set->count; i++) { /* a rank with several threads is there more than once */
            int64_t rank = crowd->items[set->items[i]].rank;
            if (rank != to && rank != to + 1)
                break;
            to = rank;
        }
        if (to > from)
            buf_printf(out, to == from + 1 ? ", %" PRId64 : "-%" PRId64, to);
    }
    return i;
}

void crowd_text(const struct crowd *crowd, const struct crowd_set *set, size_t most,
                struct buf *out)
{
    if (set->count == 1) {
        buf_add_string(out, crowd->items[set->items[0]].name);
        return;
    }
    size_t at = add_ranks(crowd, set, out);
    size_t left = set->count - at, shown = left > most ? most : left;
    for (size_t i = 0; i < shown; i++, at++) {
        buf_add_string(out, at ? ", " : "");
        buf_add_string(out, crowd->items[set->items[at]].name);
    }
    if (left > shown)
        buf_printf(out, at ? " and %zu more" : "%zu tasks", left - shown);
}

void crowd_json(const struct crowd *crowd, const struct crowd_set *set, struct buf *out)
{
    buf_add_string(out, "[");
    for (size_t i = 0; i < set->count; i++)
        buf_printf(out, i ? ",%" PRId64 : "%" PRId64, crowd->items[set->items[i]].thread);
    buf_add_string(out, "]");
}
