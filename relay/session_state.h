/* A session's inside, for the files that make it up: session.c (requests), session_attach.c (from
 * `initialize` to `configurationDone`), session_leave.c (its end), session_debuggee.c (what comes
 * from the hub), and session_objects.h. */
#ifndef RAYDBG_RELAY_SESSION_STATE_H
#define RAYDBG_RELAY_SESSION_STATE_H

#include "dap/envelope.h"
#include "relay/asks.h"
#include "relay/attach_arguments.h"
#include "relay/client.h"
#include "relay/fate.h"
#include "relay/finder.h"
#include "relay/session.h"

struct follow;
struct multi;
struct parent;
struct birth;

/* Every request gets exactly one response: at once, when debuggee answers, or when it is known that
 * it never will. The two that wait for something else are kept here by their seq. */
struct session {
    struct session_options options;
    const struct session_ops *ops;
    void *arg;
    struct client client;
    bool initialized;
    char *initialize;  /* the client's arguments, until it is attached */
    char *client_name; /* from them, or NULL */
    struct attach_arguments attach;
    int64_t attach_us;      /* when `attach` came */
    int64_t attach_seq;     /* an `attach` that is not answered yet, or 0 */
    int64_t disconnect_seq; /* the same for `disconnect` */
    struct finder *finder;
    struct pause pause; /* what the session is about; with a host once it was found */
    struct member place;
    const char *initialize_words, *attach_words; /* the client's arguments, interned; or NULL */
    struct follow *follow; /* NULL until a step into a remote task (relay/session_follow.h) */
    int64_t base;          /* of its thread ids: what its client adds to them; 0 but for a callee */
    int64_t own_bases, *bases; /* the last that was given away: this session's, or its client's */
    struct hub *own;           /* without a relay: its only client is this session */
    enum auth_role role;
    bool leaving;    /* somebody asked for the end */
    bool terminated; /* the client had its `terminated` event */
    bool ended;
    bool broken; /* the client's stream was nonsense */
    bool lost;   /* the debuggee is gone unasked; `why_lost` says why once it is known */
    bool died;   /* nobody said why it is gone: the worker is */
    bool halted; /* session_flow(false) */
    struct fate *fate;
    char *why_lost;
    bool takes_invalidated;                  /* the client's supportsInvalidatedEvent */
    bool starts_sessions;                    /* its supportsStartDebuggingRequest */
    struct asks asks;                        /* what the client was asked */
    struct multi *multi;                     /* it has many debuggees, or NULL */
    struct parent *parent;                   /* it starts others and has no debuggee, or NULL */
    struct birth *birth;                     /* with the parent that started it, or NULL */
    struct session_objects *objects;         /* NULL until the client looks at variables */
    struct cluster_objects *cluster_objects; /* NULL until the client asks for them */
};

/* session.c */
void session_end(struct session *session);
void session_send_terminated(struct session *session);
void session_fail_attach(struct session *session, const struct err *err);
bool session_attached(const struct session *session);
void session_act(struct session *session, const char *action, const char *detail);
/* Somebody else does what may change something (session_ops.on_disturbed). */
void session_disturbed(const struct session *session);

/* session_attach.c: handlers of requests */
void session_on_initialize(struct session *session, const char *json,
                           const struct envelope *envelope);
void session_on_attach(struct session *session, const char *json, const struct envelope *envelope);
void session_on_configuration_done(struct session *session, const char *json,
                                   const struct envelope *envelope);

/* session_leave.c */
void session_on_disconnect(struct session *session, const char *json,
                           const struct envelope *envelope);
void session_on_terminate(struct session *session, const char *json,
                          const struct envelope *envelope);
/* The multi has left all its debuggees. */
void session_left(struct session *session);

/* session_debuggee.c */
extern const struct member_ops session_member_ops;
void session_finish_leaving(struct session *session);

#endif
