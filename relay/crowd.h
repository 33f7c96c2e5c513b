/* Who is meant in what is said of many tasks: "rank 0-6, 8" where there are ranks, names where
 * there are none. Pure. */
#ifndef RAYDBG_RELAY_CROWD_H
#define RAYDBG_RELAY_CROWD_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct crowd_member {
    int64_t thread; /* the session's id */
    int64_t rank;   /* -1: none */
    char *name;     /* owned */
};

/* All zero is empty. Members are known by their index. */
struct crowd {
    struct crowd_member *items;
    size_t count;
};

/* Gives the new member's index; `rank` -1: none. `name` is copied. */
size_t crowd_add(struct crowd *crowd, int64_t thread, int64_t rank, const char *name);
void crowd_clear(struct crowd *crowd);
/* -1, 0, 1: by rank, those without one last, in the order in which they were added. */
int crowd_order(const struct crowd *crowd, size_t a, size_t b);

/* A set of members. All zero is empty. */
struct crowd_set {
    size_t *items;
    size_t count;
};

void crowd_set_add(struct crowd_set *set, size_t member);
void crowd_set_clear(struct crowd_set *set);
/* By crowd_order(). */
void crowd_set_sort(const struct crowd *crowd, struct crowd_set *set);

/* Appends "rank 0-6, 8, Trainer.step pid 811 and 3 more": ranges of ranks, then at most `most`
 * names of those without. One that is alone is named in full. The set is sorted. */
void crowd_text(const struct crowd *crowd, const struct crowd_set *set, size_t most,
                struct buf *out);
/* Appends [1,2,3]: the threads' ids. */
void crowd_json(const struct crowd *crowd, const struct crowd_set *set, struct buf *out);

#endif
