/* The inside of a target, for its files: target.c (life, states, the link's callbacks),
 * target_attach.c (from the open connection to ready, or to on_failed) and target_leave.c. */
#ifndef RAYDBG_RELAY_DEBUGGEE_TARGET_STATE_H
#define RAYDBG_RELAY_DEBUGGEE_TARGET_STATE_H

#include "base/invariant.h"
#include "relay/debuggee/target.h"
#include "relay/stack/stopped_threads.h"

struct target {
    uint32_t magic;
    struct loop *loop;
    struct link *link;
    const struct target_ops *ops;
    void *arg;
    enum target_state state;
    char *host;
    uint16_t port;
    char *initialize, *attach, *capabilities;
    size_t capabilities_len;
    struct stopped_threads stopped;
    struct stopped_threads stepping; /* threads that a client stepped, until they stop */
    struct timer *timer;             /* the time limit of the handshake, or of leaving */
    struct timer *again;             /* the next attempt to attach, or to leave */
    int tries;
    int waits; /* for answers, before leaving */
    struct target_facts facts;
    int waiting; /* see target_waiting() */
    bool deaf;   /* it did not answer target_leave() */
    bool let_go; /* it has answered that: the task goes on */
    bool pdb, tune, sub_process, reverse;
    bool greeted; /* the adapter has said something */
    bool begun;   /* `initialized` has come on this connection */
    bool patient; /* the handshake takes long, and BUSY_MS is its limit */
    bool halted;  /* target_read_enable(…, false) */
};
INVARIANT_MAGIC(target, 0xabe3d015)
#define target_checked(object) target_checked_at(INVARIANT_HERE, object)

/* target.c */
/* Changes the state; the table there must allow the move. */
void target_move_at(struct invariant_location location, struct target *target,
                    enum target_state next);
#define target_move(target, next) target_move_at(INVARIANT_HERE, target, next)
/* Connects; the target must have no link. */
void target_open_link(struct target *target);

/* target_attach.c */
/* The link's on_open, with the target: starts the handshake. */
void target_on_link_open(void *arg);
/* The adapter's `initialized` event, in any state: an attaching target injects, then is ready. */
void target_initialized_event(struct target *target);
/* The link closed before the target was ready: calls on_failed. */
void target_connection_failed(struct target *target, const char *why);

#endif
