/* What was asked of a client (DAP's reverse requests) and is not answered yet. Pure. */
#ifndef RAYDBG_RELAY_ASKS_H
#define RAYDBG_RELAY_ASKS_H

#include "dap/envelope.h"

#include <stdbool.h>
#include <stdint.h>

/* `why` is the client's word on a failure: NULL on success, "" if it gave none. Borrowed. */
typedef void (*ask_fn)(void *arg, bool success, const char *why);

struct ask;
/* All zero is empty. */
struct asks {
    struct ask *first;
};

void asks_add(struct asks *asks, int64_t seq, ask_fn fn, void *arg);
/* Runs the fn of the request that the response is for; false if there is none. */
bool asks_answer(struct asks *asks, const char *json, const struct envelope *response);
/* The fns with this `arg` do not run any more; NULL: none does. */
void asks_drop(struct asks *asks, const void *arg);

#endif
