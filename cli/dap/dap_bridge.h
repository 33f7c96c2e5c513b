/* `raydbg dap` with a relay: connects the client's stdio and the relay's WebSocket. */
#ifndef RAYDBG_CLI_DAP_DAP_BRIDGE_H
#define RAYDBG_CLI_DAP_DAP_BRIDGE_H

#include "relay/io/loop.h"
#include "relay/locate/relay_address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The messages that the client and an earlier session of this process, without a relay, have
 * exchanged. */
struct dap_bridge_begun {
    const char *initialize; /* the client's request, which is answered; or NULL */
    int64_t seq;            /* of the last message to the client */
    const char *bytes;      /* the client's, which no session has handled */
    size_t len;
    const struct err *problem; /* there is no relay, and why; or NULL */
};

/* All borrowed. An `attach` gets `task`, `tune` and `kill`, unless it has them. */
struct dap_bridge_options {
    struct loop *loop;
    const struct relay_address *relay;
    const char *task; /* or NULL */
    bool tune, kill;
    bool prefetch;                        /* use prefetched answers */
    bool launch;                          /* the client will send `launch` */
    const struct dap_bridge_begun *begun; /* or NULL */
};

/* Runs until the client or the relay ends the session, or a signal comes; returns the exit code.
 * Messages pass unchanged, except for added arguments and for seqs that would fall. If the relay
 * goes away while it holds the client's pause, waits a minute for a new one and replays the
 * client's messages to it. Otherwise the client gets a failure for each pending request, an
 * `output` and `terminated`. */
int dap_bridge_run(const struct dap_bridge_options *options);

#endif
