#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/many_verbs/many_verbs_state.h"
#include "relay/verbs/barrier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A barrier under way: its members run to a line and are held there, unknown to the client, until
 * the last one has come. */
struct barrier_run {
    uint32_t magic;
    struct many_verbs *verbs;
    struct verbs_reply reply;
    char *file;
    int64_t line;
    char *location; /* "train.py:41" */
    int64_t timeout_ms;
    struct barrier *barrier;
    int64_t *members;
    int64_t *stops; /* for each member the stop that it goes on from, or 0 */
    size_t member_count;
    struct temporary_breakpoints temporary_breakpoints;
    int64_t begun_us;
    struct timer *timeout;
    struct timer *tick;
    char *said; /* the last progress text */
    bool started;
};
INVARIANT_MAGIC(barrier_run, 0xbf54e44e)
#define barrier_run_checked(object) barrier_run_checked_at(INVARIANT_HERE, object)

enum { TICK_MS = 500, STACK_MS = 15000 };

static const char of_another[] = "another client drives it";

static void on_tick(void *arg);

static void free_barrier_run(struct barrier_run *barrier_run)
{
    struct many_verbs *verbs = barrier_run->verbs;
    if (verbs->barrier_run == barrier_run)
        verbs->barrier_run = NULL;
    path_query_drop(verbs, barrier_run);
    request_drop(verbs, barrier_run);
    temporary_breakpoints_pull(verbs, &barrier_run->temporary_breakpoints);
    timer_cancel(&barrier_run->timeout);
    timer_cancel(&barrier_run->tick);
    barrier_destroy(&barrier_run->barrier);
    free(barrier_run->members);
    free(barrier_run->stops);
    free(barrier_run->file);
    free(barrier_run->location);
    free(barrier_run->said);
    barrier_run_clear_magic(barrier_run);
    free(barrier_run);
}

void barrier_run_drop(struct many_verbs *verbs)
{
    if (verbs->barrier_run)
        free_barrier_run(verbs->barrier_run);
}

static struct many_thread *member_thread(const struct barrier_run *barrier_run, size_t index,
                                         struct many_task **task)
{
    return many_thread_by_id(barrier_run->verbs->many, barrier_run->members[index], task);
}

static double seconds(const struct barrier_run *barrier_run)
{
    return (double)(loop_now_us() - barrier_run->begun_us) / 1e6;
}

/* --- messages to the client --- */

static void send_event(const struct barrier_run *barrier_run, const char *state)
{
    struct buf body = {0};
    barrier_json(barrier_run->barrier, &body);
    body.len--;
    buf_printf(&body, ",\"state\":\"%s\"}", state);
    client_event(barrier_run->verbs->many->client, "raydbg/barrier", body.data);
    buf_free(&body);
}

static void say(const struct barrier_run *barrier_run, const char *text)
{
    char *line = mem_format("%s\n", text);
    client_say(barrier_run->verbs->many->client, "console", line);
    free(line);
}

/* A worker that does not read for now is still waited for. */
static void note_missing(const struct barrier_run *barrier_run)
{
    for (size_t i = 0; i < barrier_run->member_count; i++) {
        struct many_task *task;
        const struct many_thread *thread = member_thread(barrier_run, i, &task);
        if (!thread || (task->state != MANY_READY && task->state != MANY_RUNNING))
            barrier_leave(barrier_run->barrier, barrier_run->members[i], "its worker is gone");
        else if (!thread->shown)
            barrier_leave(barrier_run->barrier, barrier_run->members[i], "its task has ended");
        else if (!thread->stopped)
            barrier_note(barrier_run->barrier, barrier_run->members[i], "running");
    }
}

/* --- the end --- */

/* One `stopped` for all held threads, as for a population: a client draws it in one go. */
static void show_held(const struct barrier_run *barrier_run)
{
    for (size_t i = 0; i < barrier_run->member_count; i++) {
        struct many_task *task;
        struct many_thread *thread = member_thread(barrier_run, i, &task);
        if (thread && thread->stopped && barrier_holds(barrier_run->barrier, thread->id)) {
            many_stop_show_all(barrier_run->verbs->many, task, thread);
            return;
        }
    }
}

/* Tells the client of the stops that were still being judged. */
static void show_judged(const struct barrier_run *barrier_run)
{
    for (size_t i = 0; i < barrier_run->member_count; i++) {
        struct many_task *task;
        struct many_thread *thread = member_thread(barrier_run, i, &task);
        if (thread && thread->stopped && !thread->told &&
            request_is_open(barrier_run->verbs, thread->id, barrier_run))
            many_stop_note(task, thread);
    }
}

/* `state` is the event's; `why` follows the counts in the text. */
static void end(struct barrier_run *barrier_run, const char *state, const char *why)
{
    struct buf text = {0};
    barrier_run->verbs->barrier_run = NULL;
    barrier_text(barrier_run->barrier, &text);
    buf_printf(&text, "; %s", why);
    say(barrier_run, text.data);
    send_event(barrier_run, state);
    show_held(barrier_run);
    show_judged(barrier_run);
    buf_free(&text);
    free_barrier_run(barrier_run);
}

static void end_complete(struct barrier_run *barrier_run)
{
    char why[64];
    if (barrier_arrived(barrier_run->barrier))
        snprintf(why, sizeof why, "all here after %.1f s", seconds(barrier_run));
    else
        snprintf(why, sizeof why, "nobody is left to wait for");
    end(barrier_run, "complete", why);
}

/* End the barrier from the loop: a task's callback may still be on the stack. */
static void look_soon(struct barrier_run *barrier_run)
{
    if (!barrier_complete(barrier_run->barrier))
        return;
    timer_cancel(&barrier_run->tick);
    barrier_run->tick = timer_start(barrier_run->verbs->many->loop, 0, on_tick, barrier_run);
}

static void on_timeout(void *arg)
{
    struct barrier_run *barrier_run = barrier_run_checked(arg);
    char why[64];
    barrier_run->timeout = NULL;
    if (barrier_run->verbs->many->leaving) {
        free_barrier_run(barrier_run);
        return;
    }
    note_missing(barrier_run);
    snprintf(why, sizeof why, "given up after %.6g s", (double)barrier_run->timeout_ms / 1000);
    end(barrier_run, "timeout", why);
}

static void cancel(struct many_verbs *verbs, const char *why)
{
    struct barrier_run *barrier_run = verbs->barrier_run;
    if (barrier_run && barrier_run->started) {
        end(barrier_run, "cancelled", why);
    } else if (barrier_run) {
        struct err err = {0};
        err_set(&err, ERR_FAILED, "barrier %s is given up: %s", barrier_run->location, why);
        verbs_refuse(verbs, &barrier_run->reply, &err);
        free_barrier_run(barrier_run);
    }
}

/* --- progress --- */

static int64_t gone_by_hand(const struct barrier_run *barrier_run)
{
    for (size_t i = 0; i < barrier_run->member_count; i++) {
        struct many_task *task;
        const struct many_thread *thread = member_thread(barrier_run, i, &task);
        if (thread && !thread->stopped && barrier_holds(barrier_run->barrier, thread->id))
            return thread->id;
    }
    return 0;
}

static void tell_progress(struct barrier_run *barrier_run)
{
    struct buf text = {0};
    barrier_text(barrier_run->barrier, &text);
    bool news = !text_equal(text.data, barrier_run->said);
    if (news) {
        struct many_verbs *verbs = barrier_run->verbs;
        free(barrier_run->said);
        barrier_run->said = mem_string(text.data);
        say(barrier_run, text.data);
        if (verbs->barrier_run == barrier_run)
            send_event(barrier_run, "waiting");
    }
    buf_free(&text);
}

/* Sends the progress, if it has changed, at most once a tick. */
static void on_tick(void *arg)
{
    struct barrier_run *barrier_run = barrier_run_checked(arg);
    barrier_run->tick = NULL;
    if (barrier_run->verbs->many->leaving) {
        free_barrier_run(barrier_run);
        return;
    }
    note_missing(barrier_run); /* who is gone, has not gone on by hand */
    int64_t strayed = gone_by_hand(barrier_run);
    if (strayed) {
        barrier_run_resumed(barrier_run->verbs, strayed);
    } else if (barrier_complete(barrier_run->barrier)) {
        end_complete(barrier_run);
    } else {
        barrier_run->tick =
            timer_start(barrier_run->verbs->many->loop, TICK_MS, on_tick, barrier_run);
        tell_progress(barrier_run);
    }
}

/* --- stops --- */

/* A breakpoint() on the way passes: every task of Ray's that can be debugged has one. A breakpoint
 * that the client has set stops, and so does any other stop. */
static bool passes(const struct barrier_run *barrier_run, const struct many_thread *thread,
                   const struct frame_location *location)
{
    return text_equal(thread->reason, "breakpoint") && location->file &&
           !many_breakpoints_stops(barrier_run->verbs->many->sets, location->file, location->line);
}

static void elsewhere(struct barrier_run *barrier_run, struct many_task *task,
                      struct many_thread *thread, const struct frame_location *location)
{
    if (passes(barrier_run, thread, location)) {
        run_pass(barrier_run->verbs, thread);
        return;
    }
    char *where = location->file ? verbs_location(location->file, location->line) : NULL;
    char *what = where ? mem_format("stopped at %s", where) : mem_string("stopped");
    barrier_note(barrier_run->barrier, thread->id, what);
    free(what);
    free(where);
    many_stop_note(task, thread);
}

static void on_arrival(void *arg, const struct request_result *result)
{
    struct barrier_run *barrier_run = barrier_run_checked(arg);
    struct many_task *task;
    struct many_thread *thread = many_thread_by_id(barrier_run->verbs->many, result->thread, &task);
    if (!thread || !thread->stopped || barrier_holds(barrier_run->barrier, thread->id))
        return;
    if (!barrier_expects(barrier_run->barrier, thread->id)) { /* it has left meanwhile */
        if (!thread->told)
            many_stop_note(task, thread);
    } else if (temporary_breakpoints_at(&barrier_run->temporary_breakpoints, &result->top)) {
        barrier_arrive(barrier_run->barrier, thread->id);
        look_soon(barrier_run);
    } else {
        elsewhere(barrier_run, task, thread, &result->top);
    }
}

bool barrier_run_stopped(struct many_verbs *verbs, struct many_thread *thread)
{
    struct barrier_run *barrier_run = verbs->barrier_run;
    if (!barrier_run || !barrier_run->started || !barrier_expects(barrier_run->barrier, thread->id))
        return false;
    if (text_equal(thread->reason, "exception")) {
        barrier_run_left(verbs, thread->id, "stopped by an exception");
        return false;
    }
    request_stack(verbs, thread->id, STACK_MS, on_arrival, barrier_run);
    return true;
}

void barrier_run_left(struct many_verbs *verbs, int64_t thread, const char *why)
{
    struct barrier_run *barrier_run = verbs->barrier_run;
    if (barrier_run && barrier_run->started && barrier_leave(barrier_run->barrier, thread, why))
        look_soon(barrier_run);
}

void barrier_run_yielded(struct many_verbs *verbs, struct many_task *task,
                         struct many_thread *thread)
{
    struct barrier_run *barrier_run = verbs->barrier_run;
    if (!barrier_run || !barrier_run->started ||
        !barrier_leave(barrier_run->barrier, thread->id, of_another))
        return;
    look_soon(barrier_run);
    if (thread->stopped && !thread->told)
        many_stop_note(task, thread);
}

void barrier_run_resumed(struct many_verbs *verbs, int64_t thread)
{
    struct barrier_run *barrier_run = verbs->barrier_run;
    struct many_task *task;
    if (!barrier_run || !barrier_run->started || !barrier_holds(barrier_run->barrier, thread))
        return;
    const struct many_thread *held = many_thread_by_id(verbs->many, thread, &task);
    char *why = mem_format("given up: %s goes on by hand", held ? held->name : "one");
    cancel(verbs, why);
    free(why);
}

bool barrier_run_breakpoint_at(const struct many_verbs *verbs,
                               const struct frame_location *location)
{
    return verbs->barrier_run &&
           temporary_breakpoints_at(&verbs->barrier_run->temporary_breakpoints, location);
}

/* --- the beginning --- */

/* Members at the line have arrived already, unless all are there: then this is the next round. */
static bool is_next_round(const struct barrier_run *barrier_run,
                          const struct path_query *path_query)
{
    for (size_t i = 0; i < barrier_run->member_count; i++)
        if (!temporary_breakpoints_reached(&barrier_run->temporary_breakpoints, path_query,
                                           barrier_run->members[i]))
            return false;
    return true;
}

/* Records where a member is, before any member goes on. */
static void record_member(struct barrier_run *barrier_run, size_t index, bool there)
{
    struct many_task *task;
    int64_t id = barrier_run->members[index];
    const struct many_thread *thread = many_thread_by_id(barrier_run->verbs->many, id, &task);
    if (thread && verbs_is_anothers(task)) /* since the barrier was asked for */
        barrier_leave(barrier_run->barrier, id, of_another);
    if (!thread || !thread->stopped || verbs_is_anothers(task))
        return;
    run_forget(barrier_run->verbs, id);
    if (text_equal(thread->reason, "exception"))
        barrier_leave(barrier_run->barrier, id, "stopped by an exception");
    else if (there)
        barrier_arrive(barrier_run->barrier, id);
    else
        barrier_note(barrier_run->barrier, id, "running");
    barrier_run->stops[index] = thread->stops;
}

/* Resumes the missing members from the stop that record_member() saw, whether or not the client
 * knows of that stop. A member that has stopped again meanwhile has arrived, or is being judged. */
static void resume_missing(struct barrier_run *barrier_run)
{
    struct many_verbs *verbs = barrier_run->verbs;
    for (size_t i = 0; verbs->barrier_run == barrier_run && i < barrier_run->member_count; i++) {
        struct many_task *task;
        const struct many_thread *thread = member_thread(barrier_run, i, &task);
        if (thread && thread->stopped && thread->stops == barrier_run->stops[i] &&
            barrier_expects(barrier_run->barrier, thread->id))
            many_resume(task, thread, "continue", false, true);
    }
}

static void expect_all(struct barrier_run *barrier_run)
{
    for (size_t i = 0; i < barrier_run->member_count; i++) {
        struct many_task *task;
        const struct many_thread *thread = member_thread(barrier_run, i, &task);
        if (!thread)
            continue;
        const struct task_list_item who = verbs_member(task, thread);
        barrier_expect(barrier_run->barrier, &who);
    }
}

/* Answers with the members that have arrived and those that are missing. */
static void answer(struct barrier_run *barrier_run, const struct verbs_reply *reply)
{
    struct buf text = {0}, body = {0};
    barrier_text(barrier_run->barrier, &text);
    barrier_json(barrier_run->barrier, &body);
    free(barrier_run->said);
    barrier_run->said = mem_string(text.data);
    verbs_answer(barrier_run->verbs, reply, text.data, body.data);
    buf_free(&text);
    buf_free(&body);
}

static void on_paths(void *arg, const struct path_query *path_query)
{
    struct barrier_run *barrier_run = barrier_run_checked(arg);
    struct many_verbs *verbs = barrier_run->verbs;
    if (path_query->path_count == 0) {
        struct err err = {0};
        path_query_unknown(barrier_run->file, &err);
        verbs_refuse(verbs, &barrier_run->reply, &err);
        free_barrier_run(barrier_run);
        return;
    }
    expect_all(barrier_run);
    temporary_breakpoints_set(verbs, &barrier_run->temporary_breakpoints, path_query,
                              barrier_run->line);
    barrier_run->started = true;
    barrier_run->begun_us = loop_now_us();
    bool next_round = is_next_round(barrier_run, path_query);
    for (size_t i = 0; i < barrier_run->member_count; i++)
        record_member(barrier_run, i,
                      !next_round &&
                          temporary_breakpoints_reached(&barrier_run->temporary_breakpoints,
                                                        path_query, barrier_run->members[i]));
    note_missing(barrier_run);
    if (barrier_run->timeout_ms)
        barrier_run->timeout =
            timer_start(verbs->many->loop, barrier_run->timeout_ms, on_timeout, barrier_run);
    barrier_run->tick = timer_start(verbs->many->loop, TICK_MS, on_tick, barrier_run);
    look_soon(barrier_run);
    answer(barrier_run, &barrier_run->reply);
    if (verbs->barrier_run == barrier_run)
        resume_missing(barrier_run);
}

static void begin(struct many_verbs *verbs, const struct verb *verb,
                  const struct verbs_reply *reply)
{
    struct err err = {0};
    int64_t *ids;
    size_t count, observed;
    if (verbs_select_driven(verbs, verb->subject, &ids, &count, &observed, &err) != 0) {
        verbs_refuse(verbs, reply, &err);
        return;
    }
    cancel(verbs, "given up for another barrier");
    struct barrier_run *barrier_run = mem_alloc(sizeof *barrier_run);
    *barrier_run = (struct barrier_run){
        .verbs = verbs,
        .reply = *reply,
        .file = mem_string(verb->file),
        .line = verb->line,
        .location = verbs_location(verb->file, verb->line),
        .timeout_ms = verb->timeout_ms,
        .members = ids,
        .member_count = count,
    };
    barrier_run_set_magic(barrier_run);
    barrier_run->stops = mem_array(count, sizeof *barrier_run->stops);
    barrier_run->barrier = barrier_create(barrier_run->location);
    verbs->barrier_run = barrier_run;
    path_query_take(verbs, barrier_run->file, on_paths, barrier_run);
}

void barrier_run_verb(struct many_verbs *verbs, const struct verb *verb,
                      const struct verbs_reply *reply)
{
    struct barrier_run *barrier_run = verbs->barrier_run;
    struct err err = {0};
    if (verb->file) {
        begin(verbs, verb, reply);
    } else if (!barrier_run || !barrier_run->started) {
        err_set(&err, ERR_NOT_FOUND, "there is no barrier under way");
        err_hint(&err, "/barrier FILE:LINE [GROUP] begins one");
        verbs_refuse(verbs, reply, &err);
    } else {
        note_missing(barrier_run);
        answer(barrier_run, reply);
        if (verb->remove)
            cancel(verbs, "given up by hand");
    }
}
