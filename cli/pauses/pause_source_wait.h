/* Waits for a refresh of the pauses, with a progress note on a terminal. */
#ifndef RAYDBG_CLI_PAUSES_PAUSE_SOURCE_WAIT_H
#define RAYDBG_CLI_PAUSES_PAUSE_SOURCE_WAIT_H

#include "cli/pauses/pause_source.h"

/* Refreshes, and repeats that while tasks that wait have no name yet (CLUSTER_NAMES_MS at most;
 * CLUSTER_NAMES_BUSY_MS with `enough`), unless `enough` (may be NULL) returns true before. Returns
 * 0, or -1 with `err` set. */
int pause_source_wait(struct loop *loop, struct pause_source *origin,
                      bool (*enough)(void *arg, const struct pause_list *list), void *arg,
                      struct err *err);
/* Refreshes once. */
int pause_source_wait_once(struct loop *loop, struct pause_source *origin, struct err *err);

#endif
