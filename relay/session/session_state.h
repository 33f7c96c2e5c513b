/* Internals of a session, for the files that make it up: session.c (requests), session_attach.c
 * (from `initialize` to `configurationDone`), session_leave.c (its end), session_hub.c (callbacks
 * from the hub), session_mode.c (for its mode), and variables.h. */
#ifndef RAYDBG_RELAY_SESSION_SESSION_STATE_H
#define RAYDBG_RELAY_SESSION_SESSION_STATE_H

#include "base/invariant.h"
#include "dap/envelope.h"
#include "relay/client/client.h"
#include "relay/client/path_view.h"
#include "relay/client/reverse_requests.h"
#include "relay/cluster/death_cause.h"
#include "relay/session/attach_arguments.h"
#include "relay/session/pause_finder.h"
#include "relay/session/session.h"
#include "relay/session/session_mode.h"
#include "relay/variables/variables_context.h"

struct remote_step;
struct held_request;
struct task_watch;

/* In order: a session past SESSION_READY has no debuggee to ask. */
enum session_state {
    SESSION_NEW,     /* before `initialize` */
    SESSION_READY,   /* from there on, attached or not */
    SESSION_LOST,    /* the debuggee is gone without a request; `why_lost`: why, once it is known */
    SESSION_LEAVING, /* the end was requested */
    SESSION_ENDED,
};

/* Requests behind an attach that still goes on, in their order. */
struct held_requests {
    struct held_request *first, *last;
    size_t bytes;
    struct timer *timer; /* hands on the first */
    bool handing_on;     /* the request that comes next is the first: it is not held again */
};

/* Every request gets exactly one response: at once, when the debuggee answers, or when it is known
 * that it never will. An `attach` and a `disconnect` wait for more: their seqs are kept here. */
struct session {
    uint32_t magic;
    enum session_state state;
    struct session_options options;
    const struct session_ops *ops;
    void *arg;
    struct client client;
    char *initialize;  /* the client's arguments, until it is attached */
    char *client_name; /* from them, or NULL */
    struct attach_arguments attach;
    int64_t attach_us; /* when `attach` came */
    struct open_request attach_request, disconnect_request, release_request;
    struct held_requests held;
    struct pause_finder *finder;
    struct pause pause; /* the pause to debug; its host is known once it was found */
    struct member member;
    struct path_view paths; /* the client's, where they are not the debugger's */
    const char *initialize_words, *attach_words; /* the client's arguments, interned; or NULL */
    struct remote_step
        *remote_step; /* NULL until a step into a remote task (relay/session/remote_step.h) */
    const struct session *caller; /* the one whose step has entered this one; or NULL */
    int64_t base;                 /* its client's offset on its thread ids; 0 except for a callee */
    int64_t own_bases, *bases; /* counts callee offsets: its own; its client's counter, or NULL */
    struct hub *own;           /* without a relay: its only client is this session */
    enum auth_role role;
    /* Of the client. */
    bool takes_invalidated; /* its supportsInvalidatedEvent */
    bool takes_role;        /* it wants the event raydbg/role */
    bool starts_sessions;   /* its supportsStartDebuggingRequest */
    bool initialized;       /* it had the `initialized` event of its attach */
    bool terminated;        /* it had its `terminated` event */
    bool broken;            /* its stream was not DAP */
    bool halted;            /* session_flow(false) */
    bool releases_by_line;  /* `release_request` is an `evaluate` */
    bool goes_on;           /* it leaves so that the task goes on: said when that is known */
    bool raised;            /* it leaves where an exception has stopped the task */
    /* Of the debuggee. */
    bool died;      /* it is gone without a reason: its worker has died */
    bool stalled;   /* it does not read */
    bool task_over; /* the watch has seen the task's end */
    bool rank_asked;
    struct death_cause *death_cause;
    int64_t verb_thread;      /* of the last step by a verb (relay/session/session_verbs.h) */
    struct task_watch *watch; /* NULL until the task runs (relay/session/session_watch.h) */
    char *why_lost;
    char *rank;                   /* "3", or NULL (relay/session/session_rank.h) */
    struct reverse_requests asks; /* requests that the client has not answered */
    void *mode;                   /* NULL: it has one debuggee */
    const struct session_mode_ops *mode_ops;
    void *bearer;                       /* the bearer of its ticket (options.admission), or NULL */
    const struct pause *admitted;       /* the pause that the ticket is for, or NULL */
    struct variables_context variables; /* use session_variables() */
};
INVARIANT_MAGIC(session, 0x097f03f7)
#define session_checked(object) session_checked_at(INVARIANT_HERE, object)

/* session_mode.c */
void session_close_mode(struct session *session); /* nothing happens if it has none */

/* session.c */
void session_move_at(struct invariant_location location, struct session *session,
                     enum session_state next);
#define session_move(session, next) session_move_at(INVARIANT_HERE, session, next)
void session_end(struct session *session);
/* Tells the bearer of the session's ticket, if it has one, that this session is over for it. */
void session_end_admission(struct session *session);
bool session_attached(const struct session *session);
/* The context for variables.h and cluster_objects.h, made from the session's present state. */
struct variables_context *session_variables(struct session *session);

/* True if the client's exception filters are sent with `uncaught` added. pdb's post mortem needs no
 * filters; a process that has dialled the relay is not in one. */
static inline bool session_adds_uncaught(const struct session *session)
{
    return session->pause.debugger != PAUSE_PDB && session->pause.debugger != PAUSE_PYDEVD;
}

#define SESSION_OBSERVES "this session observes: another client drives"
/* Makes the session the driver. NULL, or why it cannot drive. */
const char *session_take_over(struct session *session);

/* session_attach.c: handlers of requests */
void session_on_initialize(struct session *session, const char *json,
                           const struct envelope *envelope);
void session_on_attach(struct session *session, const char *json, const struct envelope *envelope);
void session_on_configuration_done(struct session *session, const char *json,
                                   const struct envelope *envelope);
/* Holds a request that came right behind `attach`: it is handled when the attach has succeeded,
 * with `initialized`, or has failed. False if the request is to be handled now. */
bool session_hold_request(struct session *session, const char *json, size_t len,
                          const struct envelope *envelope);
/* Refuses the requests that are held. */
void session_refuse_held(struct session *session, const char *why);
void session_drop_held(struct session *session); /* without an answer */
void session_hand_on_held(struct session *session);

/* session_leave.c */
void session_on_disconnect(struct session *session, const char *json,
                           const struct envelope *envelope);
void session_on_terminate(struct session *session, const char *json,
                          const struct envelope *envelope);
/* Lets the task go, for all its clients, at the client's `raydbg/release` or `evaluate`, which is
 * answered when it is known that the task goes on, or why not. */
void session_release(struct session *session, const struct envelope *request);
void session_answer_release(struct session *session, const char *why_not);

/* session_hub.c */
/* Tells the owner whether to read the client: not while its debuggee, or one that it has stepped
 * into, does not read. */
void session_tell_flow(const struct session *session);
/* Translates a request's paths into the debugger's, those of a response or an event into the
 * client's; false if nothing changes. */
bool session_map_paths(const struct session *session, const char *json, size_t len,
                       const struct envelope *envelope, struct buf *out, struct envelope *again);
extern const struct member_ops session_member_ops;
void session_finish_leaving(struct session *session);
/* Tells the client that the task that it leaves goes on. */
void session_say_goes_on(struct session *session);
/* Refuses the client's requests that the debuggee will not answer any more. */
void session_refuse_pending(struct session *session, const char *why);
/* The same where the debuggee is a remote task that has ended, and the client is with its caller:
 * what lets a thread run has done so, to the task's end. */
void session_end_callee(struct session *session);

#endif
