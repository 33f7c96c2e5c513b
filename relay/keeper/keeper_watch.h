/* Notices at once when a relay's keeper (relay/keeper/keeper.h) has died, and replaces it.
 * Repeats, each second, what a slow keeper could not be told.
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_WATCH_H
#define RAYDBG_RELAY_KEEPER_KEEPER_WATCH_H

#include "relay/io/loop.h"
#include "relay/keeper/keeper.h"

struct keeper_watch;

struct keeper_watch_ops {
    /* The keeper has died. Drop every struct kept (relay/keeper/keeper.h) within this call. */
    void (*on_lost)(void *arg);
    /* A new keeper has replaced the dead one: first call keeper_take_over(), then put every
     * connection again. `failed`: on_failed was called before. */
    void (*on_renewed)(void *arg, bool failed);
    /* The keeper did not take a connection, or refused it late, and may hold it now. */
    void (*on_missed)(void *arg);
    /* No keeper could be started. Called once; the watch tries again, and on_renewed follows when
     * that succeeds. */
    void (*on_failed)(void *arg, const struct err *err);
};

/* `keeper` is borrowed and must outlive the watch. */
struct keeper_watch *keeper_watch_start(struct loop *loop, struct keeper *keeper,
                                        const struct keeper_watch_ops *ops, void *arg);
void keeper_watch_stop(struct keeper_watch **watch);

#endif
