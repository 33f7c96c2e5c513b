/* DAP's reverse requests that a client has not answered yet. Pure. */
#ifndef RAYDBG_RELAY_CLIENT_REVERSE_REQUESTS_H
#define RAYDBG_RELAY_CLIENT_REVERSE_REQUESTS_H

#include "dap/envelope.h"

#include <stdbool.h>
#include <stdint.h>

/* `why` is the client's message on a failure: NULL on success, "" if there is none. Borrowed. */
typedef void (*reverse_request_fn)(void *arg, bool success, const char *why);

struct reverse_request;
/* All zero is empty. */
struct reverse_requests {
    struct reverse_request *first;
};

void reverse_requests_add(struct reverse_requests *requests, int64_t seq, reverse_request_fn fn,
                          void *arg);
/* Runs the fn of the request that the response is for; false if there is none. */
bool reverse_requests_answer(struct reverse_requests *requests, const char *json,
                             const struct envelope *response);
/* Drops the requests with this `arg`, or all if it is NULL: their fns do not run. */
void reverse_requests_drop(struct reverse_requests *requests, const void *arg);

#endif
