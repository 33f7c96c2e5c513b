/* The changes from one list of pauses to the next, for the relay's /events and for
 * `raydbg list --watch`. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_CHANGE_H
#define RAYDBG_RELAY_PAUSE_PAUSE_CHANGE_H

#include "base/buf.h"
#include "relay/pause/pause.h"

enum pause_change { PAUSE_REMOVED, PAUSE_ADDED, PAUSE_CHANGED };

/* "removed", "added", "changed": the `event` of a JSON line. */
const char *pause_change_name(enum pause_change change);

/* `pause` is from the old list if it is removed, else from the new one. */
typedef void (*pause_change_fn)(void *arg, enum pause_change change, const struct pause *pause);

/* Calls fn for each difference, removed pauses first. Pauses with the same `json` do not differ. */
void pause_change_each(const struct pause_list *before, const struct pause_list *after,
                       void (*json)(const struct pause *pause, struct buf *out), pause_change_fn fn,
                       void *arg);

#endif
