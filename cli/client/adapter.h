/* The DAP adapter that our own client speaks to: a session in this process, or one in a relay over
 * a WebSocket. Everything runs on the loop's thread. */
#ifndef RAYDBG_CLI_CLIENT_ADAPTER_H
#define RAYDBG_CLI_CLIENT_ADAPTER_H

#include "base/err.h"
#include "relay/locate/relay_address.h"
#include "relay/session/session.h"

#include <stddef.h>

struct adapter;

struct adapter_ops {
    /* One whole message, borrowed for the call. May run inside adapter_send(). */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* No more messages follow; `err` is NULL after an orderly end. Called at most once. */
    void (*on_end)(void *arg, const struct err *err);
};

/* `relay` NULL: creates a session in this process with `options`. Else only options->loop is
 * used. */
struct adapter *adapter_create(const struct session_options *options,
                               const struct relay_address *relay, const struct adapter_ops *ops,
                               void *arg);
void adapter_send(struct adapter *adapter, const char *json, size_t len);
/* No callback runs afterwards. */
void adapter_destroy(struct adapter **adapter);

#endif
