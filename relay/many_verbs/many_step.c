#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/many_verbs/many_verbs_state.h"

#include <inttypes.h>
#include <stdlib.h>

/* A step or a continue of many tasks; with conditions it lasts until each has stopped for good. */
struct run {
    struct run *next;
    struct many_verbs *verbs;
    struct verbs_reply reply;
    const char *how;
    char *subject;
    char *condition; /* stops at which it is true pass; or NULL */
    char *file;      /* run until this line, too; or NULL */
    int64_t line;
    int64_t skip;
    struct temporary_breakpoints temporary_breakpoints;
    size_t plans; /* the plans of this run */
    bool over;    /* no plan is left */
    bool complained;
};

/* The plan for a thread's next stops. */
struct plan {
    struct plan *next;
    int64_t thread;
    int64_t skip; /* stops that are still to pass */
    struct run *run;
};

/* A stop that may pass: the client is not told before that is decided. */
struct judging {
    struct judging *next;
    struct many_verbs *verbs;
    int64_t thread;
    int64_t stop; /* the number of the thread's stop */
};

/* A thread that goes on, if it is still at this stop. */
struct passing {
    int64_t thread, stop;
};

enum { STACK_MS = 15000, CONDITION_MS = 5000 };

static void free_run(struct run *run)
{
    LIST_DROP(run->verbs->runs, run);
    path_query_drop(run->verbs, run);
    temporary_breakpoints_pull(run->verbs, &run->temporary_breakpoints);
    free(run->subject);
    free(run->condition);
    free(run->file);
    free(run);
}

/* --- deferred to the loop --- */

static void pass(struct many_verbs *verbs, const struct passing *passing)
{
    struct many_task *task;
    struct many_thread *thread = many_thread_by_id(verbs->many, passing->thread, &task);
    if (!thread || !thread->stopped || thread->stops != passing->stop)
        return;
    if (!verbs_is_anothers(task))
        many_resume(task, thread, "continue", false, thread->told);
    else if (!thread->told) /* taken over meanwhile */
        many_stop_note(task, thread);
}

static void on_wake(void *arg)
{
    struct many_verbs *verbs = many_verbs_checked(arg);
    struct passing *passing = verbs->passing;
    size_t count = verbs->passing_count;
    verbs->wake = NULL;
    verbs->passing = NULL;
    verbs->passing_count = 0;
    for (struct run *run = verbs->runs, *next; run; run = next) {
        next = run->next;
        if (run->over)
            free_run(run);
    }
    for (size_t i = 0; i < count; i++)
        pass(verbs, &passing[i]);
    free(passing);
}

static void wake(struct many_verbs *verbs)
{
    if (!verbs->wake)
        verbs->wake = timer_start(verbs->many->loop, 0, on_wake, verbs);
}

void run_pass(struct many_verbs *verbs, const struct many_thread *thread)
{
    verbs->passing = mem_resize(verbs->passing, verbs->passing_count + 1, sizeof *verbs->passing);
    verbs->passing[verbs->passing_count++] = (struct passing){thread->id, thread->stops};
    wake(verbs);
}

static struct plan *find_plan(const struct many_verbs *verbs, int64_t thread)
{
    struct plan *plan = verbs->plans;
    while (plan && plan->thread != thread)
        plan = plan->next;
    return plan;
}

void run_forget(struct many_verbs *verbs, int64_t thread)
{
    struct plan **at = &verbs->plans, *plan;
    while (*at && (*at)->thread != thread)
        at = &(*at)->next;
    if (!*at)
        return;
    plan = *at;
    *at = plan->next;
    plan->run->plans--;
    plan->run->over = plan->run->plans == 0;
    if (plan->run->over)
        wake(verbs);
    free(plan);
}

static void free_judging(struct judging *judging)
{
    LIST_DROP(judging->verbs->judgings, judging);
    request_drop(judging->verbs, judging);
    free(judging);
}

void run_drop(struct many_verbs *verbs)
{
    while (verbs->judgings)
        free_judging(verbs->judgings);
    while (verbs->plans)
        run_forget(verbs, verbs->plans->thread);
    while (verbs->runs) /* runs that wait for a path query have no plans */
        free_run(verbs->runs);
    timer_cancel(&verbs->wake);
    free(verbs->passing);
    verbs->passing = NULL;
    verbs->passing_count = 0;
}

static void add_plan(struct run *run, int64_t thread)
{
    struct many_verbs *verbs = run->verbs;
    struct plan *plan = mem_alloc(sizeof *plan);
    *plan = (struct plan){verbs->plans, thread, run->skip, run};
    verbs->plans = plan;
    run->plans++;
}

static void answer(struct run *run, const int64_t *ids, size_t count, size_t running,
                   size_t observed, const char *name)
{
    struct buf text = {0}, body = {0};
    buf_printf(&text, "%s: %zu task%s", name, count, count == 1 ? "" : "s");
    if (running)
        buf_printf(&text, ", %zu %s already", running, running == 1 ? "runs" : "run");
    if (observed)
        buf_printf(&text, ", %zu driven by another client", observed);
    buf_add_string(&body, "{\"threadIds\":[");
    for (size_t i = 0; i < count; i++)
        buf_printf(&body, i ? ",%" PRId64 : "%" PRId64, ids[i]);
    buf_printf(&body, "],\"running\":%zu,\"observed\":%zu}", running, observed);
    verbs_answer(run->verbs, &run->reply, text.data, body.data);
    buf_free(&text);
    buf_free(&body);
}

static const char *name_of(const struct run *run)
{
    return text_equal(run->how, "stepIn")    ? "step"
           : text_equal(run->how, "stepOut") ? "out"
           : run->file                       ? "until"
                                             : run->how;
}

/* Answers first: events about threads then follow a request that the client knows to be done. */
static void go(struct run *run)
{
    struct many_verbs *verbs = run->verbs;
    struct many_task *task;
    struct err err = {0};
    int64_t *ids;
    size_t count, observed, stopped = 0;
    if (verbs_select_driven(verbs, run->subject, &ids, &count, &observed, &err) != 0) {
        verbs_refuse(verbs, &run->reply, &err);
        free_run(run);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct many_thread *thread = many_thread_by_id(verbs->many, ids[i], &task);
        if (thread && thread->stopped)
            ids[stopped++] = ids[i];
    }
    bool lasts = run->skip || run->condition || run->temporary_breakpoints.count;
    const char *how = run->how;
    answer(run, ids, stopped, count - stopped, observed, name_of(run));
    for (size_t i = 0; i < stopped; i++) {
        run_forget(verbs, ids[i]);
        barrier_run_resumed(verbs, ids[i]);
        if (lasts)
            add_plan(run, ids[i]);
    }
    if (!lasts || !stopped)
        free_run(run);
    for (size_t i = 0; i < stopped; i++) {
        struct many_thread *thread = many_thread_by_id(verbs->many, ids[i], &task);
        if (thread && thread->stopped)
            many_resume(task, thread, how, false, true);
    }
    free(ids);
}

static void on_paths(void *arg, const struct path_query *path_query)
{
    struct run *run = arg;
    if (path_query->path_count == 0) {
        struct err err = {0};
        path_query_unknown(run->file, &err);
        verbs_refuse(run->verbs, &run->reply, &err);
        free_run(run);
        return;
    }
    temporary_breakpoints_set(run->verbs, &run->temporary_breakpoints, path_query, run->line);
    go(run);
}

void run_step(struct many_verbs *verbs, const struct verb *verb, const struct verbs_reply *reply)
{
    struct run *run = mem_alloc(sizeof *run);
    *run = (struct run){
        .next = verbs->runs,
        .verbs = verbs,
        .reply = *reply,
        .how = verb->how,
        .subject = mem_string(verb->subject),
        .condition = mem_string(verb->expression),
        .file = mem_string(verb->file),
        .line = verb->line,
        .skip = verb->skip,
    };
    verbs->runs = run;
    if (run->file)
        path_query_take(verbs, run->file, on_paths, run);
    else
        go(run);
}

/* --- stops --- */

static struct judging *judge(struct many_verbs *verbs, const struct many_thread *thread)
{
    struct judging *judging = mem_alloc(sizeof *judging);
    *judging = (struct judging){verbs->judgings, verbs, thread->id, thread->stops};
    verbs->judgings = judging;
    return judging;
}

/* NULL if the thread has gone on, or is gone, meanwhile. */
static struct many_thread *still_stopped(const struct judging *judging, struct many_task **task)
{
    struct many_thread *thread = many_thread_by_id(judging->verbs->many, judging->thread, task);
    return thread && thread->stopped && thread->stops == judging->stop ? thread : NULL;
}

static void settle(struct judging *judging, bool passes)
{
    struct many_verbs *verbs = judging->verbs;
    struct many_task *task;
    struct many_thread *thread = still_stopped(judging, &task);
    free_judging(judging);
    if (thread && passes) {
        run_pass(verbs, thread);
    } else if (thread) {
        run_forget(verbs, thread->id);
        many_stop_note(task, thread);
    }
}

static void complain(struct run *run, const struct many_thread *thread, const char *problem)
{
    if (run->complained)
        return;
    run->complained = true;
    char *text = mem_format("--if %s: %s: %s; this stop does not pass\n", run->condition,
                            thread->name, problem);
    client_say(run->verbs->many->client, "console", text);
    free(text);
}

static void on_condition(void *arg, const struct request_result *result)
{
    struct judging *judging = arg;
    struct many_task *task;
    const struct many_thread *thread = still_stopped(judging, &task);
    const struct plan *plan = find_plan(judging->verbs, judging->thread);
    if (thread && plan && !result->value)
        complain(plan->run, thread, result->problem);
    settle(judging, plan && text_equal(result->value, "True"));
}

/* True at a verb's breakpoint where none of the client's is in force: it is for that verb's threads
 * only, and other threads pass. */
static bool is_foreign_stake(const struct many_verbs *verbs, const struct frame_location *location)
{
    bool there = barrier_run_breakpoint_at(verbs, location);
    for (const struct run *run = verbs->runs; run && !there; run = run->next)
        there = temporary_breakpoints_at(&run->temporary_breakpoints, location);
    return there && !many_breakpoints_stops(verbs->many->sets, location->file, location->line);
}

static void on_location(void *arg, const struct request_result *result)
{
    struct judging *judging = arg;
    settle(judging, result->json && is_foreign_stake(judging->verbs, &result->top));
}

static bool has_temporary_breakpoints(const struct many_verbs *verbs)
{
    bool any = verbs->barrier_run != NULL;
    for (const struct run *run = verbs->runs; run && !any; run = run->next)
        any = run->temporary_breakpoints.count > 0;
    return any;
}

static void judge_condition(struct many_verbs *verbs, const struct many_thread *thread,
                            const struct plan *plan)
{
    char *expression = mem_format("bool((%s))", plan->run->condition);
    request_value(verbs, thread->id, expression, CONDITION_MS, on_condition, judge(verbs, thread));
    free(expression);
}

bool run_stopped(struct many_verbs *verbs, struct many_thread *thread)
{
    struct plan *plan = find_plan(verbs, thread->id);
    if (plan && text_equal(thread->reason, "exception")) { /* an exception never passes */
        run_forget(verbs, thread->id);
        return false;
    }
    if (plan && plan->skip > 0) {
        plan->skip--;
        run_pass(verbs, thread);
        return true;
    }
    if (plan && plan->run->condition) {
        judge_condition(verbs, thread, plan);
        return true;
    }
    if (plan) {
        run_forget(verbs, thread->id);
        return false;
    }
    if (!has_temporary_breakpoints(verbs) || !text_equal(thread->reason, "breakpoint"))
        return false;
    request_stack(verbs, thread->id, STACK_MS, on_location, judge(verbs, thread));
    return true;
}
