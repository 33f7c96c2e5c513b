/* One list of `raydbg memory --top`: the groups, or the references, of a part of a sweep. Pure, and
 * for any thread: a view of 200,000 references takes longer than a key may wait. */
#ifndef RAYDBG_CLI_TOP_TOP_VIEW_H
#define RAYDBG_CLI_TOP_TOP_VIEW_H

#include "relay/sweep/sweep_query.h"

/* A step down: into the group that is called `key` when grouped by `by`. */
struct top_step {
    enum object_group_by by;
    char *key;
};

enum { TOP_STEPS = OBJECT_BY_COUNT };

/* The contents of a view. Strings are owned. */
struct top_wanted {
    struct top_step path[TOP_STEPS];
    size_t depth;
    enum object_group_by by; /* OBJECT_BY_NOTHING: references */
    enum object_sort_by sort_by;
    char *filter, *task, *worker_id; /* NULL: all */
};

void top_wanted_clear(struct top_wanted *wanted);
bool top_wanted_equal(const struct top_wanted *a, const struct top_wanted *b);

struct top_view {
    struct object_sweep scope; /* the sweep, with only the rows that the path leads to */
    struct object_report *report;
    enum object_sort_by sort_by;
};

/* The sweep must outlive the view. */
struct top_view *top_view_build(const struct top_wanted *wanted, const struct object_sweep *sweep);
void top_view_free(struct top_view **view);

/* NULL if there is no such group. */
const struct object_group *top_view_group(const struct top_view *view, const char *key);

/* Lines of the list, and the reference in one of them if the view is of references. */
size_t top_view_count(const struct top_view *view, enum object_group_by by);
const struct object_row *top_view_row(const struct top_view *view, size_t index);

#endif
