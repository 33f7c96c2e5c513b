#include "relay/why_records/attempt_lists.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

/* The key of the list of this kind to which the attempt belongs; NULL if there is none. */
static const char *key_of(enum attempt_list kind, const struct ray_attempt *attempt)
{
    bool runs = attempt->state == RAY_ATTEMPT_RUNNING;
    switch (kind) {
    case ATTEMPTS_OF_PARENT:
        return *attempt->parent_task_id ? attempt->parent_task_id : NULL;
    case ATTEMPTS_OF_ACTOR:
        return *attempt->actor_id ? attempt->actor_id : NULL;
    case ATTEMPTS_RUNNING:
        return runs ? "" : NULL;
    case ATTEMPTS_RUNNING_IN_ACTOR:
        return runs && *attempt->actor_id ? attempt->actor_id : NULL;
    default:
        return NULL;
    }
}

bool attempt_lists_have(enum attempt_list kind, const char *key, const struct ray_attempt *attempt)
{
    const char *its = key_of(kind, attempt);
    return its && text_equal(its, key);
}

static void add(struct attempt_chains *chains, const char *key, uint32_t position)
{
    size_t known = chains->keys.count;
    uint32_t number = text_numbers_number(&chains->keys, key);
    chains->next[position] = position;
    if (number < known) {
        chains->next[chains->last[number]] = position;
    } else {
        if (known == chains->cap) {
            chains->cap = chains->cap ? 2 * chains->cap : 64;
            chains->first = mem_resize(chains->first, chains->cap, sizeof *chains->first);
            chains->last = mem_resize(chains->last, chains->cap, sizeof *chains->last);
        }
        chains->first[number] = position;
    }
    chains->last[number] = position;
}

void attempt_lists_make(struct attempt_lists *lists, const struct ray_attempt *attempts,
                        size_t count)
{
    attempt_lists_clear(lists);
    lists->attempts = attempts;
    lists->count = count;
    for (int kind = 0; count && kind < ATTEMPT_LISTS; kind++) {
        struct attempt_chains *chains = &lists->kinds[kind];
        chains->next = mem_array(count, sizeof *chains->next);
        for (size_t i = 0; i < count; i++) {
            const char *key = key_of((enum attempt_list)kind, &attempts[i]);
            if (key)
                add(chains, key, (uint32_t)i);
        }
    }
}

void attempt_lists_clear(struct attempt_lists *lists)
{
    for (int kind = 0; kind < ATTEMPT_LISTS; kind++) {
        struct attempt_chains *chains = &lists->kinds[kind];
        text_numbers_free(&chains->keys);
        free(chains->first);
        free(chains->last);
        free(chains->next);
    }
    *lists = (struct attempt_lists){0};
}

const struct ray_attempt *attempt_lists_next(const struct attempt_lists *lists,
                                             enum attempt_list kind, const char *key,
                                             const struct ray_attempt *after)
{
    const struct attempt_chains *chains = &lists->kinds[kind];
    uint32_t number, at;
    if (after) {
        at = (uint32_t)(after - lists->attempts);
        if (chains->next[at] == at)
            return NULL;
        at = chains->next[at];
    } else {
        if (!text_numbers_find(&chains->keys, key, &number))
            return NULL;
        at = chains->first[number];
    }
    while (!attempt_lists_have(kind, key, &lists->attempts[at])) {
        if (chains->next[at] == at)
            return NULL;
        at = chains->next[at];
    }
    return &lists->attempts[at];
}
