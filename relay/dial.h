/* A TCP connection that is being made, to the first of a name's addresses that answers. Everything
 * runs on the loop's thread. */
#ifndef RAYDBG_RELAY_DIAL_H
#define RAYDBG_RELAY_DIAL_H

#include "relay/loop.h"

#include <stdint.h>

struct dial;

struct dial_ops {
    /* `fd` is about to be connected: who is to hold it from its start on takes a duplicate now. For
     * each address that is tried; may be NULL, and must not cancel the dial. */
    void (*on_socket)(void *arg, int fd);
    /* Comes last, and the dial is gone: the connected, non-blocking socket, which is the callee's,
     * or -1 and one clause ("Connection refused"). */
    void (*on_done)(void *arg, int fd, const char *why);
};

/* No callback runs from within. */
struct dial *dial_start(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                        const struct dial_ops *ops, void *arg);
/* No callback runs any more. */
void dial_cancel(struct dial **dial);

#endif
