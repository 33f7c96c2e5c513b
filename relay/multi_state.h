/* A multi's inside, for the files that make it up: multi.c (life: finding, joining, leaving),
 * multi_target.c (one debuggee, as its inner session's client), multi_threads.c (the threads that
 * the client sees, and when it is told of stops), multi_requests.c (where requests go),
 * multi_sets.c (breakpoints of all), and the groups: multi_verbs.c and what it uses. */
#ifndef RAYDBG_RELAY_MULTI_STATE_H
#define RAYDBG_RELAY_MULTI_STATE_H

#include "base/buf.h"
#include "dap/id_rewrite.h"
#include "dap/idmap.h"
#include "dap/seqmap.h"
#include "relay/multi.h"
#include "relay/session_state.h"

struct multi_target;
struct multi_verbs; /* groups, barriers, what is under way */
struct multi_sets;

/* A thread that has stopped at least once; others are not shown. */
struct multi_thread {
    int64_t id;  /* the client's */
    int64_t own; /* the debuggee's */
    char *name;  /* "rank 3 Trainer.step node-2 pid 811" */
    bool stopped;
    bool told;           /* the client knows of this stop */
    char reason[32];     /* DAP's word, of the last stop */
    char *stopped_event; /* of this stop as the debuggee sent it (its own ids), or NULL */
    char *stack;         /* this stop's stackTrace response, the debuggee's own ids, or NULL */
    size_t stack_len;
    int64_t stops; /* how many there were */
};

enum multi_target_state {
    MULTI_ATTACHING, /* its inner session has not said `initialized` */
    MULTI_READY,     /* it waits for the client's configurationDone */
    MULTI_RUNNING,   /* configured */
    MULTI_LEAVING,
    MULTI_GONE, /* ended, failed or left; freed from the loop */
};

struct multi_target {
    struct multi *multi;
    struct multi_target *next;
    uint32_t slot;
    enum multi_target_state state;
    struct pause pause;
    struct session *inner;
    int64_t seq;            /* of the last request to it */
    struct seqmap *pending; /* owner: NULL for the client's requests, a multi_ask for our own */
    struct multi_thread *threads;
    size_t thread_count;
    char *rank;         /* "3", or NULL while it is not known that it has one */
    char *capabilities; /* the body that its adapter gave, or NULL */
};

struct multi {
    struct session *session; /* whose client is served */
    struct loop *loop;
    struct idmap *ids;
    struct multi_target *targets; /* in the order they joined */
    size_t target_count;
    bool configured; /* the client has sent configurationDone */
    bool introduced; /* the population that was there has been shown */
    bool leaving;
    int64_t focus; /* the client's id of the thread that was last shown or asked about, 0: none */
    struct multi_sets *sets;
    struct multi_verbs *verbs;
};

/* --- multi.c --- */
struct multi_target *multi_find_slot(const struct multi *multi, uint32_t slot);
void multi_target_ended(struct multi_target *target, const char *why); /* for the user, or NULL */

/* --- multi_target.c --- */

/* An inner session's answer, with the debuggee's own ids; NULL: it is gone, or `timeout_ms` is
 * over. */
typedef void (*multi_answer_fn)(void *arg, struct multi_target *target, const char *json,
                                size_t len, const struct envelope *response);
/* Asks one debuggee something that the client does not see. `arguments` is JSON with the debuggee's
 * own ids, or NULL. fn runs once, perhaps from within; never after multi_drop_asks(). */
void multi_ask(struct multi_target *target, const char *command, const char *arguments,
               int64_t timeout_ms, multi_answer_fn fn, void *arg);
void multi_drop_asks(struct multi *multi, const void *arg);
/* Passes a request of the client's on; the answer goes to the client with the session's ids.
 * `thread` is the debuggee's thread that it is about, or 0. `json` has the debuggee's ids. */
void multi_pass(struct multi_target *target, int64_t client_seq, int64_t thread, const char *json,
                size_t len, const struct envelope *envelope);

/* --- multi_threads.c --- */
struct multi_thread *multi_thread_find(const struct multi_target *target, int64_t own);
/* By the client's id; NULL if there is none. */
struct multi_thread *multi_thread_by_id(const struct multi *multi, int64_t id,
                                        struct multi_target **target);
/* Lets this thread go on, and no other of its worker unless `all`: `how` is DAP's "continue",
 * "next", "stepIn" or "stepOut". The client is told (`continued`) unless it has asked itself. */
void multi_resume(struct multi_target *target, struct multi_thread *thread, const char *how,
                  bool all, bool tell);
/* Tells the client of a stop that was kept from it: multi_verbs_stopped() was true. */
void multi_thread_tell(struct multi_target *target, struct multi_thread *thread);

/* --- multi_verbs.c: groups --- */
struct multi_verbs *multi_verbs_create(struct multi *multi);
void multi_verbs_destroy(struct multi_verbs **verbs);
/* A custom request (raydbg/groups, raydbg/group, raydbg/step, raydbg/barrier, raydbg/compare,
 * raydbg/stacks), an `evaluate` whose expression begins with "/" in context repl, or `completions`
 * of such a text. False if it is not one of them: nothing was done then. */
bool multi_verbs_request(struct multi_verbs *verbs, const char *json, size_t len,
                         const struct envelope *envelope);
/* A thread has stopped: true if the client is not told, because a verb lets it go on (skip, until a
 * line), holds it for others (barrier), or does not know yet: then it calls multi_thread_tell()
 * later. Lets nothing go on from within. */
bool multi_verbs_stopped(struct multi_verbs *verbs, struct multi_target *target,
                         struct multi_thread *thread);
/* The client has asked that this thread go on (continue, a step), before it does: what the verbs
 * wanted of it is over. */
void multi_verbs_resumed(struct multi_verbs *verbs, const struct multi_thread *thread);
/* A thread is no longer one of the session's: its task has ended. */
void multi_verbs_left(struct multi_verbs *verbs, const struct multi_thread *thread);
/* A debuggee has joined, or is gone (its threads are still there). */
void multi_verbs_joined(struct multi_verbs *verbs, struct multi_target *target);
void multi_verbs_gone(struct multi_verbs *verbs, struct multi_target *target);

/* --- multi_sets.c: what is set once for all, present and future --- */
struct multi_sets *multi_sets_create(struct multi *multi);
void multi_sets_destroy(struct multi_sets **sets);
/* setBreakpoints, setFunctionBreakpoints, setExceptionBreakpoints, …: sends it to all that are
 * attached, remembers it for those that come, and answers when all have, or after 2 s: verified if
 * anywhere; one that becomes so later is told by a `breakpoint` event. */
void multi_sets_request(struct multi_sets *sets, const char *json, size_t len,
                        const struct envelope *envelope);
/* Sends all that is remembered to one that has become ready; fn when it has taken them. */
void multi_sets_arm(struct multi_sets *sets, struct multi_target *target,
                    void (*fn)(void *arg, struct multi_target *target), void *arg);
/* A breakpoint added or taken away for the verbs (until a line, barriers), beside the client's. */
int64_t multi_sets_add(struct multi_sets *sets, const char *path, int64_t line);
void multi_sets_remove(struct multi_sets *sets, int64_t handle);
/* Whether the client has a breakpoint of its own there. */
bool multi_sets_has(const struct multi_sets *sets, const char *path, int64_t line);
/* Whether the breakpoint event is the client's business; `out` gets it with the session's ids. */
bool multi_sets_event(struct multi_sets *sets, struct multi_target *target, const char *json,
                      const struct envelope *event, struct buf *out);
void multi_sets_gone(struct multi_sets *sets, struct multi_target *target);

#endif
