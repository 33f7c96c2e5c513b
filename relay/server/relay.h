/* The relay: its port, its hubs and its cluster, put together. Everything runs on the loop's
 * thread.
 */
#ifndef RAYDBG_RELAY_SERVER_RELAY_H
#define RAYDBG_RELAY_SERVER_RELAY_H

#include "relay/cluster/cluster.h"
#include "relay/hub/hub_table.h"
#include "relay/keeper/keeper.h"
#include "relay/port/listener.h"

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
    const char *breakpoints_file; /* where breakpoints by file are remembered, or NULL */
    const char *audit_log;        /* a file, or NULL for none */
    /* A worker has dialled a relay that has no cluster: the address of its GCS. relay_set_cluster()
     * may follow. NULL: the relay stays without one. */
    void (*on_cluster)(void *arg, const char *address);
    void *cluster_arg;
    /* Runs once, from the loop, when the relay has had no DAP client and has held nothing for
     * idle_ms. 0: it is never idle. */
    int64_t idle_ms;
    void (*on_idle)(void *arg);
    void *idle_arg;
};

struct relay *relay_create(const struct relay_options *options, struct err *err);
/* Closes the port. What the keeper holds stays as it is; everything else goes on. */
void relay_destroy(struct relay **relay);
/* Gives a relay without a cluster one, borrowed until relay_destroy(). */
void relay_set_cluster(struct relay *relay, struct cluster *cluster);
const char *relay_address(const struct relay *relay, size_t n); /* listener_address() */
/* The number of pauses taken over from an earlier relay. */
size_t relay_taken_over(const struct relay *relay);

#endif
