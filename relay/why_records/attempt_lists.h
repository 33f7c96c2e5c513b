/* Finds attempts by what they have in common, without a scan of all. Each list is in the order of
 * the attempts, which are borrowed. Pure. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_ATTEMPT_LISTS_H
#define RAYDBG_RELAY_WHY_RECORDS_ATTEMPT_LISTS_H

#include "base/text_numbers.h"
#include "proto/failure_records.h"

/* The kinds of lists, and the key of each. */
enum attempt_list {
    ATTEMPTS_OF_PARENT,        /* what a task has called; its id */
    ATTEMPTS_OF_ACTOR,         /* its creation and its calls; its id */
    ATTEMPTS_RUNNING,          /* in the state RUNNING; "" */
    ATTEMPTS_RUNNING_IN_ACTOR, /* both; its id */
    ATTEMPT_LISTS,
};

/* The lists of one kind. */
struct attempt_chains {
    struct text_numbers keys;
    uint32_t *first, *last; /* positions of attempts, by number of the key */
    size_t cap;
    uint32_t *next; /* by position; it is its own next at the end */
};

/* All zero: no attempts. */
struct attempt_lists {
    const struct ray_attempt *attempts;
    size_t count;
    struct attempt_chains kinds[ATTEMPT_LISTS];
};

/* Replaces what was there. At most UINT32_MAX attempts. */
void attempt_lists_make(struct attempt_lists *lists, const struct ray_attempt *attempts,
                        size_t count);
void attempt_lists_clear(struct attempt_lists *lists);
/* The first of a list, or the one behind `after`, which is in it; NULL if there is none. An
 * attempt that has changed since, and does not belong to the list any more, is left out. */
const struct ray_attempt *attempt_lists_next(const struct attempt_lists *lists,
                                             enum attempt_list kind, const char *key,
                                             const struct ray_attempt *after);
/* True if the attempt belongs to the list. */
bool attempt_lists_have(enum attempt_list kind, const char *key, const struct ray_attempt *attempt);

#endif
