/* Watches whether the worker still runs the task, for a session that asked for it ("endWithTask"):
 * debugpy does not say, because a worker outlives its tasks. The cluster is asked while the task
 * runs. When the task has ended, the client is told and the session ends. An actor's session goes
 * on: the actor's next call is the same debugging. */
#ifndef RAYDBG_RELAY_SESSION_SESSION_WATCH_H
#define RAYDBG_RELAY_SESSION_SESSION_WATCH_H

#include "dap/envelope.h"
#include "dap/seqmap.h"

struct session;

/* Messages from the debuggee: after threads go on the cluster is asked, after a stop it is not. */
void session_watch_event(struct session *session, const struct envelope *event);
void session_watch_response(struct session *session, const struct pending *pending,
                            const struct envelope *response);
void session_watch_destroy(struct session *session);

#endif
