/* One DAP client's session, without a transport: messages in, messages out. It finds the pause that
 * the client's `attach` names, joins its hub, and relays. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_SESSION_SESSION_H
#define RAYDBG_RELAY_SESSION_SESSION_H

#include "relay/access/auth.h"
#include "relay/cluster/cluster.h"
#include "relay/hub/hub_table.h"
#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;
struct session_modes; /* relay/session/session_mode.h */

/* Admits sessions that show a ticket, which another session of this relay has issued for them. */
struct session_admission {
    /* Gives the bearer of a valid ticket; *pause is the pause to attach to, borrowed until over()
     * or session_forget_bearer(), *role the child's role. NULL with `err` for an invalid ticket. */
    void *(*admit)(void *arg, const char *ticket, struct session *child, const struct pause **pause,
                   enum auth_role *role, struct err *err);
    /* The child has ended. */
    void (*over)(void *bearer, bool was_attached);
    void *arg;
};

/* The processes that a `raydbg run` has started, for a session about one run; `run` is the id that
 * its attach names. */
struct session_runs {
    bool (*has)(void *arg, const char *run, const struct pause *pause);
    /* Sets breakpoints in all processes of the run, present and future, in place of the owner's
     * earlier ones for the source: the arguments of setBreakpoints. */
    void (*set)(void *arg, const void *owner, const char *run, const char *json,
                struct span arguments);
    /* Appends the body of the response to that as it would be now; false if it was not taken. */
    bool (*body)(void *arg, const void *owner, const char *file, struct buf *out);
    /* Sets if a task of the run stops when it fails, for this owner. */
    void (*stop_failures)(void *arg, const void *owner, const char *run, bool stop);
    /* The owner's session ends. */
    void (*drop)(void *arg, const void *owner, const char *run);
    void *arg;
};

/* The command line's settings; an `attach` argument of the same name wins. All borrowed until
 * session_destroy(). */
struct session_options {
    struct loop *loop;
    const char *address;               /* --address, or NULL */
    const char *task;                  /* TASK for an attach that names none, or NULL */
    const char *connect;               /* "HOST:PORT" of a debugpy adapter: no discovery; or NULL */
    struct cluster *cluster;           /* an already refreshed cluster to use, or NULL */
    const struct pause *pause;         /* the pause to attach to, already chosen from it, or NULL */
    const struct session_modes *modes; /* NULL: one debuggee, whatever `attach` says */
    bool one_of_many;                  /* its client is a session over many, looks at few of them */
    bool tune;                         /* false: --no-tune */
    bool kill;                         /* --kill: terminate and terminateDebuggee end the worker */

    /* A relay's session. With `hubs` NULL the session has a debuggee of its own, which goes on when
     * the session ends, and the other members have no meaning. */
    bool allow_connect;  /* --allow-connect: an attach may name any adapter by `connect` */
    enum auth_role role; /* verified by the transport; NONE: `attach` brings the token */
    struct hub_table *hubs;
    const struct auth *auth; /* checks the token of an `attach` */
    const char *peer;        /* the client's address, for messages and the audit log */
    const struct session_admission *admission; /* NULL: no ticket is valid */
    const struct session_runs *runs;           /* NULL: no attach may name a run */
};

struct session_ops {
    /* One whole DAP message for the client, without a header; borrowed for the call. */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* The session is over (disconnect was answered, or the stream was nonsense): the transport may
     * close once what on_message() gave is delivered. Called at most once. */
    void (*on_end)(void *arg);
    /* The callbacks below may be NULL. */
    /* A message of `total` bytes that comes in parts; no other message comes between them. */
    void (*on_large)(void *arg, size_t total);
    void (*on_part)(void *arg, const char *bytes, size_t len);
    /* Stop reading from the client (or go on): its debuggee does not take more. */
    void (*on_flow)(void *arg, bool flows);
    /* The token or ticket in `attach` gave the client this role. */
    void (*on_role)(void *arg, enum auth_role role);
    /* One whole message in two runs of bytes, instead of on_message(); for long ones. */
    void (*on_halves)(void *arg, const char *head, size_t head_len, const char *rest,
                      size_t rest_len);
    /* The debuggee's messages, instead of on_message(); see client_pass_fn. */
    void (*on_pass)(void *arg, const char *json, size_t len, const struct envelope *envelope,
                    int64_t request_seq);
    /* Another client sends a request that may change something in what this client is shown. */
    void (*on_disturbed)(void *arg);
    /* An action for an audit log: "attach", "evaluate", "refused"; `detail` may be "". */
    void (*on_act)(void *arg, const char *action, const char *detail);
};

struct session *session_create(const struct session_options *options, const struct session_ops *ops,
                               void *arg);

/* One message from the client. on_message() may run from within. */
void session_receive(struct session *session, const char *json, size_t len);

/* The client's byte stream is broken (a bad header): tells the client so, then ends the session. */
void session_broken(struct session *session, const char *problem);

/* The client is gone without a `disconnect`. The pause is held if its hub holds, unless the attach
 * said "onDisconnect": "continue"; else the task goes on, as with debugpy itself. on_end() runs
 * when the debuggee's side is done, too. */
void session_client_gone(struct session *session);

/* Ends the session from the relay's side: tells the client why (part of a sentence) and that it is
 * over. The pause is held if its hub holds. The client's `disconnect` is still answered. */
void session_dismiss(struct session *session, const char *why);

/* True once session_broken() has run; session_receive() runs it, too, if the message is not DAP. */
bool session_is_broken(const struct session *session);

/* False: the client cannot take more for now. True: it can again. */
void session_flow(struct session *session, bool enable);

/* True if session_flow(false) stops some, or all, of the debuggees that send to the client: those
 * that this session drives. A remote task that it has stepped into is a debuggee of its own. Both
 * are true before it is attached. */
bool session_stops_some(const struct session *session);
bool session_stops_all(const struct session *session);

/* For lists: the pause that the session is attached to (NULL: none; of many, the one that the
 * client looks at), the number of its pauses, whether it drives, and its client's name, or "". */
const struct pause *session_pause(const struct session *session);
size_t session_count(const struct session *session);
/* How many threads are paused in the worker to which an inner session of many has attached. */
int64_t session_paused_threads(const struct session *session);
bool session_drives(const struct session *session);
const char *session_client_name(const struct session *session);

/* Leaves the hub without a goodbye; no callback runs after. */
void session_destroy(struct session **session);

#endif
