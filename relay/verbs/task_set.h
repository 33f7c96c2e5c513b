/* Sets of tasks, and their text for users: ranks ("rank 0-6, 8") for tasks that have one, names for
 * all others. Pure. */
#ifndef RAYDBG_RELAY_VERBS_TASK_SET_H
#define RAYDBG_RELAY_VERBS_TASK_SET_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct task_list_item {
    int64_t thread; /* the session's id */
    int64_t rank;   /* -1: none */
    char *name;     /* owned */
};

/* All zero is empty. A member is identified by its index. */
struct task_list {
    struct task_list_item *items;
    size_t count;
};

/* Gives the new member's index; `rank` -1: none. `name` is copied. */
size_t task_list_add(struct task_list *tasks, int64_t thread, int64_t rank, const char *name);
void task_list_clear(struct task_list *tasks);
/* -1, 0, 1: by rank, members without one last; then in the order in which they were added. */
int task_list_order(const struct task_list *tasks, size_t a, size_t b);

/* A set of members, by index. All zero is empty. */
struct task_set {
    size_t *items;
    size_t count;
};

void task_set_add(struct task_set *set, size_t member);
void task_set_clear(struct task_set *set);
/* Sorts by task_list_order(). */
void task_set_sort(const struct task_list *tasks, struct task_set *set);

/* Appends "rank 0-6, 8, Trainer.step pid 811 and 3 more": ranges of ranks, then at most `most`
 * names of members without a rank. A single member is named in full. The set must be sorted. */
void task_set_text(const struct task_list *tasks, const struct task_set *set, size_t most,
                   struct buf *out);
/* Appends [1,2,3]: the threads' ids. */
void task_set_json(const struct task_list *tasks, const struct task_set *set, struct buf *out);

#endif
