/* The relay: its port, its hubs and its cluster, put together. Everything runs on the loop's
 * thread.
 */
#ifndef RAYDBG_RELAY_RELAY_H
#define RAYDBG_RELAY_RELAY_H

#include "relay/cluster.h"
#include "relay/hubs.h"
#include "relay/keeper.h"
#include "relay/listener.h"

struct relay;

/* All borrowed until relay_destroy(). */
struct relay_options {
    struct listener_options listener;
    struct cluster *cluster; /* or NULL: only --allow-connect can reach a debuggee */
    struct keeper *keeper;   /* or NULL: nothing survives the relay */
    enum hub_hold hold;
    int64_t max_hold_ms;
    bool tune;
    bool kill;
    bool allow_connect;
    const char *audit_log; /* a file, or NULL for none */
};

struct relay *relay_create(const struct relay_options *options, struct err *err);
/* Closes the port. What the keeper holds stays as it is; everything else goes on. */
void relay_destroy(struct relay **relay);
const char *relay_address(const struct relay *relay, size_t n); /* listener_address() */
/* How many pauses an earlier relay has left. */
size_t relay_taken_over(const struct relay *relay);

#endif
