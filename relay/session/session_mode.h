/* The modes of a session that is not one client's with one debuggee: a session over many debuggees,
 * or one that starts other sessions. A mode is built on sessions; a session knows its mode by these
 * tables only. All calls are on the loop's thread. */
#ifndef RAYDBG_RELAY_SESSION_SESSION_MODE_H
#define RAYDBG_RELAY_SESSION_SESSION_MODE_H

#include "dap/envelope.h"
#include "relay/client/client.h"
#include "relay/client/reverse_requests.h"
#include "relay/session/attach_arguments.h"
#include "relay/session/pause_finder.h"
#include "relay/session/session.h"

struct session_mode_ops {
    /* About leave(). True: session_left() follows, perhaps from within leave(). False: leaving is
     * done when leave() returns. */
    bool leaves_later;
    /* A request that the rules let through, except initialize, attach, cancel, disconnect,
     * terminate and raydbg/clusterObjects, which the session answers. Each gets one response. */
    void (*request)(void *mode, const char *json, size_t len, const struct envelope *request);
    /* The client leaves, or is gone. */
    void (*leave)(void *mode, enum hub_leave how);
    /* True if the attach has failed, or all is left: another attach may come. */
    bool (*is_over)(const void *mode);
    /* Called by session_flow(), session_pause(), session_count() and session_drives(). */
    void (*flow)(void *mode, bool enable);
    const struct pause *(*pause)(const void *mode);
    size_t (*count)(const void *mode);
    bool (*drives)(const void *mode);
    void (*destroy)(void *mode);
};

struct session_modes {
    /* Called after an `attach` whose arguments are read and whose client may attach. NULL: this
     * attach is about one debuggee. The mode answers the attach; `session` outlives it. */
    void *(*open)(struct session *session, const char *json, const struct envelope *attach,
                  const struct session_mode_ops **ops);
};

/* --- functions for modes --- */

struct client *session_client(struct session *session);
const struct session_options *session_options(const struct session *session);
const struct attach_arguments *session_attach_arguments(const struct session *session);
const char *session_initialize_arguments(const struct session *session); /* "" for none */
enum auth_role session_role(const struct session *session);
bool session_takes_role(const struct session *session);      /* its client wants raydbg/role */
bool session_starts_sessions(const struct session *session); /* supportsStartDebuggingRequest */
struct reverse_requests *session_asks(struct session *session);
struct pause_finder *session_finder(struct session *session);

bool session_attach_is_open(const struct session *session); /* not answered yet */
/* Sends `initialized`. The requests that came behind `attach` are handled after it, in order. */
void session_send_initialized(struct session *session);
void session_attach_succeeded(struct session *session);
void session_fail_attach(struct session *session, const struct err *err);
void session_send_terminated(struct session *session);
/* The mode has left all its debuggees. */
void session_left(struct session *session);
/* See session_ops.on_act and on_disturbed. */
void session_act(struct session *session, const char *action, const char *detail);
void session_disturbed(const struct session *session);
/* The child's bearer (session_admission) is gone: the child does not call over(). */
void session_forget_bearer(struct session *child);

#endif
