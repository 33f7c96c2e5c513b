/* Asks the cluster for a worker's death cause until the cluster knows it. */
#ifndef RAYDBG_RELAY_CLUSTER_DEATH_CAUSE_H
#define RAYDBG_RELAY_CLUSTER_DEATH_CAUSE_H

#include "relay/cluster/cluster.h"

struct death_cause;

/* `sentence` is borrowed for the call: the death cause, or with DEATH_UNKNOWN what is known
 * instead. Runs once, on the loop's thread, perhaps from within death_cause_ask(); not after
 * death_cause_cancel(). */
typedef void (*death_cause_fn)(void *arg, enum death_kind kind, const char *sentence);

/* `cluster` may be NULL (a direct connection), `worker_id` "". The raylet notices a death within
 * some ms, the GCS a little later, so the cluster is asked for about 2 s; of a driver for 10 s. */
struct death_cause *death_cause_ask(struct loop *loop, struct cluster *cluster,
                                    const char *worker_id, death_cause_fn fn, void *arg);
void death_cause_cancel(struct death_cause **death_cause);

#endif
