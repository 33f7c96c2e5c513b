/* `raydbg dap` with a relay: the client's stdio and the relay's WebSocket, put together. */
#ifndef RAYDBG_CLI_DAP_BRIDGE_H
#define RAYDBG_CLI_DAP_BRIDGE_H

#include "relay/loop.h"
#include "relay/relay_address.h"

#include <stdbool.h>

/* All borrowed. What an `attach` does not say itself is added to it. */
struct dap_bridge_options {
    struct loop *loop;
    const struct relay_address *relay;
    const char *task; /* or NULL */
    bool tune, kill;
    bool ahead; /* take what the relay answers ahead */
};

/* Runs until the client or the relay ends the session, or a signal comes; returns the exit code.
 * Messages pass
 * unchanged, but for numbers that would fall. If the relay goes away while it holds the client's
 * pause, a new one is waited for, for a minute, and hears what the client had said; else the client
 * gets one failure for each request that waits, an `output` and `terminated`. */
int dap_bridge_run(const struct dap_bridge_options *options);

#endif
