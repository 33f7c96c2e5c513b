/* A session's step from a task into another that it calls, and back: the client keeps its one
 * session, in which a thread of the other task appears while the caller waits.
 *
 * Ray itself stops the callee as it begins, and the caller in ray.get()
 * (relay/session/remote_call.h). The session asks the cluster until that pause appears and attaches
 * to it with an inner session, whose client it is: requests go to the innermost task, and an offset
 * tells thread ids apart. The caller stays attached; when it stops while the callee runs, or the
 * callee is over, requests go to the caller again. */
#ifndef RAYDBG_RELAY_SESSION_REMOTE_STEP_H
#define RAYDBG_RELAY_SESSION_REMOTE_STEP_H

#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/hub/hub.h"

#include <stdbool.h>
#include <stddef.h>

struct session;
struct remote_step;

/* --- request handlers; the session has checked its refusals before --- */

/* `raydbg/stepIntoRemote`, `raydbg/stepOutToGet`: {"threadId"}. */
void remote_step_on_into(struct session *session, const char *json,
                         const struct envelope *envelope);
void remote_step_on_back(struct session *session, const char *json,
                         const struct envelope *envelope);
/* `stepIn`, which has both steps among its targets, and `stepInTargets`, which offers them. */
void remote_step_on_step_in(struct session *session, const char *json,
                            const struct envelope *envelope);
void remote_step_on_targets(struct session *session, const char *json,
                            const struct envelope *envelope);

/* --- messages on their way through the session --- */

/* True: the request was for the callee and has been passed to it. */
bool remote_step_request(struct session *session, const char *json, size_t len,
                         const struct envelope *envelope);
/* True: this event of the caller is withheld from the client. */
bool remote_step_event(struct session *session, const struct envelope *envelope);
/* True: the response answered a request of this file, or was passed on with our targets added. */
bool remote_step_response(struct session *session, const struct pending *pending, const char *json,
                          size_t len, const struct envelope *envelope);
/* True if a request without an answer is this file's own, and no client waits for it. */
bool remote_step_forgets(const struct pending *pending);
/* The session has answered a request of its client in place of the debuggee. */
void remote_step_note_ended(struct session *session, const struct pending *pending);

/* The callee's session, from its attach on; or NULL. */
const struct session *remote_step_callee(const struct session *session);
/* session_flow() of the callee's session, too. */
void remote_step_flow(const struct session *session, bool enable);
/* True if the callee does not read what the client sends. */
bool remote_step_stalls(const struct session *session);

/* --- the end --- */

/* The caller is gone: refuses the requests that wait for it. True: the session lives on, because
 * the callee does, or may still appear. */
bool remote_step_lost(struct session *session, const char *why);
/* The session's client leaves, or goes back to the caller of the session's task: refuses the
 * requests that wait for an answer to a request of the session's own, and takes the note back. */
void remote_step_give_up(struct session *session, const char *why);
/* The client leaves. */
void remote_step_leave(struct session *session, enum hub_leave how);
void remote_step_destroy(struct session *session);

#endif
