/* The closer: a small process that closes connections to debuggers when that does no harm, even if
 * this process dies.
 *
 * An adapter does not survive a client that goes at the wrong moment. It stops accepting for good
 * (the port takes connections and stays silent) if a connection ends before its greeting is out, or
 * while another one is being accepted. It ends (the port refuses) if a client is gone when the
 * adapter answers its `attach`, `configurationDone`, `disconnect` or `evaluate`. In both cases no
 * client can attach to that worker again. So the closer has a duplicate of each connection that no
 * keeper holds. When this process is done with one, or dies, the closer reads on until the greeting
 * has come and everything is answered, sends `disconnect`, and closes when the adapter has closed.
 * What is still being evaluated after half a second is given up (INJECT_GIVE_UP).
 *
 * Ray's legacy pdb fails its task if its only client goes before it is a debug adapter. So the
 * closer tells it to continue, and reads until it has closed.
 *
 * One per process; everything runs on the loop's thread. If the closer was not started, or has
 * died, no connection is guarded. */
#ifndef RAYDBG_RELAY_DEBUGGEE_CLOSER_H
#define RAYDBG_RELAY_DEBUGGEE_CLOSER_H

#include <stdbool.h>
#include <stddef.h>

/* Forks the closer; call it before any thread is started. A failure is logged. */
void closer_start(void);
/* Guards nothing more: the closer ends when it has closed the connections that it has. */
void closer_stop(void);

enum closer_peer { CLOSER_DEBUGPY, CLOSER_PDB };

/* Gives the closer a duplicate of the socket `fd`, which may not be connected yet. Returns a slot,
 * or -1. A pdb that has become an adapter needs no guard: closer_forget(). */
int closer_guard(int fd, enum closer_peer peer);
/* Notes how many requests of a slot (with debugpy) are unanswered, if the last message has left
 * only in part, and if the whole greeting has come. This is a store into shared memory, so it holds
 * if this process dies. */
void closer_note(int slot, size_t owed, bool torn, bool greeted);
/* The caller closes its descriptor and reads nothing more; the closer does the rest. */
void closer_close(int *slot);
/* Closes the duplicate at once: the peer has closed, or a keeper holds the connection. */
void closer_forget(int *slot);

#endif
