/* DAP's reverse requests that a client has not answered yet. Pure. */
#ifndef RAYDBG_RELAY_CLIENT_REVERSE_REQUESTS_H
#define RAYDBG_RELAY_CLIENT_REVERSE_REQUESTS_H

#include "dap/envelope.h"

#include <stdbool.h>
#include <stdint.h>

/* `why` is the client's message on a failure: NULL on success, "" if there is none. Borrowed. */
typedef void (*ask_fn)(void *arg, bool success, const char *why);

struct ask;
/* All zero is empty. */
struct reverse_requests {
    struct ask *first;
};

void reverse_requests_add(struct reverse_requests *asks, int64_t seq, ask_fn fn, void *arg);
/* Runs the fn of the request that the response is for; false if there is none. */
bool reverse_requests_answer(struct reverse_requests *asks, const char *json,
                             const struct envelope *response);
/* Drops the requests with this `arg`, or all if it is NULL: their fns do not run. */
void reverse_requests_drop(struct reverse_requests *asks, const void *arg);

#endif
