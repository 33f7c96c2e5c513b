/* The client's requests that are not answered. Pure. */
#ifndef RAYDBG_CLI_DAP_PENDING_H
#define RAYDBG_CLI_DAP_PENDING_H

#include "dap/envelope.h"

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
/* It is answered; nothing happens if it is not there. */
void pending_remove(struct pending_requests *pending, int64_t seq);
/* Takes all, oldest first; the caller frees each. */
struct pending_request *pending_take(struct pending_requests *pending);
void pending_clear(struct pending_requests *pending);

#endif
