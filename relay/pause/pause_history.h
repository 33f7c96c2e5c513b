/* The pauses that a relay has held, and when each began and ended: the last PAUSE_HISTORY_MOST.
 * Times are ms since the epoch, by the clock of the process that notes them. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_HISTORY_H
#define RAYDBG_RELAY_PAUSE_PAUSE_HISTORY_H

#include "base/buf.h"
#include "relay/pause/pause.h"

enum { PAUSE_HISTORY_MOST = 1000 };

struct past_pause {
    struct pause pause;         /* as it was last seen while it lasted */
    int64_t began_ms, ended_ms; /* `ended_ms` 0: it goes on */
};

/* All zero is an empty history without memory. */
struct pause_history {
    struct past_pause *items; /* the pause number N is at (N - 1) % PAUSE_HISTORY_MOST */
    size_t room;
    int64_t count; /* of all pauses that have begun */
};

/* Takes over `pause`, and leaves it empty, as does pause_history_renew(). Returns the pause's
 * number, which is above 0. */
int64_t pause_history_begin(struct pause_history *history, struct pause *pause, int64_t now_ms);
/* More is known of the pause. Keeps the location of an earlier call where this one has none.
 * Changes nothing, like pause_history_end(), for a number that is 0 or has been forgotten. */
void pause_history_renew(struct pause_history *history, int64_t number, struct pause *pause);
void pause_history_end(struct pause_history *history, int64_t number, int64_t now_ms);
/* A JSON array, the oldest first: what pause_json() writes, with the members `began` and `ended` in
 * seconds since the epoch; `ended` null: it goes on. */
void pause_history_json(const struct pause_history *history, struct buf *out);
void pause_history_clear(struct pause_history *history); /* frees */

#endif
