#include "base/mem.h"
#include "base/text.h"
#include "relay/multi_verbs_state.h"

#include <inttypes.h>
#include <stdlib.h>

/* A step or a continue of many; with conditions it lasts until each has stopped for good. */
struct run {
    struct run *next;
    struct multi_verbs *verbs;
    struct verbs_reply reply;
    const char *how;
    char *subject;
    char *condition; /* stops at which it is true pass; or NULL */
    char *file;      /* run until this line, too; or NULL */
    int64_t line;
    int64_t skip;
    struct stakes stakes;
    size_t plans; /* of this run */
    bool over;    /* there are none any more */
    bool complained;
};

/* What is to happen at a thread's stops. */
struct plan {
    struct plan *next;
    int64_t thread;
    int64_t skip; /* stops that are still to pass */
    struct run *run;
};

/* A stop that the client is not told of before it is known whether it passes. */
struct judging {
    struct judging *next;
    struct multi_verbs *verbs;
    int64_t thread;
    int64_t stop; /* which of the thread's */
};

/* A thread that goes on from this stop of its. */
struct passing {
    int64_t thread, stop;
};

enum { STACK_MS = 2000, CONDITION_MS = 5000 };

static void free_run(struct run *run)
{
    struct run **at = &run->verbs->runs;
    while (*at && *at != run)
        at = &(*at)->next;
    if (*at)
        *at = run->next;
    survey_drop(run->verbs, run);
    stakes_pull(run->verbs, &run->stakes);
    free(run->subject);
    free(run->condition);
    free(run->file);
    free(run);
}

/* --- what is done from the loop --- */

static void pass(struct multi_verbs *verbs, const struct passing *passing)
{
    struct multi_target *target;
    struct multi_thread *thread = multi_thread_by_id(verbs->multi, passing->thread, &target);
    if (thread && thread->stopped && thread->stops == passing->stop)
        multi_resume(target, thread, "continue", false, thread->told);
}

static void on_wake(void *arg)
{
    struct multi_verbs *verbs = arg;
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

static void wake(struct multi_verbs *verbs)
{
    if (!verbs->wake)
        verbs->wake = timer_start(verbs->multi->loop, 0, on_wake, verbs);
}

void run_pass(struct multi_verbs *verbs, const struct multi_thread *thread)
{
    verbs->passing = mem_resize(verbs->passing, verbs->passing_count + 1, sizeof *verbs->passing);
    verbs->passing[verbs->passing_count++] = (struct passing){thread->id, thread->stops};
    wake(verbs);
}

static struct plan *find_plan(const struct multi_verbs *verbs, int64_t thread)
{
    struct plan *plan = verbs->plans;
    while (plan && plan->thread != thread)
        plan = plan->next;
    return plan;
}

void run_forget(struct multi_verbs *verbs, int64_t thread)
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
    struct judging **at = &judging->verbs->judgings;
    while (*at && *at != judging)
        at = &(*at)->next;
    if (*at)
        *at = judging->next;
    look_drop(judging->verbs, judging);
    free(judging);
}

void run_drop(struct multi_verbs *verbs)
{
    while (verbs->judgings)
        free_judging(verbs->judgings);
    while (verbs->plans)
        run_forget(verbs, verbs->plans->thread);
    while (verbs->runs) /* those that wait for a survey have no plans */
        free_run(verbs->runs);
    timer_cancel(&verbs->wake);
    free(verbs->passing);
    verbs->passing = NULL;
    verbs->passing_count = 0;
}

static void add_plan(struct run *run, int64_t thread)
{
    struct multi_verbs *verbs = run->verbs;
    struct plan *plan = mem_alloc(sizeof *plan);
    *plan = (struct plan){verbs->plans, thread, run->skip, run};
    verbs->plans = plan;
    run->plans++;
}

static void answer(struct run *run, const int64_t *ids, size_t count, size_t running,
                   const char *name)
{
    struct buf text = {0}, body = {0};
    buf_printf(&text, "%s: %zu task%s", name, count, count == 1 ? "" : "s");
    if (running)
        buf_printf(&text, ", %zu %s already", running, running == 1 ? "runs" : "run");
    buf_add_string(&body, "{\"threadIds\":[");
    for (size_t i = 0; i < count; i++)
        buf_printf(&body, i ? ",%" PRId64 : "%" PRId64, ids[i]);
    buf_printf(&body, "],\"running\":%zu}", running);
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

/* The answer goes first: what the client is told of the threads is about a request that it knows to
 * be done. */
static void go(struct run *run)
{
    struct multi_verbs *verbs = run->verbs;
    struct multi_target *target;
    struct err err = {0};
    int64_t *ids;
    size_t count, stopped = 0;
    if (verbs_select(verbs, run->subject, &ids, &count, &err) != 0) {
        verbs_refuse(verbs, &run->reply, &err);
        free_run(run);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct multi_thread *thread = multi_thread_by_id(verbs->multi, ids[i], &target);
        if (thread && thread->stopped)
            ids[stopped++] = ids[i];
    }
    bool lasts = run->skip || run->condition || run->stakes.count;
    const char *how = run->how;
    answer(run, ids, stopped, count - stopped, name_of(run));
    for (size_t i = 0; i < stopped; i++) {
        run_forget(verbs, ids[i]);
        meeting_resumed(verbs, ids[i]);
        if (lasts)
            add_plan(run, ids[i]);
    }
    if (!lasts || !stopped)
        free_run(run);
    for (size_t i = 0; i < stopped; i++) {
        struct multi_thread *thread = multi_thread_by_id(verbs->multi, ids[i], &target);
        if (thread && thread->stopped)
            multi_resume(target, thread, how, false, true);
    }
    free(ids);
}

static void on_survey(void *arg, const struct survey *survey)
{
    struct run *run = arg;
    if (survey->path_count == 0) {
        struct err err = {0};
        survey_unknown(run->file, &err);
        verbs_refuse(run->verbs, &run->reply, &err);
        free_run(run);
        return;
    }
    stakes_set(run->verbs, &run->stakes, survey, run->line);
    go(run);
}

void run_step(struct multi_verbs *verbs, const struct many_verb *verb,
              const struct verbs_reply *reply)
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
        survey_take(verbs, run->file, on_survey, run);
    else
        go(run);
}

/* --- stops --- */

static struct judging *judge(struct multi_verbs *verbs, const struct multi_thread *thread)
{
    struct judging *judging = mem_alloc(sizeof *judging);
    *judging = (struct judging){verbs->judgings, verbs, thread->id, thread->stops};
    verbs->judgings = judging;
    return judging;
}

/* NULL if the thread has gone on, or is gone, meanwhile. */
static struct multi_thread *still_stopped(const struct judging *judging,
                                          struct multi_target **target)
{
    struct multi_thread *thread =
        multi_thread_by_id(judging->verbs->multi, judging->thread, target);
    return thread && thread->stopped && thread->stops == judging->stop ? thread : NULL;
}

static void settle(struct judging *judging, bool passes)
{
    struct multi_verbs *verbs = judging->verbs;
    struct multi_target *target;
    struct multi_thread *thread = still_stopped(judging, &target);
    free_judging(judging);
    if (thread && passes) {
        run_pass(verbs, thread);
    } else if (thread) {
        run_forget(verbs, thread->id);
        multi_stop_note(target, thread);
    }
}

static void complain(struct run *run, const struct multi_thread *thread, const char *problem)
{
    if (run->complained)
        return;
    run->complained = true;
    char *text = mem_format("--if %s: %s: %s; this stop does not pass\n", run->condition,
                            thread->name, problem);
    client_say(&run->verbs->multi->session->client, "console", text);
    free(text);
}

static void on_condition(void *arg, const struct look_result *result)
{
    struct judging *judging = arg;
    struct multi_target *target;
    const struct multi_thread *thread = still_stopped(judging, &target);
    const struct plan *plan = find_plan(judging->verbs, judging->thread);
    if (thread && plan && !result->value)
        complain(plan->run, thread, result->problem);
    settle(judging, plan && text_equal(result->value, "True"));
}

/* A breakpoint that the client has not set is for those that it was set for: others pass. */
static bool is_foreign_stake(const struct multi_verbs *verbs, const struct stack_place *place)
{
    bool there = meeting_stake_at(verbs, place);
    for (const struct run *run = verbs->runs; run && !there; run = run->next)
        there = stakes_at(&run->stakes, place);
    return there && !multi_sets_has(verbs->multi->sets, place->file, place->line);
}

static void on_place(void *arg, const struct look_result *result)
{
    struct judging *judging = arg;
    settle(judging, result->json && is_foreign_stake(judging->verbs, &result->top));
}

static bool has_stakes(const struct multi_verbs *verbs)
{
    bool any = verbs->meeting != NULL;
    for (const struct run *run = verbs->runs; run && !any; run = run->next)
        any = run->stakes.count > 0;
    return any;
}

static void judge_condition(struct multi_verbs *verbs, const struct multi_thread *thread,
                            const struct plan *plan)
{
    char *expression = mem_format("bool((%s))", plan->run->condition);
    look_value(verbs, thread->id, expression, CONDITION_MS, on_condition, judge(verbs, thread));
    free(expression);
}

bool run_stopped(struct multi_verbs *verbs, struct multi_thread *thread)
{
    struct plan *plan = find_plan(verbs, thread->id);
    if (plan && text_equal(thread->reason, "exception")) { /* a task that fails never passes */
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
    if (!has_stakes(verbs) || !text_equal(thread->reason, "breakpoint"))
        return false;
    look_stack(verbs, thread->id, STACK_MS, on_place, judge(verbs, thread));
    return true;
}
