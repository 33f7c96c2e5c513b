/* What speaks DAP to a client of ours: a session in this process, or a relay's at the other end of
 * a bridge. Everything runs on the loop's thread. */
#ifndef RAYDBG_CLI_ADAPTER_H
#define RAYDBG_CLI_ADAPTER_H

#include "base/err.h"
#include "relay/relay_address.h"
#include "relay/session.h"

#include <stddef.h>

struct adapter;

struct adapter_ops {
    /* One whole message; borrowed for the call. May run from within adapter_send(). */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* Nothing more will come; `err` NULL for an orderly end. At most once. */
    void (*on_end)(void *arg, const struct err *err);
};

/* `relay` NULL: a session in this process with `options`, of which only the loop counts else. */
struct adapter *adapter_create(const struct session_options *options,
                               const struct relay_address *relay, const struct adapter_ops *ops,
                               void *arg);
void adapter_send(struct adapter *adapter, const char *json, size_t len);
/* No callback runs after. */
void adapter_destroy(struct adapter **adapter);

#endif
