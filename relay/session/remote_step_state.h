/* Internals of remote_step.h: remote_step.c (notes and the search), remote_step_targets.c
 * (`stepIn`'s targets), remote_step_callee.c (the session with the callee),
 * remote_step_breakpoints.c (breakpoints for both). */
#ifndef RAYDBG_RELAY_SESSION_REMOTE_STEP_STATE_H
#define RAYDBG_RELAY_SESSION_REMOTE_STEP_STATE_H

#include "base/invariant.h"
#include "relay/session/remote_call.h"
#include "relay/session/remote_step.h"
#include "relay/session/session_state.h"

enum remote_step_state {
    REMOTE_STEP_NONE,
    REMOTE_STEP_NOTING,    /* the caller is being asked to make the note */
    REMOTE_STEP_SEARCHING, /* the caller runs; the callee's pause has not appeared */
    REMOTE_STEP_ENTERING,  /* the callee's session attaches; the client does not know yet */
    REMOTE_STEP_INSIDE,    /* the client's requests go to the callee */
};

struct remote_step {
    uint32_t magic;
    struct session *session;
    enum remote_step_state state;

    /* a `stepInTargets` under way: the client's request, and what is added to its answer */
    struct open_request targets;
    char *targets_request; /* NULL: it was passed on */
    char *targets_label;
    int64_t targets_frame;

    /* the step */
    enum remote_call_way way;
    char uuid[REMOTE_CALL_UUID];
    char task_id[ID_TEXT(ID_TASK_BYTES)]; /* of the task that made the note */
    struct open_request request;          /* the client's, until it is answered */
    char command[DAP_NAME_MAX];
    int64_t thread;      /* the caller's */
    int64_t frame;       /* of the thread's, in which the note is made; 0: it is not known yet */
    struct timer *timer; /* of the search, or of work deferred out of a callback */
    int64_t since_us;    /* when the search began */
    int64_t found_us;    /* when the callee was found without its name; or 0 */
    int64_t until_us;    /* when the search ends; 0: it does not */
    bool said;           /* the user knows that the search takes a while */
    bool caller_gone;
    bool deferred; /* a `stopped` of the caller was kept from the client */
    bool pauses;   /* the client has asked for the caller's next stop */
    bool asks;     /* the caller is asked whether the note was used */
    bool unsaid;   /* the search has ended meanwhile: the answer says what to tell the user */

    /* the callee */
    struct pause callee;
    struct session *inner;
    bool stalled;    /* it does not read */
    int64_t base;    /* the offset of the callee's thread ids */
    int64_t steps;   /* steps made to leave Ray's own frames */
    bool configured; /* the callee has the breakpoints that were set before */
    char *arrival;   /* the callee's last `stopped` before the client is told; or NULL */
    int64_t *threads;
    size_t thread_count;

    struct remote_step_set *sets; /* set requests that caller and callee have not both answered */
};
INVARIANT_MAGIC(remote_step, 0x3ac79e51)
#define remote_step_checked(object) remote_step_checked_at(INVARIANT_HERE, object)

/* The time that the caller has for an answer. */
enum { REMOTE_STEP_ASK_MS = 15000 };

/* remote_step.c */
/* The session's `remote_step`, created if it has none. */
struct remote_step *remote_step_need(struct session *session);
/* Begins the step that the client's request asks for. */
void remote_step_begin(struct session *session, const char *json, const struct envelope *envelope,
                       enum remote_call_way way);
void remote_step_search(struct remote_step *step, int64_t in_ms);
/* The callee's worker has died: searches again, because Ray reruns the task with the same note. */
void remote_step_retry(struct remote_step *step);
/* True if the caller stands at a stop of which the client has not been told. */
bool remote_step_withholds(const struct remote_step *step);
/* Returns to the caller: sends the client the stops that were withheld; if the caller is gone, ends
 * the session. */
void remote_step_end(struct remote_step *step);

/* remote_step_targets.c */
/* Asks for the newest frame of one of the caller's threads; remote_step_top_frame() reads the
 * answer. */
void remote_step_ask_top_frame(struct remote_step *step, int64_t thread, link_answer_fn fn);
bool remote_step_top_frame(const char *json, const struct envelope *envelope, struct span *frame);
/* True: it was the answer to a `stepInTargets`, and has been passed on with our targets added. */
bool remote_step_targets_response(struct session *session, const struct pending *pending,
                                  const char *json, size_t len, const struct envelope *envelope);
/* The caller is gone: refuses a `stepInTargets` under way. */
void remote_step_targets_lost(struct remote_step *step, const char *why);
/* Refuses it unless the caller has it already. */
void remote_step_targets_give_up(struct remote_step *step, const char *why);
/* The session has answered this request. */
void remote_step_targets_note_ended(struct remote_step *step, const struct pending *pending);
void remote_step_targets_clear(struct remote_step *step);

/* remote_step_callee.c */
void remote_step_enter(struct remote_step *step, const struct pause *pause);
/* Tells the client that the callee's threads have exited, and destroys the session with the callee.
 * Must not run from within that session's callbacks. */
void remote_step_drop_callee(struct remote_step *step);
/* Sends the callee the client's request. */
void remote_step_pass_request(struct remote_step *step, const char *json, size_t len,
                              const struct envelope *envelope);
/* Sends a set request to the callee that is being entered. The client does not see its answer: the
 * caller answers the client. */
void remote_step_pass_set(struct remote_step *step, const char *json,
                          const struct envelope *envelope);

/* remote_step_breakpoints.c */
/* Sends the caller a set request that the callee gets, too. */
void remote_step_set_in_caller(struct remote_step *step, const char *json, size_t len,
                               const struct envelope *envelope);
/* True: the callee's answer is kept until the caller has answered, or remote_step_sets_give_up().
 */
bool remote_step_set_waits(struct remote_step *step, const char *json, size_t len,
                           const struct envelope *envelope);
/* Stops waiting for the caller's answers: the client gets the callee's that are kept. */
void remote_step_sets_give_up(struct remote_step *step);
void remote_step_sets_clear(struct remote_step *step);

#endif
