/* The client's requests that have no response yet. */
#ifndef RAYDBG_CLI_DAP_DAP_PENDING_H
#define RAYDBG_CLI_DAP_DAP_PENDING_H

#include "dap/envelope.h"
#include "relay/client/client.h"

#include <stdbool.h>
#include <stdint.h>

struct pending_request {
    struct pending_request *next;
    int64_t seq;
    char command[DAP_NAME_MAX];
};

/* All zero is valid and empty. */
struct pending_requests {
    struct pending_request *newest;
};

void pending_add(struct pending_requests *pending, const struct envelope *request);
/* The request was answered; does nothing if it is not in the list. */
void pending_remove(struct pending_requests *pending, int64_t seq);
/* Takes all, oldest first; the caller frees each. */
struct pending_request *pending_take(struct pending_requests *pending);
/* Fails all, oldest first, except `disconnect`: that client has what it wanted. */
void pending_answer(struct pending_requests *pending, struct client *client, const struct err *err);
void pending_clear(struct pending_requests *pending);

#endif
