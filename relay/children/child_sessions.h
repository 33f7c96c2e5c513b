/* A session without a debuggee of its own ("mode": "sessions"): for each pause that its `attach`
 * asks for it has its client start another session (DAP's startDebugging), which shows a ticket and
 * is attached to that pause.
 *
 *   a pause that matches ─▶ QUEUED ─▶ ASKED ─▶ JOINED ─▶ OVER      until the pause waits again
 *                             (at most maxSessions)  └──▶ DECLINED  no client was willing or able
 *
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_CHILDREN_CHILD_SESSIONS_H
#define RAYDBG_RELAY_CHILDREN_CHILD_SESSIONS_H

#include "relay/session/session_mode.h"

struct child_sessions;
struct tickets;

/* NULL if a session can be a parent, else why not, for its user, who gets the tasks as threads. */
const char *child_sessions_obstacle(const struct session *session);

/* The mode of such a session. leave() starts no more children and ends the present ones with a
 * `terminated`; the tasks that they debug stay held. */
extern const struct session_mode_ops child_sessions_mode_ops;

/* Called after an `attach` that asks for child sessions; it is answered when the client has sent
 * configurationDone. `session` outlives the parent. */
struct child_sessions *child_sessions_open(struct session *session, const char *json,
                                           const struct envelope *attach);

/* For session_options.admission of all sessions of a relay, parents and children: a child gets its
 * parent's role, but never more than its own transport's. `tickets` is borrowed. */
struct session_admission child_sessions_admission(struct tickets *tickets);

#endif
