/* What a client that joins late must be told of a debuggee: its threads, and the `stopped` event of
 * each that is stopped now, as it came. Pure. */
#ifndef RAYDBG_RELAY_STOPS_H
#define RAYDBG_RELAY_STOPS_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stop {
    int64_t thread;
    char *json; /* the whole event; NULL for a thread that runs */
    size_t len;
};

/* All zero is a debuggee without threads. In the order of their last change: the latest stop is
 * last. */
struct stops {
    struct stop *items;
    size_t count;
};

void stops_clear(struct stops *stops);
/* Takes in `stopped`, `continued`, `thread` and `terminated`; others change nothing. */
void stops_event(struct stops *stops, const char *json, size_t len, const struct envelope *event);
/* A thread (`all`: every one) runs, by the answer to a request. */
void stops_resume(struct stops *stops, int64_t thread, bool all);
bool stops_any(const struct stops *stops);
/* The latest stop, or NULL. */
const struct stop *stops_last(const struct stops *stops);

/* A JSON array of the events that tell it all: `thread`, then `stopped`. */
void stops_save(const struct stops *stops, struct buf *out);

#endif
