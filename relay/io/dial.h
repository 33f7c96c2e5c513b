/* Connects TCP to the first of a name's addresses that answers. Everything runs on the loop's
 * thread. */
#ifndef RAYDBG_RELAY_IO_DIAL_H
#define RAYDBG_RELAY_IO_DIAL_H

#include "relay/io/loop.h"

#include <stdint.h>

struct dial;

struct dial_ops {
    /* `fd` is about to be connected: duplicate it here if another process is to hold it from the
     * start. Called for each address that is tried; may be NULL; must not cancel the dial. */
    void (*on_socket)(void *arg, int fd);
    /* The last callback; the dial is freed before it. `fd` is the connected, non-blocking socket,
     * owned by the callee, or -1 with one clause in `why` ("Connection refused"). */
    void (*on_done)(void *arg, int fd, const char *why);
};

/* No callback runs from within this call. */
struct dial *dial_start(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                        const struct dial_ops *ops, void *arg);
/* No callback runs after this. */
void dial_cancel(struct dial **dial);

#endif
