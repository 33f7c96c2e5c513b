/* Compares two sweeps, to show which groups grew and shrank: where memory leaks. Pure. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_DIFF_H
#define RAYDBG_CLI_MEMORY_MEMORY_DIFF_H

#include "cli/memory/memory_output.h"

struct memory_counts {
    int64_t bytes;
    size_t objects, refs;
};

struct memory_change {
    const char *key; /* of the group, borrowed from a report */
    struct memory_counts before, after;
};

struct memory_diff {
    int64_t from_ms, to_ms;
    enum object_group_by group_by;
    struct memory_change *changes; /* groups that changed; most growth first */
    size_t count;
    size_t same;                        /* groups that did not change */
    struct memory_counts before, after; /* of everything */
    struct object_report *reports[2];
};

/* Groups both by the query. The sweeps must outlive `out`. */
void memory_diff_make(struct memory_diff *out, const struct sweep_query *query,
                      const struct object_sweep *before, const struct object_sweep *after);
void memory_diff_clear(struct memory_diff *diff);

/* All append. */
void memory_diff_print(const struct memory_diff *diff, const struct memory_style *style,
                       size_t limit, struct buf *out);
void memory_diff_json(const struct memory_diff *diff, struct buf *out);
void memory_diff_csv(const struct memory_diff *diff, struct buf *out);

#endif
