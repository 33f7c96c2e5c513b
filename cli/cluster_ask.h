/* One answer from the cluster, waited for; with a progress note on a terminal. */
#ifndef RAYDBG_CLI_CLUSTER_ASK_H
#define RAYDBG_CLI_CLUSTER_ASK_H

#include "relay/cluster.h"

/* Refreshes, and again while tasks that wait have no name yet (CLUSTER_NAMES_MS at most;
 * CLUSTER_NAMES_BUSY_MS if there is an `enough`), unless `enough` (may be NULL) is content before.
 * 0, or -1 with `err` set. */
int cluster_ask(struct loop *loop, struct cluster *cluster,
                bool (*enough)(void *arg, const struct pause_list *list), void *arg,
                struct err *err);

#endif
