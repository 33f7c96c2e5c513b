/* The events that a client which joins late needs from a debuggee: its threads, and the unchanged
 * `stopped` event of each thread that is stopped. Pure. */
#ifndef RAYDBG_RELAY_STACK_STOP_EVENTS_H
#define RAYDBG_RELAY_STACK_STOP_EVENTS_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stop {
    int64_t thread;
    char *json; /* the whole event; NULL for a running thread */
    size_t len;
};

/* All zero is a debuggee without threads. A thread moves to the end when it stops, so the latest
 * stop is last. */
struct stop_events {
    struct stop *items;
    size_t count;
};

void stop_events_clear(struct stop_events *stops);
/* Applies `stopped`, `continued`, `thread` and `terminated`; other events change nothing. */
void stop_events_event(struct stop_events *stops, const char *json, size_t len,
                       const struct envelope *event);
/* Marks a thread (all threads if `all`) as running. */
void stop_events_resume(struct stop_events *stops, int64_t thread, bool all);
/* The same; the stops that this ends are added to `taken`. */
void stop_events_take(struct stop_events *stops, int64_t thread, bool all,
                      struct stop_events *taken);
/* True for a thread that is known, and not stopped. */
bool stop_events_runs(const struct stop_events *stops, int64_t thread);
bool stop_events_any(const struct stop_events *stops);
/* The latest stop, or NULL. */
const struct stop *stop_events_last(const struct stop_events *stops);

/* Appends a JSON array of events that reproduce the state: `thread` events, then `stopped`
 * events. */
void stop_events_save(const struct stop_events *stops, struct buf *out);

#endif
