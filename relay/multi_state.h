/* A multi's inside, for the files that make it up: multi.c (life: joining, leaving), multi_find.c
 * (looking for pauses), multi_jobs.c, multi_target.c (one debuggee, as its inner session's client),
 * multi_events.c (what a debuggee says unasked), multi_threads.c (the threads and their stops),
 * multi_stops.c (when the client is told of them), multi_requests.c (where requests go),
 * multi_sets.c (breakpoints of all), multi_modules.c, multi_limits.c (capabilities),
 * multi_progress.c, multi_flow.c, and the groups: multi_verbs.c and what it uses.
 *
 * Any message to the client may make it ask something from within (an editor in this process), and
 * any message to a debuggee may be answered from within. So: targets and threads are never freed
 * but from the loop; pointers to threads are not kept over either. */
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
struct multi_modules;
struct multi_progress;
struct multi_ask;
struct multi_find;
struct multi_jobs;

/* A thread that has stopped at least once (with allThreads: any). */
struct multi_thread {
    int64_t id;  /* the client's */
    int64_t own; /* the debuggee's */
    char *label; /* the debuggee's name of it, or NULL */
    char *name;  /* "rank 3 Trainer.step 10.0.0.7 pid 811" */
    bool shown;  /* among the session's threads: not after its task has ended, until it stops */
    bool listed; /* the client has heard of it */
    bool stopped;
    bool told;           /* the client knows of this stop */
    bool asked;          /* the client itself let it go: its next stop takes the focus */
    char reason[32];     /* DAP's word, of the last stop */
    char *stopped_event; /* of this stop as the debuggee sent it (its own ids), or NULL */
    char *stack;         /* this stop's stackTrace response, the debuggee's own ids, or NULL */
    size_t stack_len;
    bool stack_asked;               /* and not answered yet */
    struct multi_stack_wait *waits; /* the client's requests for it */
    int64_t stops;                  /* how many there were */
    int64_t stopped_at;             /* the target's count of stops, then */
    int64_t asked_at;               /* the same when the client last asked for a step */
};

enum multi_target_state {
    MULTI_QUEUED,    /* many are attaching: it has no inner session yet */
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
    int64_t since_us;       /* when it began to attach */
    bool first;             /* it was there when the client attached */
    bool stalled;           /* the debuggee does not read: it is asked nothing */
    struct seqmap *pending; /* owner: NULL for the client's requests, a multi_ask for our own */
    struct multi_ask *asks;
    bool quiet; /* what is asked now is no act of the user's */
    struct multi_thread *threads;
    size_t thread_count;
    bool labels_asked;  /* the debuggee's names of them are on their way */
    bool labels_due;    /* and there are new ones since */
    int64_t stop_count; /* of all threads */
    bool rank_asked;
    bool rank_known;    /* whether it has one */
    char *rank;         /* "3", or NULL while it is not known that it has one */
    char *capabilities; /* the object that its adapter gave, if it is not the default */
    char *attach_error; /* why attaching failed, or NULL */
    char *role;         /* the body of its last raydbg/role, or NULL */
    bool drives;        /* by that */
    struct multi_progress *progress; /* what it is at */
    size_t said;                     /* bytes, since the client does not read */
};

struct multi {
    struct session *session; /* whose client is served */
    struct loop *loop;
    struct idmap *ids;
    struct multi_target *targets; /* as they joined; first the one that was shown first (eager) */
    uint32_t slots;               /* given so far; none is given twice */
    uint32_t slot_room;
    struct multi_target **by_slot; /* NULL where the one that had it is freed */
    size_t target_count;           /* without those that are gone */
    struct multi_find *find;
    struct multi_jobs *jobs; /* of all targets that there were */
    bool initialized;        /* the client was told `initialized` */
    bool configured;         /* the client has sent configurationDone */
    bool introduced;         /* the client has been shown what stands: all of it, or (eager) some */
    bool gathered;           /* the population that was there has been shown */
    bool assembling;         /* the client is done (eager), and some of it still attach */
    bool looked;             /* the client has asked for variables since it was shown some */
    bool unhurried;          /* what it was shown first (eager) has had its time: the others come */
    bool leaving;
    bool over;
    bool waited_told;              /* the client knows that there is nothing but waiting */
    struct timer *hurry;           /* `initialized` at the latest; eager: the others begin */
    struct timer *intro;           /* the population is shown at the latest */
    struct timer *patience;        /* leaving ends at the latest */
    struct timer *sweep;           /* frees what is gone */
    bool halted;                   /* the client does not read */
    struct timer *lag;             /* then what it observes may be left */
    bool renamed;                  /* since the client last asked for the names */
    int64_t loud_us;               /* when it last got something important */
    struct timer *spacing;         /* stops that come meanwhile are told together */
    struct multi_stop_ref *untold; /* in the order they came */
    size_t untold_count;
    int64_t focus; /* the client's id of the thread that was last shown or asked about, 0: none */
    char *role;    /* the body of the last raydbg/role that the client got, or NULL */
    char *limits;  /* the capabilities that it was told to be off, or NULL */
    const struct multi_target *acting; /* whose act is being noted */
    struct multi_sets *sets;
    struct multi_modules *modules;
    struct multi_verbs *verbs;
};

/* --- multi.c --- */
struct multi_target *multi_find_slot(const struct multi *multi, uint32_t slot);
void multi_say(struct multi *multi, const char *category, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A pause that is to be a target; attaching begins when there is room. */
struct multi_target *multi_add(struct multi *multi, const struct pause *pause);
/* Its inner session is ready, or over. */
void multi_target_ready(struct multi_target *target);
void multi_target_ended(struct multi_target *target, const char *why); /* for the user, or NULL */
/* After a look: starts what waits, says `initialized` when it is time. */
void multi_proceed(struct multi *multi);
/* The client asks for variables: it looks at what it was shown. */
void multi_looked(struct multi *multi);
/* The attach cannot succeed. */
void multi_fail(struct multi *multi, const struct err *err);
/* All is over: the client is told `terminated`. */
void multi_end(struct multi *multi, const char *why);
void multi_on_configuration_done(struct multi *multi, const struct envelope *request);

/* --- multi_find.c --- */
struct multi_find *multi_find_start(struct multi *multi);
void multi_find_stop(struct multi_find **find);
/* It is gone, or failed: not to be joined again at once. */
void multi_find_shun(struct multi_find *find, const struct pause *pause, int64_t ms);
bool multi_find_looked(const struct multi_find *find); /* at least once */

/* --- multi_jobs.c --- */
struct multi_jobs *multi_jobs_create(void);
void multi_jobs_destroy(struct multi_jobs **jobs);
void multi_jobs_note(struct multi_jobs *jobs, const char *job_id);
/* By what the cluster has said so far; it is asked again. */
bool multi_jobs_are_over(const struct multi_jobs *jobs, struct cluster *cluster);

/* --- multi_target.c --- */
void multi_target_attach(struct multi_target *target);
void multi_target_configure(struct multi_target *target);
void multi_target_leave(struct multi_target *target, enum hub_leave how);
/* In two steps: who waits for its answers hears that there will be none, and may still drop others
 * of its asks; then its memory goes. */
void multi_target_close(struct multi_target *target);
void multi_target_free(struct multi_target *target);

/* An inner session's answer, with the debuggee's own ids; NULL: it is gone, or `timeout_ms` (0: no
 * limit) is over. */
typedef void (*multi_answer_fn)(void *arg, struct multi_target *target, const char *json,
                                size_t len, const struct envelope *response);
/* Asks one debuggee something that the client does not see. `arguments` is JSON with the debuggee's
 * own ids, or NULL. fn (or NULL) runs once, perhaps from within; never after multi_drop_asks(). */
void multi_ask(struct multi_target *target, const char *command, const char *arguments,
               int64_t timeout_ms, multi_answer_fn fn, void *arg);
void multi_drop_asks(struct multi *multi, const void *arg);
/* Passes a request of the client's on; the answer goes to the client with the session's ids.
 * `thread` is the debuggee's thread that it is about, or 0. `json` has the debuggee's ids. */
void multi_pass(struct multi_target *target, int64_t client_seq, int64_t thread, const char *json,
                size_t len, const struct envelope *envelope);
/* Sends the client what a debuggee has said, with the session's ids. */
void multi_pass_out(struct multi_target *target, int64_t client_seq, int64_t thread,
                    const char *json, size_t len, const struct envelope *envelope);
/* Whether it can be asked. */
bool multi_target_is_there(const struct multi_target *target);

/* --- multi_events.c --- */
void multi_on_event(struct multi_target *target, const char *json, size_t len,
                    const struct envelope *event);
/* One role for all: it drives if it drives any. The client is told when that changes. */
void multi_role_tell(struct multi *multi);

/* --- multi_limits.c --- */
/* Tells the client what it may ask of all debuggees, if that has changed. */
void multi_limits_tell(struct multi *multi);
/* The same, cheaply, after this one has become ready. */
void multi_limits_joined(const struct multi_target *target);

/* --- multi_flow.c: multi_flow(); --- */
/* The debuggee has said so much. */
void multi_flow_count(struct multi_target *target, size_t len);
void multi_flow_stop(struct multi *multi);

/* --- multi_progress.c --- */
void multi_progress_on_event(struct multi_target *target, const char *json, size_t len,
                             const struct envelope *event);
/* The debuggee is gone: whatever it was at has ended. */
void multi_progress_end(struct multi_target *target);

/* --- multi_modules.c --- */
struct multi_modules *multi_modules_create(struct multi *multi);
void multi_modules_destroy(struct multi_modules **modules);
/* A debuggee's `module` event: the client is told of each module once, and of its end when the last
 * debuggee that had it is gone. */
void multi_modules_event(struct multi_modules *modules, const struct multi_target *target,
                         const char *json, const struct envelope *event);
/* A debuggee's answer to `modules`. */
void multi_modules_answer(struct multi_modules *modules, const struct multi_target *target,
                          const char *json, const struct envelope *response);
/* The body of the client's: those that are known, `count` (0: all) of them from `start` on. */
void multi_modules_body(const struct multi_modules *modules, int64_t start, int64_t count,
                        struct buf *out);
void multi_modules_gone(struct multi_modules *modules, const struct multi_target *target);

/* --- multi_threads.c --- */
struct multi_thread *multi_thread_find(const struct multi_target *target, int64_t own);
/* By the client's id; NULL if there is none. */
struct multi_thread *multi_thread_by_id(const struct multi *multi, int64_t id,
                                        struct multi_target **target);
void multi_thread_on_stopped(struct multi_target *target, const char *json, size_t len,
                             const struct envelope *event);
void multi_thread_on_continued(struct multi_target *target, const char *json,
                               const struct envelope *event);
void multi_thread_on_thread(struct multi_target *target, const char *json,
                            const struct envelope *event);
/* It runs (`all`: and so do the others of its worker); `tell` the client. */
void multi_thread_runs(struct multi_target *target, int64_t own, bool all, bool tell);
/* The client's step has been answered; its stop may be here already. */
void multi_thread_stepped(struct multi_target *target, const struct multi_thread *thread);
/* Threads that run leave the client's list: the task has ended. `all`: those that stand, too. */
void multi_threads_leave(struct multi_target *target, bool all);
/* The names are made anew: the task's name, or its rank, has become known. */
void multi_threads_rename(struct multi_target *target);
void multi_threads_free(struct multi_target *target);
size_t multi_stopped_count(const struct multi_target *target);
/* Lets this thread go on, and no other of its worker unless `all`: `how` is DAP's "continue",
 * "next", "stepIn" or "stepOut". The client is told (`continued`) if `tell`. */
void multi_resume(struct multi_target *target, const struct multi_thread *thread, const char *how,
                  bool all, bool tell);
/* The same for `continue`; `client_seq` is the request that is answered, or 0. */
void multi_continue(struct multi_target *target, int64_t own, bool all, int64_t client_seq,
                    bool tell);
void multi_on_threads(struct multi *multi, const struct envelope *request);

/* --- multi_stack.c: stacks from memory --- */
void multi_stack_fetch(struct multi_target *target, struct multi_thread *thread);
/* Answers at once, or when the stack is there. */
void multi_stack_request(struct multi_target *target, struct multi_thread *thread, const char *json,
                         const struct envelope *request);
/* The stop is over: those who still wait are told. */
void multi_stack_drop(struct multi_target *target, struct multi_thread *thread);
/* --- multi_rank.c --- */
/* Finds out once whether the task has a rank, by its environment, or a variable of this stop. */
void multi_rank_ask(struct multi_target *target, const struct multi_thread *thread);

/* --- multi_stack.c, too --- */
/* The id (the debuggee's) of this stop's first frame that is not the machinery's; 0: not known. */
int64_t multi_stack_user_frame(const struct multi_thread *thread);

/* --- multi_stops.c: telling the client --- */
/* A thread has stopped; it is told when it is due. */
void multi_stop_note(struct multi_target *target, struct multi_thread *thread);
/* Tells this stop at once, or once more; it takes the focus. */
void multi_stop_show(struct multi_target *target, struct multi_thread *thread);
/* All stops that there are, by one event; the focus goes to `thread` (NULL: to the first one). */
void multi_stop_show_all(struct multi *multi, struct multi_target *target,
                         const struct multi_thread *thread);
/* Names have changed: the client is made to ask for them. */
void multi_stop_renamed(struct multi *multi);
/* Shows the population, if all of it has stopped; to an eager client also before that, once, what
 * has. `now`: there is no more waiting. */
void multi_stop_introduce(struct multi *multi, bool now);
void multi_stops_free(struct multi *multi);

/* --- multi_requests.c: multi_request(); --- */
/* The debuggee that the client looks at, or the first one; NULL if there is none. */
struct multi_target *multi_focused(const struct multi *multi);

/* --- multi_verbs.c: groups --- */
struct multi_verbs *multi_verbs_create(struct multi *multi);
void multi_verbs_destroy(struct multi_verbs **verbs);
/* A custom request (raydbg/groups, raydbg/group, raydbg/step, raydbg/barrier, raydbg/compare,
 * raydbg/stacks), an `evaluate` whose expression begins with "/" in context repl, or `completions`
 * of such a text. False if it is not one of them: nothing was done then. */
bool multi_verbs_request(struct multi_verbs *verbs, const char *json, size_t len,
                         const struct envelope *envelope);
/* A thread has stopped: true if the client is not told, because a verb lets it go on (skip, until a
 * line), holds it for others (barrier), or does not know yet; it is told later by multi_stop_note()
 * or multi_stop_show_all(). Lets nothing go on from within, and tells the client nothing. */
bool multi_verbs_stopped(struct multi_verbs *verbs, struct multi_target *target,
                         struct multi_thread *thread);
/* The client has asked that this thread go on (continue, a step), before it does: what the verbs
 * wanted of it is over. */
void multi_verbs_resumed(struct multi_verbs *verbs, int64_t thread);
/* A debuggee is gone. */
void multi_verbs_gone(struct multi_verbs *verbs, struct multi_target *target);

/* --- multi_sets.c: what is set once for all, present and future --- */
struct multi_sets *multi_sets_create(struct multi *multi);
void multi_sets_destroy(struct multi_sets **sets);
/* Whether the request is one of them. */
bool multi_sets_is_set(const char *command);
/* setBreakpoints, setFunctionBreakpoints, setExceptionBreakpoints, …: sends it to all that are
 * attached, remembers it for those that come, and answers when all have, or after 2 s: verified if
 * anywhere; one that becomes so later is told by a `breakpoint` event. */
void multi_sets_request(struct multi_sets *sets, const char *json, size_t len,
                        const struct envelope *envelope);
/* Sends all that is remembered to one that has become ready, in front of whatever follows, or whose
 * driver this session has become. */
void multi_sets_arm(struct multi_sets *sets, struct multi_target *target);
/* A breakpoint added or taken away for the verbs (until a line, barriers), beside the client's. */
int64_t multi_sets_add(struct multi_sets *sets, const char *path, int64_t line);
void multi_sets_remove(struct multi_sets *sets, int64_t handle);
/* Whether the client has a breakpoint of its own there. */
bool multi_sets_has(const struct multi_sets *sets, const char *path, int64_t line);
/* A debuggee's `breakpoint` event; the client is told what changes for it. */
void multi_sets_event(struct multi_sets *sets, struct multi_target *target, const char *json,
                      const struct envelope *event);
void multi_sets_gone(struct multi_sets *sets, struct multi_target *target);

#endif
