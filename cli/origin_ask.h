/* One answer from the cluster, waited for; with a progress note on a terminal. */
#ifndef RAYDBG_CLI_ORIGIN_ASK_H
#define RAYDBG_CLI_ORIGIN_ASK_H

#include "cli/origin.h"

/* Refreshes, and again while tasks that wait have no name yet (CLUSTER_NAMES_MS at most;
 * CLUSTER_NAMES_BUSY_MS if there is an `enough`), unless `enough` (may be NULL) is content before.
 * 0, or -1 with `err` set. */
int origin_ask(struct loop *loop, struct origin *origin,
               bool (*enough)(void *arg, const struct pause_list *list), void *arg,
               struct err *err);

#endif
