/* A connection to a relay's WebSocket /dap, ws:// or wss:// or over a unix socket: DAP messages in
 * and out. What `raydbg dap` and `raydbg attach` use when there is a relay. Everything runs on the
 * loop's thread. */
#ifndef RAYDBG_RELAY_BRIDGE_H
#define RAYDBG_RELAY_BRIDGE_H

#include "base/err.h"
#include "relay/loop.h"
#include "relay/relay_address.h"

#include <stddef.h>

struct bridge;

struct bridge_ops {
    void (*on_open)(void *arg); /* the relay has let us in */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* Refused, unreachable or over; `err` NULL for an orderly end. Once; nothing follows. */
    void (*on_close)(void *arg, const struct err *err);
};

/* `address` is copied. Callbacks never run from within. */
struct bridge *bridge_open(struct loop *loop, const struct relay_address *address,
                           const struct bridge_ops *ops, void *arg);
/* Messages sent before on_open are queued. */
void bridge_send(struct bridge *bridge, const char *json, size_t len);
/* Bytes that libwebsockets has not taken, or the kernel has not taken from it: 0 once all has left.
 */
size_t bridge_queued(const struct bridge *bridge);
/* Closes once what is queued has left (at most 2 s are spent, turning the loop is not needed: it is
 * done in the background); no callback runs after. */
void bridge_destroy(struct bridge **bridge);

#endif
