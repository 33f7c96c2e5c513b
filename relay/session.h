/* One DAP client's session, with no transport: messages in, messages out. It finds the pause that
 * the client's `attach` names, takes its place in that pause's hub, and relays. Everything runs on
 * the loop's thread. */
#ifndef RAYDBG_RELAY_SESSION_H
#define RAYDBG_RELAY_SESSION_H

#include "relay/auth.h"
#include "relay/cluster.h"
#include "relay/hubs.h"
#include "relay/loop.h"
#include "relay/tickets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

/* What the command line says; an `attach` argument of the same name wins. All borrowed until
 * session_destroy(). */
struct session_options {
    struct loop *loop;
    const char *address;       /* --address, or NULL */
    const char *task;          /* TASK for an attach that names none, or NULL */
    const char *connect;       /* "HOST:PORT" of a debugpy adapter: no discovery; or NULL */
    struct cluster *cluster;   /* an already refreshed cluster to use, or NULL */
    const struct pause *pause; /* the pause to attach to, already chosen from it, or NULL */
    bool one_of_many;          /* its client has others, too, and looks at few of them */
    bool tune;                 /* false: --no-tune */
    bool kill;                 /* --kill: terminate and terminateDebuggee end the worker */

    /* A relay's session; with `hubs` NULL the session has a debuggee of its own, which goes on when
     * it ends, and the rest has no meaning. */
    struct hubs *hubs;
    const struct auth *auth; /* who may attach */
    enum auth_role role;     /* what the transport has verified; NONE: `attach` brings the token */
    const char *peer;        /* where from, for messages and the audit log */
    bool allow_connect;      /* `connect` in an attach is no way around the cluster */
    struct tickets *tickets; /* of all its sessions; NULL: none starts others */
};

struct session_ops {
    /* One whole DAP message for the client, without a header; borrowed for the call. */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* The session is over (disconnect was answered, or the stream was nonsense): the transport may
     * close once what on_message() gave is delivered. Called at most once. */
    void (*on_end)(void *arg);
    /* The rest may be NULL. */
    /* A message of `total` bytes that comes in parts; no other comes between. */
    void (*on_large)(void *arg, size_t total);
    void (*on_part)(void *arg, const char *bytes, size_t len);
    /* Read nothing from the client (or go on): its debuggee does not take more. */
    void (*on_flow)(void *arg, bool flows);
    /* The token in `attach` was right. */
    void (*on_role)(void *arg, enum auth_role role);
    /* One whole message, instead of on_message(), in two runs of bytes; for long ones. */
    void (*on_halves)(void *arg, const char *head, size_t head_len, const char *rest,
                      size_t rest_len);
    /* The debuggee's messages, instead of on_message(); see client_pass_fn. */
    void (*on_pass)(void *arg, const char *json, size_t len, const struct envelope *envelope,
                    int64_t request_seq);
    /* Another client asks what may change something in what this one is shown. */
    void (*on_disturbed)(void *arg);
    /* Something that an audit log wants: "attach", "evaluate", "refused"; `detail` may be "". */
    void (*on_act)(void *arg, const char *action, const char *detail);
};

struct session *session_create(const struct session_options *options, const struct session_ops *ops,
                               void *arg);

/* One message from the client. on_message() may run from within. */
void session_receive(struct session *session, const char *json, size_t len);

/* The client's byte stream is broken (a bad header): says so to the client, then ends. */
void session_broken(struct session *session, const char *problem);

/* The client is gone without a word; the pause is held if it is a relay's, else the task goes on,
 * as it does with debugpy itself. on_end() runs when the debuggee's side is done, too. */
void session_client_gone(struct session *session);

/* Ends it from the relay's side: the client is told why (a sentence's part) and that it is over,
 * the pause is held if its hub holds. The client's `disconnect` is still answered. */
void session_dismiss(struct session *session, const char *why);

/* True once session_broken() has run, also from session_receive() for what is no DAP message. */
bool session_is_broken(const struct session *session);

/* The client cannot take more for now, or can again. */
void session_flow(struct session *session, bool enable);

/* For lists: what it is attached to (NULL: nothing; of many, what the client looks at), how many
 * there are, whether it drives, who it says it is ("" if it has not). */
const struct pause *session_pause(const struct session *session);
size_t session_count(const struct session *session);
bool session_drives(const struct session *session);
const char *session_client_name(const struct session *session);

/* Leaves the hub without a word; no callback runs after. */
void session_destroy(struct session **session);

#endif
