/* The inside of session_follow.h: session_follow.c (notes and the search), session_follow_targets.c
 * (what `stepIn` can go into), session_follow_callee.c (the session with the callee). */
#ifndef RAYDBG_RELAY_SESSION_FOLLOW_STATE_H
#define RAYDBG_RELAY_SESSION_FOLLOW_STATE_H

#include "relay/remote_call.h"
#include "relay/session_follow.h"
#include "relay/session_state.h"

enum follow_state {
    FOLLOW_NONE,
    FOLLOW_NOTING,    /* the caller is told to have the callee stopped */
    FOLLOW_SEARCHING, /* the caller runs; the callee's pause is waited for */
    FOLLOW_ENTERING,  /* a session with the callee is made; the client does not know yet */
    FOLLOW_INSIDE,    /* the client looks at the callee */
};

struct follow {
    struct session *session;
    enum follow_state state;

    /* a `stepInTargets` under way: the client's request, and what is added to its answer */
    int64_t targets_seq; /* 0: none */
    char *targets_request;
    char *targets_label;
    int64_t targets_frame;

    /* the step */
    enum remote_call_way way;
    char uuid[REMOTE_CALL_UUID];
    char task_id[ID_TEXT(ID_TASK_BYTES)]; /* that made the note */
    int64_t seq;                          /* the client's request, until it is answered; or 0 */
    char command[DAP_NAME_MAX];
    int64_t thread;      /* the caller's */
    struct timer *timer; /* of the search, or of what must not be done from within a callback */
    int64_t since_us;    /* that it searches */
    int64_t found_us;    /* that the callee is known, but for its name; or 0 */
    int64_t until_us;    /* when the search ends; 0: it does not */
    bool said;           /* that it takes a while */
    bool caller_gone;
    char *deferred; /* a `stopped` of the caller's, for when the callee is over; or NULL */

    /* the callee */
    struct pause callee;
    struct session *inner;
    int64_t base;  /* what its thread ids have on top of its own */
    int64_t steps; /* made to get out of Ray's own frames */
    char *arrival; /* its `stopped` meanwhile */
    int64_t *threads;
    size_t thread_count;
};

/* How long an answer of the caller's is waited for. */
enum { FOLLOW_ASK_MS = 3000 };

/* session_follow.c */
/* The session's, made where it has none. */
struct follow *follow_need(struct session *session);
/* Begins the step that the client's request asks for. */
void follow_begin(struct session *session, const char *json, const struct envelope *envelope,
                  enum remote_call_way way);
bool follow_integer(const char *json, struct span object, const char *name, int64_t *out);
/* The answer's `result`, or NULL; the caller frees. */
char *follow_result(const char *json, const struct envelope *envelope);
/* Asks for the newest frame of a caller's thread, and finds it in the answer. */
void follow_ask_top_frame(struct follow *follow, int64_t thread, link_answer_fn fn);
bool follow_top_frame(const char *json, const struct envelope *envelope, struct span *frame);
void follow_search(struct follow *follow, int64_t in_ms);
/* The callee's worker has died: Ray runs the task again, with the same note. */
void follow_retry(struct follow *follow);
/* Back to the caller: what is deferred is told, and the end of a session whose caller is gone. */
void follow_end(struct follow *follow);

/* session_follow_targets.c */
/* True: it was the answer to a `stepInTargets`, and has been passed on with what it lacked. */
bool follow_targets_response(struct session *session, const struct pending *pending,
                             const char *json, size_t len, const struct envelope *envelope);
/* The caller is gone: a `stepInTargets` under way is refused. */
void follow_targets_lost(struct follow *follow, const char *why);
void follow_targets_clear(struct follow *follow);

/* session_follow_callee.c */
void follow_enter(struct follow *follow, const struct pause *pause);
/* The client is told that the callee's threads are gone, and the session with it is destroyed. Not
 * from within its callbacks. */
void follow_drop_callee(struct follow *follow);
/* Sends it the client's request. */
void follow_pass_request(struct follow *follow, const char *json, size_t len,
                         const struct envelope *envelope);

#endif
