/* A session's way from a task into another that it calls, and back: one session for the client, in
 * which a thread of the other task appears while the caller waits.
 *
 * Ray itself stops the callee as it begins, and the caller in ray.get() (relay/remote_call.h). The
 * session waits until the cluster tells of that pause and attaches to it with a session of its own,
 * whose client it is: requests go to the innermost task, thread ids are told apart by an offset.
 * The caller stays attached; when it stops while the callee runs, or the callee is over, the
 * session is the caller's again. */
#ifndef RAYDBG_RELAY_SESSION_FOLLOW_H
#define RAYDBG_RELAY_SESSION_FOLLOW_H

#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/hub.h"

#include <stdbool.h>
#include <stddef.h>

struct session;
struct follow;

/* --- handlers of the session's; their refusals have been looked at --- */

/* `raydbg/stepIntoRemote`, `raydbg/stepOutToGet`: {"threadId"}. */
void session_follow_on_into(struct session *session, const char *json,
                            const struct envelope *envelope);
void session_follow_on_back(struct session *session, const char *json,
                            const struct envelope *envelope);
/* `stepIn`, of which some targets are the same, and `stepInTargets`, which offers them. */
void session_follow_on_step_in(struct session *session, const char *json,
                               const struct envelope *envelope);
void session_follow_on_targets(struct session *session, const char *json,
                               const struct envelope *envelope);

/* --- what passes by --- */

/* True: the request was for the callee, and is with it. */
bool session_follow_request(struct session *session, const char *json, size_t len,
                            const struct envelope *envelope);
/* True: this event of the caller's is not for the client now. */
bool session_follow_event(struct session *session, const char *json, size_t len,
                          const struct envelope *envelope);
/* True: the response was to a request of this file's, or has been passed on with what it lacked. */
bool session_follow_response(struct session *session, const struct pending *pending,
                             const char *json, size_t len, const struct envelope *envelope);
/* Whether a request that the debuggee will not answer any more is one of this file's. */
bool session_follow_forgets(const struct pending *pending);

/* --- the end --- */

/* The caller is gone: requests that wait for it are refused. True: the session lives on, for the
 * callee does, or may turn up. */
bool session_follow_lost(struct session *session, const char *why);
/* The client leaves. */
void session_follow_leave(struct session *session, enum hub_leave how);
void session_follow_destroy(struct session *session);

#endif
