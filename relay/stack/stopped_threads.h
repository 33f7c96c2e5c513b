/* The set of a debuggee's stopped threads, kept from its events. */
#ifndef RAYDBG_RELAY_STACK_STOPPED_THREADS_H
#define RAYDBG_RELAY_STACK_STOPPED_THREADS_H

#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is the empty set. */
struct stopped_threads {
    int64_t *ids;
    size_t count;
    size_t room;
    bool all; /* set by allThreadsStopped: no event follows for each thread */
};

bool stopped_threads_empty(const struct stopped_threads *set);
bool stopped_threads_has(const struct stopped_threads *set, int64_t id);
void stopped_threads_add(struct stopped_threads *set, int64_t id);
void stopped_threads_remove(struct stopped_threads *set, int64_t id);
void stopped_threads_resume_all(struct stopped_threads *set);
void stopped_threads_clear(struct stopped_threads *set); /* frees */

/* Applies a `stopped`, `continued`, `thread` or `terminated` event; other events change nothing. */
void stopped_threads_event(struct stopped_threads *set, const char *json,
                           const struct envelope *event);

#endif
