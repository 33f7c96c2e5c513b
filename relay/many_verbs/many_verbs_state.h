/* Internals of the verbs of a session over many tasks, for the files that make them up:
 * many_verbs.c (requests and lines in), many_reply.c (answers out), many_select.c (the threads that
 * a verb is about), many_evaluate.c (a stopped thread's stack, a value in it), many_compare.c
 * (compare, stacks), many_source_paths.c (source files and temporary breakpoints), many_step.c
 * (steps, and which stops pass), many_barrier.c (barriers). */
#ifndef RAYDBG_RELAY_MANY_VERBS_MANY_VERBS_STATE_H
#define RAYDBG_RELAY_MANY_VERBS_MANY_VERBS_STATE_H

#include "base/invariant.h"
#include "relay/many/many_state.h"
#include "relay/stack/frame_location.h"
#include "relay/verbs/task_group.h"
#include "relay/verbs/task_set.h"
#include "relay/verbs/verb.h"

struct request;
struct query;
struct run;
struct plan;
struct judging;
struct passing;
struct path_query_job;
struct barrier_run;

struct many_verbs {
    uint32_t magic;
    struct many *many;
    struct groups *groups;
    struct request *requests;
    struct query *queries;
    struct run *runs;
    struct plan *plans;
    struct judging *judgings; /* stops that may pass: not decided yet */
    struct path_query_job *path_queries;
    struct barrier_run *barrier_run; /* the barrier under way, or NULL */
    struct passing *passing;         /* stops to go on from, once in the loop */
    size_t passing_count;
    struct timer *wake;
    struct known_paths {
        char **items;
        size_t count;
    } known; /* source files that have been in a stack */
};
INVARIANT_MAGIC(many_verbs, 0x0fd2dcec)
#define many_verbs_checked(object) many_verbs_checked_at(INVARIANT_HERE, object)

/* --- many_verbs.c: the hooks (many_hooks.h) --- */
struct many_verbs *many_verbs_create(struct many *many);
void many_verbs_destroy(struct many_verbs **verbs);
bool many_verbs_request(struct many_verbs *verbs, const char *json, size_t len,
                        const struct envelope *envelope);
bool many_verbs_stopped(struct many_verbs *verbs, struct many_task *task,
                        struct many_thread *thread);
void many_verbs_resumed(struct many_verbs *verbs, int64_t thread);
void many_verbs_yielded(struct many_verbs *verbs, struct many_task *task);
void many_verbs_gone(struct many_verbs *verbs, struct many_task *task);

/* The request to answer. A line is answered with text, a custom request with a body. */
struct verbs_reply {
    int64_t seq;
    char command[DAP_NAME_MAX];
    bool line;
};

/* --- many_reply.c --- */
/* `text`, without a newline at its end, answers a line. `body` is JSON: it answers a custom
 * request, and is the member `raydbg` of a line's answer. */
void verbs_answer(struct many_verbs *verbs, const struct verbs_reply *reply, const char *text,
                  const char *body);
void verbs_refuse(struct many_verbs *verbs, const struct verbs_reply *reply, const struct err *err);
/* A location as users write it: "train.py:41". The caller frees it. */
char *verbs_location(const char *file, int64_t line);

/* --- many_select.c --- */
/* The session's threads that are in the group or filter (NULL: all). The caller frees `*ids`. -1
 * with `err` if `subject` is neither, or no thread is in it. */
int verbs_select(const struct many_verbs *verbs, const char *subject, int64_t **ids, size_t *count,
                 struct err *err);
/* The same without the threads that another client drives, which are counted in *observed; -1 with
 * `err` also if all threads in it are such. */
int verbs_select_driven(const struct many_verbs *verbs, const char *subject, int64_t **ids,
                        size_t *count, size_t *observed, struct err *err);
/* True if another client drives the task. */
bool verbs_is_anothers(const struct many_task *task);
/* The thread's id, rank and name; the name is borrowed. */
struct task_list_item verbs_member(const struct many_task *task, const struct many_thread *thread);

/* --- many_evaluate.c --- */

/* The result of a request; NULLs if there is none, and `problem` says why. Borrowed for the call.
 */
struct request_result {
    int64_t thread; /* the session's id */
    const char *problem;
    const char *json; /* request_stack(): the response; request_running(): `frames` alone */
    struct span frames;
    struct frame_location top; /* request_stack() only; all zero: no stack */
    const char *value, *type;  /* request_value() only */
};
typedef void (*request_fn)(void *arg, const struct request_result *result);

/* fn runs once, perhaps from within; never after request_drop() with the same `arg`. `timeout_ms`
 * is for the whole request. */
void request_stack(struct many_verbs *verbs, int64_t thread, int64_t timeout_ms, request_fn fn,
                   void *arg);
/* The same for a running thread: its stack at this moment. debugpy only. */
void request_running(struct many_verbs *verbs, int64_t thread, int64_t timeout_ms, request_fn fn,
                     void *arg);
/* Evaluates in the topmost frame that is not Ray's. */
void request_value(struct many_verbs *verbs, int64_t thread, const char *expression,
                   int64_t timeout_ms, request_fn fn, void *arg);
void request_drop(struct many_verbs *verbs, const void *arg);
/* True if a request about this thread, with this `arg`, has no result yet. */
bool request_is_open(const struct many_verbs *verbs, int64_t thread, const void *arg);

/* --- many_compare.c --- */
void query_compare(struct many_verbs *verbs, const struct verb *verb,
                   const struct verbs_reply *reply);
void query_stacks(struct many_verbs *verbs, const struct verb *verb,
                  const struct verbs_reply *reply);
void query_drop(struct many_verbs *verbs);

/* --- many_source_paths.c --- */

/* Where the stopped threads are, and the paths that `file` names in their stacks. */
struct path_query {
    struct path_query_location {
        int64_t thread;
        char *file; /* NULL: unknown */
        int64_t line;
    } * locations;
    size_t location_count;
    char **paths; /* files seen in stacks that `file` matches; itself, if absolute */
    size_t path_count;
};
typedef void (*path_query_fn)(void *arg, const struct path_query *path_query);
/* fn runs once, perhaps from within; never after path_query_drop() with the same `arg`. */
void path_query_take(struct many_verbs *verbs, const char *file, path_query_fn fn, void *arg);
void path_query_drop(struct many_verbs *verbs, const void *arg);
/* Forgets the source files that have been in a stack. */
void path_query_forget(struct many_verbs *verbs);
/* The error that no stack has `file`. */
void path_query_unknown(const char *file, struct err *err);

/* Temporary breakpoints, not the client's, at one line of all `paths`. All zero: none. */
struct temporary_breakpoints {
    int64_t *handles;
    char **paths;
    size_t count;
    int64_t line;
};
void temporary_breakpoints_set(struct many_verbs *verbs,
                               struct temporary_breakpoints *temporary_breakpoints,
                               const struct path_query *path_query, int64_t line);
void temporary_breakpoints_pull(struct many_verbs *verbs,
                                struct temporary_breakpoints *temporary_breakpoints);
bool temporary_breakpoints_at(const struct temporary_breakpoints *temporary_breakpoints,
                              const struct frame_location *location);
/* True if the thread was at one of them when the path query was taken. */
bool temporary_breakpoints_reached(const struct temporary_breakpoints *temporary_breakpoints,
                                   const struct path_query *path_query, int64_t thread);

/* --- many_step.c --- */
void run_step(struct many_verbs *verbs, const struct verb *verb, const struct verbs_reply *reply);
/* Drops the thread's plan: the thread does something else. */
void run_forget(struct many_verbs *verbs, int64_t thread);
/* Lets a thread go on, from the loop, from a stop that the client does not know of. */
void run_pass(struct many_verbs *verbs, const struct many_thread *thread);
/* The contract is that of many_hooks.stopped. */
bool run_stopped(struct many_verbs *verbs, struct many_thread *thread);
void run_drop(struct many_verbs *verbs);

/* --- many_barrier.c --- */
void barrier_run_verb(struct many_verbs *verbs, const struct verb *verb,
                      const struct verbs_reply *reply);
/* The contract is that of many_hooks.stopped. */
bool barrier_run_stopped(struct many_verbs *verbs, struct many_thread *thread);
void barrier_run_left(struct many_verbs *verbs, int64_t thread, const char *why);
/* Another client drives the task: it is not waited for, and a stop of it that the barrier has kept
 * from the client is shown. */
void barrier_run_yielded(struct many_verbs *verbs, struct many_task *task,
                         struct many_thread *thread);
/* The thread goes on by other means: if the barrier holds it, the barrier is given up for all. */
void barrier_run_resumed(struct many_verbs *verbs, int64_t thread);
bool barrier_run_breakpoint_at(const struct many_verbs *verbs,
                               const struct frame_location *location);
void barrier_run_drop(struct many_verbs *verbs);

#endif
