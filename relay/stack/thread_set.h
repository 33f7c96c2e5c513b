/* The set of a debuggee's stopped threads, kept from its events. */
#ifndef RAYDBG_RELAY_STACK_THREAD_SET_H
#define RAYDBG_RELAY_STACK_THREAD_SET_H

#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is the empty set. */
struct thread_set {
    int64_t *ids;
    size_t count;
    size_t room;
    bool all; /* set by allThreadsStopped: no event follows for each thread */
};

bool thread_set_empty(const struct thread_set *set);
bool thread_set_has(const struct thread_set *set, int64_t id);
void thread_set_add(struct thread_set *set, int64_t id);
void thread_set_remove(struct thread_set *set, int64_t id);
void thread_set_resume_all(struct thread_set *set);
void thread_set_clear(struct thread_set *set); /* frees */

/* Applies a `stopped`, `continued`, `thread` or `terminated` event; other events change nothing. */
void thread_set_event(struct thread_set *set, const char *json, const struct envelope *event);

#endif
