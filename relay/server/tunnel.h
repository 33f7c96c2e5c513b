/* `--target debugpy://HOST:PORT`: joins a client's connection with one to the adapter. Bytes pass
 * unchanged in both directions. Unless tuning is off, a debugpy (it names itself in its first
 * `output` event) gets one request of the relay's own behind `initialized`, which sets TCP_NODELAY
 * in the worker; its answer is taken out again. After that the tunnel does not look at messages any
 * more. Backpressure: a side that does not read stops the other, with at most 256 KiB between.
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_SERVER_TUNNEL_H
#define RAYDBG_RELAY_SERVER_TUNNEL_H

#include "base/err.h"
#include "relay/io/loop.h"

#include <stddef.h>

struct tunnels;

struct tunnels_options {
    struct loop *loop;
    const char *const
        *addresses; /* to listen on: "HOST:PORT", "unix:PATH"; loopback and unix only */
    size_t address_count;
    const char *host; /* of the adapter */
    unsigned short port;
    bool tune;              /* false: --no-tune */
    size_t max_connections; /* 0: 10000 */
};

/* Each accepted connection dials the adapter at once. `on_end` runs, from the loop, when the
 * adapter cannot be reached any more (a dial was refused after one had succeeded) and the last
 * connection is over: nothing is left to relay. NULL with `err` set: an address is in use or not
 * local, or the adapter's host has no address. */
struct tunnels *tunnels_create(const struct tunnels_options *options, loop_fn on_end, void *arg,
                               struct err *err);
void tunnels_destroy(struct tunnels **tunnels);
const char *tunnels_address(const struct tunnels *tunnels, size_t n);

#endif
