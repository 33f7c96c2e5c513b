/* The user's own relay: a command starts it where no relay runs, so that looking at a task does not
 * let it go. It is `raydbg relay` on a free loopback port, with the user's token. It holds the
 * tasks that its clients leave without a goodbye, and ends by itself when it holds nothing. Other
 * commands find it like any relay. */
#ifndef RAYDBG_CLI_RELAY_RELAY_OWN_H
#define RAYDBG_CLI_RELAY_RELAY_OWN_H

#include "relay/cluster/cluster_address.h"
#include "relay/locate/relay_find.h"

struct relay_own_options {
    /* The event that lets the task go on without a relay, such as "the console is left", for the
     * message that no relay can be used; NULL: the message only says why. */
    const char *left;
    bool quiet;       /* no line on stderr after a start: an editor shows it as an error */
    const char *idle; /* how long a relay stays without use; NULL: 10s */
};

/* Finds the cluster's relay, or starts one; with an address whose text is "", one without a
 * cluster, which gets it from the first worker that dials. Of several commands at a time, one
 * starts it. Runs the loop, for 10 s at most. Returns false if no relay is wanted
 * ($RAYDBG_START_RELAY is 0, --no-relay), or if none can be used; stderr then says why. The command
 * then goes on without a relay. The caller clears `out`. */
bool relay_own_use(struct relay_address *out, struct loop *loop, const struct relay_wish *wish,
                   const struct cluster_address *cluster, const struct relay_own_options *options);

#endif
