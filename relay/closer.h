/* The closer: a small process that closes connections to debuggers when they can be closed,
 * whatever happens to this one.
 *
 * An adapter does not survive a client that goes at the wrong moment. It stops accepting for good
 * (the port takes connections and says nothing) if a connection ends before its greeting is out, or
 * while another one is being accepted; it ends (the port refuses) if a client is gone when an
 * `attach`, `configurationDone`, `disconnect` or `evaluate` of its is answered. In both cases
 * nobody ever attaches to that worker again. So the closer has a duplicate of each connection that
 * no keeper holds. When this process is done with one, or dies, it reads on until the greeting has
 * come and everything is answered, says `disconnect`, and closes when the adapter has.
 *
 * Ray's legacy pdb fails its task if its only client goes before it is a debug adapter. So the
 * closer tells it to continue, and reads until it has closed.
 *
 * One per process; everything runs on the loop's thread. Where it was not started, or has died,
 * nothing is guarded. */
#ifndef RAYDBG_RELAY_CLOSER_H
#define RAYDBG_RELAY_CLOSER_H

#include <stdbool.h>
#include <stddef.h>

/* Forks it off; call before any thread is started. A failure is logged. */
void closer_start(void);
/* Nothing more will be guarded: it ends when it has closed what it has. */
void closer_stop(void);

enum closer_peer { CLOSER_DEBUGPY, CLOSER_PDB };

/* Hands it a duplicate of the socket `fd`, which may not be connected yet: a place, or -1. A pdb
 * that has become an adapter needs none: closer_forget(). */
int closer_guard(int fd, enum closer_peer peer);
/* How many requests of a place, a debugpy's, are unanswered, and whether the last message has left
 * only in part. A store into shared memory: it counts if this process dies. */
void closer_note(int place, size_t owed, bool torn);
/* The caller closes its descriptor, reads nothing more, and the closer does the rest. */
void closer_close(int *place);
/* The peer has closed, or somebody else has a hand on it: the duplicate is closed at once. */
void closer_forget(int *place);

#endif
