/* A session that has no debuggee of its own ("mode": "sessions"): for each pause that its `attach`
 * asks for it has its client start another session (DAP's startDebugging), which shows a ticket and
 * is attached to that pause.
 *
 *   a pause that matches ─▶ QUEUED ─▶ ASKED ─▶ JOINED ─▶ OVER      as long as it is held as it was
 *                             (at most maxSessions)  └──▶ DECLINED  no client was willing or able
 *
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_PARENT_H
#define RAYDBG_RELAY_PARENT_H

#include "dap/envelope.h"
#include "relay/session.h"

struct parent;
struct birth; /* a child's place with its parent */

/* NULL if a session can be a parent, else why not, for its user: what it asks for is to be shown as
 * threads then. */
const char *parent_obstacle(const struct session *session);

/* After an `attach` that asks for child sessions; it is answered when the client has sent
 * configurationDone. `session` outlives the parent. */
struct parent *parent_open(struct session *session, const char *json,
                           const struct envelope *attach);
void parent_destroy(struct parent **parent); /* as parent_leave() */

/* True if the request was answered; others are the session's own business. */
bool parent_request(struct parent *parent, const char *json, const struct envelope *request);

/* The client leaves, or is gone: no more children are started, those that there are end with a
 * `terminated`, and what they debug stays held. */
void parent_leave(struct parent *parent);

/* --- a child's side --- */

/* Takes the ticket of the child's `attach`: it gets its parent's role, but never more than its own
 * transport's, and `birth_pause()` is what it is to attach to. */
int parent_admit(struct session *child, struct err *err);
const struct pause *birth_pause(const struct birth *birth);
/* The child has ended. */
void parent_child_over(struct session *child);

#endif
