/* A connection to a relay's WebSocket /dap, over ws://, wss:// or a unix socket: DAP messages in
 * and out. `raydbg dap` and `raydbg attach` use it if there is a relay. Everything runs on the
 * loop's thread. */
#ifndef RAYDBG_RELAY_LOCATE_RELAY_WEBSOCKET_H
#define RAYDBG_RELAY_LOCATE_RELAY_WEBSOCKET_H

#include "base/err.h"
#include "relay/io/loop.h"
#include "relay/locate/relay_address.h"

#include <stddef.h>

struct relay_websocket;

struct relay_websocket_ops {
    void (*on_open)(void *arg); /* the relay has accepted the connection */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* Refused, unreachable or ended; `err` is NULL for an orderly end. Runs once; nothing
     * follows. */
    void (*on_close)(void *arg, const struct err *err);
};

/* `address` is copied. Callbacks never run from within this call. */
struct relay_websocket *relay_websocket_open(struct loop *loop, const struct relay_address *address,
                                             const struct relay_websocket_ops *ops, void *arg);
/* Messages sent before on_open are queued. */
void relay_websocket_send(struct relay_websocket *bridge, const char *json, size_t len);
/* Bytes that libwebsockets has not taken, plus 1 if the kernel has not taken all of those that it
 * has; 0 once everything has left. */
size_t relay_websocket_queued(const struct relay_websocket *bridge);
/* Closes in the background once the queue has left, after 2 s at the latest. No callback runs after
 * this. */
void relay_websocket_destroy(struct relay_websocket **bridge);

#endif
