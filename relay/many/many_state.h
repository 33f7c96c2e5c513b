/* Internals of a session over many tasks, for the files that make it up and for the verbs
 * (relay/many_verbs), which are built on it. Each file calls only files that stand before it here,
 * those after it by struct many_task_ops and the callback of many_discovery_start(), and the verbs
 * by struct many_hooks:
 *
 * many_lookup.c, many_tell.c, many_jobs.c, many_modules.c, many_capabilities.c, many_task.c (one
 * debuggee, as its inner session's client), many_breakpoints.c (breakpoints of all),
 * many_progress.c, many_stops.c (when the client is told of stops), many_names.c, many_rank.c,
 * many_stack.c, many_threads.c (threads and their stops), many_events.c (a debuggee's events),
 * many_join.c, many_discovery.c (looking for pauses), many_flow.c, many_requests.c (routing of
 * requests), many.c (opening, leaving).
 *
 * Any message to the client may make it send a request from within (an editor in this process), and
 * any message to a debuggee may be answered from within. So tasks and threads are freed only from
 * the loop, and pointers to threads are not kept across either. */
#ifndef RAYDBG_RELAY_MANY_MANY_STATE_H
#define RAYDBG_RELAY_MANY_MANY_STATE_H

#include "base/buf.h"
#include "base/invariant.h"
#include "dap/id_rewrite.h"
#include "dap/idmap.h"
#include "dap/seqmap.h"
#include "relay/many/many_hooks.h"
#include "relay/session/session_mode.h"

struct many_task;
struct many_breakpoints;
struct many_modules;
struct many_progress;
struct many_task_request;
struct many_discovery;
struct many_jobs;

/* A thread that has stopped at least once (with allThreads: any). */
struct many_thread {
    int64_t id;  /* the client's */
    int64_t own; /* the debuggee's */
    char *label; /* the debuggee's name of it, or NULL */
    char *name;  /* "rank 3 Trainer.step 10.0.0.7 pid 811" */
    bool shown;  /* in the session's list: not from its task's end until it stops */
    bool listed; /* the client knows the thread */
    bool stopped;
    bool told;           /* the client knows of this stop */
    bool asked;          /* the client stepped it: its next stop takes the focus */
    char reason[32];     /* DAP's `reason` of the last stop */
    char *stopped_event; /* of this stop as the debuggee sent it (its own ids), or NULL */
    char *stack;         /* this stop's stackTrace response, the debuggee's own ids, or NULL */
    size_t stack_len;
    bool stack_asked;              /* the request for it has no answer yet */
    struct many_stack_wait *waits; /* the client's requests for it */
    int64_t stops;                 /* the number of stops so far */
    int64_t stopped_at;            /* the task's stop_count at this stop */
    int64_t asked_at;              /* the task's stop_count at the client's last step */
};

enum many_task_state {
    MANY_QUEUED,    /* many are attaching: it has no inner session yet */
    MANY_ATTACHING, /* its inner session has not sent `initialized` */
    MANY_READY,     /* it waits for the client's configurationDone */
    MANY_RUNNING,   /* configured */
    MANY_LEAVING,
    MANY_GONE, /* ended, failed or left; freed from the loop */
};

struct many_task {
    uint32_t magic;
    struct many *many;
    struct many_task *next;
    uint32_t slot;
    enum many_task_state state;
    struct pause pause;
    struct session *inner;
    int64_t since_us;       /* when it began to attach */
    bool first;             /* it was there when the client attached */
    bool stalled;           /* the debuggee does not read: no requests to it */
    struct seqmap *pending; /* owner: NULL for the client's requests, a many_ask for our own */
    struct many_task_request *requests;
    bool quiet; /* requests under way are not the user's */
    struct many_thread *threads;
    size_t thread_count;
    bool labels_asked;  /* `threads` was sent for labels, without an answer yet */
    bool labels_due;    /* threads have come since: send it again */
    int64_t stop_count; /* stops of all threads so far */
    bool idle_asked;    /* the worker was asked if threads outlive its task; no answer yet */
    int64_t idle_us;    /* when it may be asked again */
    bool rank_asked;
    bool rank_known;                /* it is known whether the task has a rank */
    uintptr_t rank_task;            /* the number of tasks of the worker so far, less one */
    char *rank;                     /* "3"; NULL: none, or not known yet */
    const char *capabilities;       /* the object that its adapter gave, interned; NULL: default */
    char *attach_error;             /* why attaching failed, or NULL */
    char *role;                     /* the body of its last raydbg/role, or NULL */
    bool drives;                    /* its inner session drives */
    struct many_progress *progress; /* reports that have not ended */
    size_t said;                    /* bytes, since the client does not read */
};
INVARIANT_MAGIC(many_task, 0x5e2b90d7)
#define many_task_checked(object) many_task_checked_at(INVARIANT_HERE, object)

/* Callbacks of the session, for many_task.c and many_events.c. */
struct many_task_ops {
    /* The debuggee has sent `len` bytes; called before the message is handled. */
    void (*received)(struct many_task *task, size_t len);
    void (*event)(struct many_task *task, const char *json, size_t len,
                  const struct envelope *event);
    /* The client has the answer to a step, or a `goto`, of this thread; the step's stop may be here
     * already. */
    void (*stepped)(struct many_task *task, int64_t own, bool success);
    /* The inner session is ready, or over. `why` is for the user, or NULL. */
    void (*ready)(struct many_task *task);
    void (*ended)(struct many_task *task, const char *why);
};

struct many {
    uint32_t magic;
    struct session *session; /* the client's session */
    struct client *client;   /* borrowed from `session`, as are the next two */
    const struct attach_arguments *attach;
    const struct session_options *options;
    struct loop *loop;
    struct idmap *ids;
    struct many_task *targets; /* as they joined; eager puts the one shown first in front */
    uint32_t slots;            /* slots given so far; none is given twice */
    uint32_t slot_room;
    struct many_task **by_slot; /* NULL: its task was freed */
    size_t target_count;        /* without those that are gone */
    struct many_discovery *find;
    struct many_jobs *jobs; /* of all tasks so far */
    bool initialized;       /* the client was sent `initialized` */
    bool configured;        /* the client has sent configurationDone */
    bool introduced;        /* the client was shown stopped tasks: all, or (eager) the first ones */
    bool gathered;          /* the whole population has been shown */
    bool assembling;        /* eager: configurationDone has come, and tasks still attach */
    bool looked;            /* the client has asked for variables since `introduced` */
    bool unhurried;         /* eager: the head start of the first tasks is over */
    bool leaving;
    bool over;
    bool waited_told;       /* the client was told that no task matches yet */
    struct timer *hurry;    /* `initialized` at the latest; eager: the other tasks begin */
    struct timer *intro;    /* the next look whether the population is waited for any longer */
    int64_t hurry_us;       /* when `hurry` was started; 0: not yet */
    int64_t intro_us;       /* when the wait for stops began */
    int64_t news_us;        /* the last stop since then */
    int64_t attach_us;      /* the longest that a task took to attach; 0: none has yet */
    struct timer *patience; /* leaving ends at the latest */
    struct timer *sweep;    /* frees tasks that are gone */
    bool halted;            /* the client does not read */
    struct timer *lag;      /* leaves observed tasks that send too much */
    bool renamed;           /* names have changed since the client's last `threads` */
    int64_t loud_us;        /* when the client last got something important */
    struct timer *spacing;  /* while it runs, stops are collected */
    struct many_stop_ref *untold; /* in the order they came */
    size_t untold_count;
    int64_t focus; /* the client's id of the thread that was last shown or asked about, 0: none */
    char *role;    /* the body of the last raydbg/role that the client got, or NULL */
    char *limits;  /* the last `capabilities` event, or NULL */
    const struct many_task *acting; /* the task whose action is being noted, or NULL */
    struct many_breakpoints *sets;
    struct many_modules *modules;
    const struct many_task_ops *task_ops;
    const struct many_hooks *hooks;
    struct many_verbs *verbs; /* the hooks' */
};
INVARIANT_MAGIC(many, 0xf1ed8a85)
#define many_checked(object) many_checked_at(INVARIANT_HERE, object)

/* --- many_lookup.c --- */
struct many_task *many_find_slot(const struct many *many, uint32_t slot);
/* The debuggee that the client looks at, or the first one; NULL if there is none. */
struct many_task *many_focused(const struct many *many);
/* True if the debuggee can be sent requests. */
bool many_task_is_there(const struct many_task *task);
struct many_thread *many_thread_find(const struct many_task *task, int64_t own);
/* By the client's id; NULL if there is none. */
struct many_thread *many_thread_by_id(const struct many *many, int64_t id, struct many_task **task);
/* The first stopped thread of a configured task, and its task; NULL if there is none. */
struct many_thread *many_first_stopped(const struct many *many, struct many_task **task);
size_t many_stopped_count(const struct many_task *task);

/* --- many_tell.c --- */
void many_say(struct many *many, const char *category, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A `thread` event; `id` is the client's. */
void many_tell_thread(struct many *many, const char *reason, int64_t id);
void many_tell_continued(struct many *many, int64_t id);
/* Tells the client one role for all tasks, if it has changed: it drives if it drives any. */
void many_tell_role(struct many *many);

/* --- many_jobs.c --- */
struct many_jobs *many_jobs_create(void);
void many_jobs_destroy(struct many_jobs **jobs);
void many_jobs_note(struct many_jobs *jobs, const char *job_id);
/* Decided by the cluster's last answer; asks the cluster again. */
bool many_jobs_are_over(const struct many_jobs *jobs, struct cluster *cluster);

/* --- many_modules.c --- */
struct many_modules *many_modules_create(struct many *many);
void many_modules_destroy(struct many_modules **modules);
/* A debuggee's `module` event: the client is told of each module once, and of its end when the last
 * debuggee that had it is gone. */
void many_modules_event(struct many_modules *modules, const struct many_task *task,
                        const char *json, const struct envelope *event);
/* A debuggee's answer to `modules`. */
void many_modules_answer(struct many_modules *modules, const struct many_task *task,
                         const char *json, const struct envelope *response);
/* Appends the body of the client's response: `count` (0: all) known modules from `start` on. */
void many_modules_body(const struct many_modules *modules, int64_t start, int64_t count,
                       struct buf *out);
void many_modules_gone(struct many_modules *modules, const struct many_task *task);

/* --- many_capabilities.c --- */
/* Tells the client which capabilities all debuggees have, if that has changed. */
void many_capabilities_tell(struct many *many);
/* The same, cheaply, after this task has become ready. */
void many_capabilities_joined(const struct many_task *task);

/* --- many_task.c --- */
void many_task_move_at(struct invariant_location location, struct many_task *task,
                       enum many_task_state next);
#define many_task_move(task, next) many_task_move_at(INVARIANT_HERE, task, next)
void many_task_attach(struct many_task *task);
void many_task_configure(struct many_task *task);
void many_task_leave(struct many_task *task, enum hub_leave how);
/* In two steps: close() tells the callbacks of all its asks that no answer will come, and these may
 * still drop asks; free() then frees the memory. */
void many_task_close(struct many_task *task);
void many_task_free(struct many_task *task);

/* An inner session's answer, with the debuggee's own ids; NULL if the task is gone, or `timeout_ms`
 * (0: no limit) is over. */
typedef void (*many_answer_fn)(void *arg, struct many_task *task, const char *json, size_t len,
                               const struct envelope *response);
/* Asks one debuggee something that the client does not see. `arguments` is JSON with the debuggee's
 * own ids, or NULL. fn (or NULL) runs once, perhaps from within; never after many_drop_requests().
 */
void many_ask(struct many_task *task, const char *command, const char *arguments,
              int64_t timeout_ms, many_answer_fn fn, void *arg);
void many_drop_requests(struct many *many, const void *arg);
/* Passes a client's request on; the answer goes to the client with the session's ids. `thread` is
 * the debuggee's thread that the request is about, or 0. `json` has the debuggee's ids. */
void many_pass(struct many_task *task, int64_t client_seq, int64_t thread, const char *json,
               size_t len, const struct envelope *envelope);
/* Sends the client a debuggee's message, with the session's ids. */
void many_pass_out(struct many_task *task, int64_t client_seq, int64_t thread, const char *json,
                   size_t len, const struct envelope *envelope);

/* --- many_breakpoints.c: set once for all tasks, present and future --- */
struct many_breakpoints *many_breakpoints_create(struct many *many);
void many_breakpoints_destroy(struct many_breakpoints **sets);
/* True for a set request: setBreakpoints, setFunctionBreakpoints, setExceptionBreakpoints, … */
bool many_breakpoints_is_set(const char *command);
/* Sends the set to all attached tasks, remembers it for those that come, and answers when all have
 * answered, or after 2 s. A breakpoint is verified if it is so in any task; a `breakpoint` event
 * tells when it becomes so later. */
void many_breakpoints_request(struct many_breakpoints *sets, const char *json, size_t len,
                              const struct envelope *envelope);
/* Sends all that is remembered to a task that has become ready, in front of whatever follows, or
 * whose driver this session has become. */
void many_breakpoints_arm(struct many_breakpoints *sets, struct many_task *task);
/* Adds or removes a breakpoint of the verbs (until a line, barriers), beside the client's. Where
 * the client's has a condition, a hit condition or a log message, that is out of force meanwhile.
 */
int64_t many_breakpoints_add(struct many_breakpoints *sets, const char *path, int64_t line);
void many_breakpoints_remove(struct many_breakpoints *sets, int64_t handle);
/* True if a stop there may be at the client's own breakpoint: it has one, and this is in force. */
bool many_breakpoints_stops(const struct many_breakpoints *sets, const char *path, int64_t line);
/* Takes in a debuggee's `breakpoint` event; the client is told what changes for it. */
void many_breakpoints_event(struct many_breakpoints *sets, struct many_task *task, const char *json,
                            const struct envelope *event);
void many_breakpoints_gone(struct many_breakpoints *sets, struct many_task *task);
/* The session drives a task that it did not drive: an observer's sets now reach all processes of
 * its run, too. */
void many_breakpoints_drive(struct many_breakpoints *sets);
/* Of a session about a run, whose breakpoints are in all of its processes: takes in what these have
 * answered since, and takes the breakpoints out again. */
void many_breakpoints_look(struct many_breakpoints *sets);
void many_breakpoints_withdraw(struct many_breakpoints *sets);

/* --- many_progress.c --- */
void many_progress_on_event(struct many_task *task, const char *json, size_t len,
                            const struct envelope *event);
/* The debuggee is gone: ends its progress reports for the client. */
void many_progress_end(struct many_task *task);

/* --- many_stops.c: telling the client --- */
/* A thread has stopped: tells the client when the stop is due. */
void many_stop_note(struct many_task *task, struct many_thread *thread);
/* Tells the client of this stop at once, or once more; it takes the focus. */
void many_stop_show(struct many_task *task, struct many_thread *thread);
/* Tells the client of all stops by one event. The focus goes to `thread`; NULL: it stays where it
 * is, or goes to the first stopped thread. */
void many_stop_show_all(struct many *many, struct many_task *task,
                        const struct many_thread *thread);
/* Names have changed: makes the client ask for them. */
void many_stop_renamed(struct many *many);
/* Shows the population once all of it has stopped; to an eager client also once before that, the
 * tasks that have. `now`: does not wait any longer. */
void many_stop_introduce(struct many *many, bool now);
void many_stops_free(struct many *many);

/* --- many_names.c --- */
/* Names a new thread. `thread` is invalid then: the debuggee may have been asked something. */
void many_names_add(struct many_task *task, struct many_thread *thread);
/* Makes the names anew: the task's name, or its rank, has become known. */
void many_names_renew(struct many_task *task);

/* --- many_rank.c --- */
/* Asks once whether the task has a rank, in its environment or a variable of this frame (0: the
 * stop has none of the user's). */
void many_rank_ask(struct many_task *task, int64_t frame);
/* The worker runs another task, which may have another rank: asks again, at once if a thread is
 * stopped and its stack is known, else at the next stop. An answer about the earlier task is
 * ignored. */
void many_rank_renew(struct many_task *task);

/* --- many_stack.c: stacks from memory --- */
void many_stack_fetch(struct many_task *task, struct many_thread *thread);
/* Answers at once, or when the stack is there. */
void many_stack_request(struct many_task *task, struct many_thread *thread, const char *json,
                        const struct envelope *request);
/* The stop is over: refuses the requests that still wait for its stack. */
void many_stack_drop(struct many_task *task, struct many_thread *thread);

/* --- many_threads.c --- */
void many_thread_on_stopped(struct many_task *task, const char *json, size_t len,
                            const struct envelope *event);
void many_thread_on_continued(struct many_task *task, const char *json,
                              const struct envelope *event);
void many_thread_on_thread(struct many_task *task, const char *json, const struct envelope *event);
/* The thread runs, and with `all` so do the others of its worker. `tell`: the client is told. */
void many_thread_runs(struct many_task *task, int64_t own, bool all, bool tell);
/* The contract is that of many_task_ops.stepped. */
void many_thread_stepped(struct many_task *task, int64_t own, bool success);
/* The worker runs no task: takes its running threads off the client's list, unless one of them
 * outlives the call that started it. */
void many_threads_idle(struct many_task *task);
/* Takes running threads off the client's list: their task has ended. `all`: stopped ones, too. */
void many_threads_leave(struct many_task *task, bool all);
void many_threads_free(struct many_task *task);
/* Lets this thread go on, and no other of its worker unless `all`: `how` is DAP's "continue",
 * "next", "stepIn" or "stepOut". The client is told (`continued`) if `tell`. */
void many_resume(struct many_task *task, const struct many_thread *thread, const char *how,
                 bool all, bool tell);
/* The same for `continue`; `request` is the client's that is answered, or NULL. */
void many_continue(struct many_task *task, int64_t own, bool all, const struct envelope *request,
                   bool tell);
void many_on_threads(struct many *many, const struct envelope *request);

/* --- many_events.c --- */
void many_on_event(struct many_task *task, const char *json, size_t len,
                   const struct envelope *event);

/* --- many_join.c --- */
/* Adds a task for this pause; attaching begins when there is room. `first`: the pause was there
 * when the client attached. */
void many_join(struct many *many, const struct pause *pause, bool first);
/* The task's inner session is ready. */
void many_join_ready(struct many_task *task);
/* Called after a look at the cluster: starts queued tasks, sends `initialized` when it is due. */
void many_join_proceed(struct many *many);
/* The client asks for variables, so it looks at the tasks that it was shown. */
void many_join_looked(struct many *many);
void many_join_configuration_done(struct many *many, const struct envelope *request);
/* Tells the client, once until a task is ready, that no task matches yet. */
void many_join_say_waiting(struct many *many);

/* --- many_discovery.c --- */
/* Nothing more can pause; the discovery may be stopped from within. */
typedef void (*many_discovery_over_fn)(struct many *many);
struct many_discovery *many_discovery_start(struct many *many, many_discovery_over_fn on_over);
void many_discovery_stop(struct many_discovery **find);
/* The pause is gone, or could not be attached to: it does not join again within `ms`. */
void many_discovery_shun(struct many_discovery *find, const struct pause *pause, int64_t ms);

/* --- many_flow.c --- */
/* Like session_flow(), but stops only the debuggees that send much. */
void many_flow(struct many *many, bool enable);
/* Counts `len` bytes that the debuggee has sent. */
void many_flow_count(struct many_task *task, size_t len);
void many_flow_stop(struct many *many);

/* --- many_requests.c --- */
void many_request(struct many *many, const char *json, size_t len, const struct envelope *envelope);

#endif
