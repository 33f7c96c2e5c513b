#include "base/mem.h"
#include "base/text.h"
#include "relay/barrier.h"
#include "relay/multi_verbs_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A barrier that is under way: its members run to a line, and are held there, unknown to the
 * client, until the last has come. */
struct meeting {
    struct multi_verbs *verbs;
    struct verbs_reply reply;
    char *file;
    int64_t line;
    char *place; /* "train.py:41" */
    int64_t timeout_ms;
    struct barrier *barrier;
    int64_t *members;
    int64_t *stops; /* each one's stop that it is to go on from, or 0 */
    size_t member_count;
    struct stakes stakes;
    int64_t begun_us;
    struct timer *timeout;
    struct timer *tick;
    char *said; /* the last progress */
    bool started;
};

enum { TICK_MS = 500, STACK_MS = 2000 };

static void on_tick(void *arg);

static void free_meeting(struct meeting *meeting)
{
    struct multi_verbs *verbs = meeting->verbs;
    if (verbs->meeting == meeting)
        verbs->meeting = NULL;
    survey_drop(verbs, meeting);
    look_drop(verbs, meeting);
    stakes_pull(verbs, &meeting->stakes);
    timer_cancel(&meeting->timeout);
    timer_cancel(&meeting->tick);
    barrier_destroy(&meeting->barrier);
    free(meeting->members);
    free(meeting->stops);
    free(meeting->file);
    free(meeting->place);
    free(meeting->said);
    free(meeting);
}

void meeting_drop(struct multi_verbs *verbs)
{
    if (verbs->meeting)
        free_meeting(verbs->meeting);
}

static double seconds(const struct meeting *meeting)
{
    return (double)(loop_now_us() - meeting->begun_us) / 1e6;
}

/* --- what is said --- */

static void send_event(const struct meeting *meeting, const char *state)
{
    struct buf body = {0};
    barrier_json(meeting->barrier, &body);
    body.len--;
    buf_printf(&body, ",\"state\":\"%s\"}", state);
    client_event(&meeting->verbs->multi->session->client, "raydbg/barrier", body.data);
    buf_free(&body);
}

static void say(const struct meeting *meeting, const char *text)
{
    char *line = mem_format("%s\n", text);
    client_say(&meeting->verbs->multi->session->client, "console", line);
    free(line);
}

static void note_missing(const struct meeting *meeting)
{
    for (size_t i = 0; i < meeting->member_count; i++) {
        struct multi_target *target;
        const struct multi_thread *thread =
            multi_thread_by_id(meeting->verbs->multi, meeting->members[i], &target);
        if (!thread || !multi_target_is_there(target))
            barrier_leave(meeting->barrier, meeting->members[i], "its worker is gone");
        else if (!thread->shown)
            barrier_leave(meeting->barrier, meeting->members[i], "its task has ended");
        else if (!thread->stopped)
            barrier_note(meeting->barrier, meeting->members[i], "running");
    }
}

/* --- the end --- */

/* One stop for all that were held, as for a population: a client draws it in one go. */
static void show_held(const struct meeting *meeting)
{
    struct multi *multi = meeting->verbs->multi;
    for (size_t i = 0; i < meeting->member_count; i++) {
        struct multi_target *target;
        struct multi_thread *thread = multi_thread_by_id(multi, meeting->members[i], &target);
        if (!thread || !thread->stopped || !barrier_holds(meeting->barrier, thread->id))
            continue;
        multi_stop_show_all(multi, target, thread);
        return;
    }
}

/* `state` is for the event; `why` follows the count, in words. */
static void end(struct meeting *meeting, const char *state, const char *why)
{
    struct buf text = {0};
    meeting->verbs->meeting = NULL;
    barrier_text(meeting->barrier, &text);
    buf_printf(&text, "; %s", why);
    say(meeting, text.data);
    send_event(meeting, state);
    show_held(meeting);
    buf_free(&text);
    free_meeting(meeting);
}

static void end_complete(struct meeting *meeting)
{
    char why[64];
    if (barrier_arrived(meeting->barrier))
        snprintf(why, sizeof why, "all here after %.1f s", seconds(meeting));
    else
        snprintf(why, sizeof why, "nobody is left to wait for");
    end(meeting, "complete", why);
}

/* The end is the loop's: who arrives, or leaves, is in the middle of something. */
static void look_soon(struct meeting *meeting)
{
    if (!barrier_complete(meeting->barrier))
        return;
    timer_cancel(&meeting->tick);
    meeting->tick = timer_start(meeting->verbs->multi->loop, 0, on_tick, meeting);
}

static void on_timeout(void *arg)
{
    struct meeting *meeting = arg;
    char why[64];
    meeting->timeout = NULL;
    if (meeting->verbs->multi->leaving) {
        free_meeting(meeting);
        return;
    }
    note_missing(meeting);
    snprintf(why, sizeof why, "given up after %.6g s", (double)meeting->timeout_ms / 1000);
    end(meeting, "timeout", why);
}

static void cancel(struct multi_verbs *verbs, const char *why)
{
    struct meeting *meeting = verbs->meeting;
    if (meeting && meeting->started) {
        end(meeting, "cancelled", why);
    } else if (meeting) {
        struct err err = {0};
        err_set(&err, ERR_FAILED, "barrier %s is given up: %s", meeting->place, why);
        verbs_refuse(verbs, &meeting->reply, &err);
        free_meeting(meeting);
    }
}

/* --- progress --- */

static int64_t gone_by_hand(const struct meeting *meeting)
{
    for (size_t i = 0; i < meeting->member_count; i++) {
        struct multi_target *target;
        const struct multi_thread *thread =
            multi_thread_by_id(meeting->verbs->multi, meeting->members[i], &target);
        if (thread && !thread->stopped && barrier_holds(meeting->barrier, thread->id))
            return thread->id;
    }
    return 0;
}

static void tell_progress(struct meeting *meeting)
{
    struct buf text = {0};
    barrier_text(meeting->barrier, &text);
    bool news = !text_equal(text.data, meeting->said);
    if (news) {
        struct multi_verbs *verbs = meeting->verbs;
        free(meeting->said);
        meeting->said = mem_string(text.data);
        say(meeting, text.data);
        if (verbs->meeting == meeting)
            send_event(meeting, "waiting");
    }
    buf_free(&text);
}

/* Tells what has changed, not more often than each tick. */
static void on_tick(void *arg)
{
    struct meeting *meeting = arg;
    meeting->tick = NULL;
    if (meeting->verbs->multi->leaving) {
        free_meeting(meeting);
        return;
    }
    int64_t strayed = gone_by_hand(meeting);
    note_missing(meeting);
    if (strayed) {
        meeting_resumed(meeting->verbs, strayed);
    } else if (barrier_complete(meeting->barrier)) {
        end_complete(meeting);
    } else {
        meeting->tick = timer_start(meeting->verbs->multi->loop, TICK_MS, on_tick, meeting);
        tell_progress(meeting);
    }
}

/* --- stops --- */

/* A breakpoint() on the way passes: a task of Ray's that can be debugged has one. What the client
 * has set stops, and so does all else. */
static bool passes(const struct meeting *meeting, const struct multi_thread *thread,
                   const struct stack_place *place)
{
    return text_equal(thread->reason, "breakpoint") && place->file &&
           !multi_sets_has(meeting->verbs->multi->sets, place->file, place->line);
}

static void elsewhere(struct meeting *meeting, struct multi_target *target,
                      struct multi_thread *thread, const struct stack_place *place)
{
    if (passes(meeting, thread, place)) {
        run_pass(meeting->verbs, thread);
        return;
    }
    char *where = place->file ? verbs_place(place->file, place->line) : NULL;
    char *what = where ? mem_format("stopped at %s", where) : mem_string("stopped");
    barrier_note(meeting->barrier, thread->id, what);
    free(what);
    free(where);
    multi_stop_note(target, thread);
}

static void on_arrival(void *arg, const struct look_result *result)
{
    struct meeting *meeting = arg;
    struct multi_target *target;
    struct multi_thread *thread =
        multi_thread_by_id(meeting->verbs->multi, result->thread, &target);
    if (!thread || !thread->stopped)
        return;
    if (stakes_at(&meeting->stakes, &result->top)) {
        barrier_arrive(meeting->barrier, thread->id);
        look_soon(meeting);
    } else {
        elsewhere(meeting, target, thread, &result->top);
    }
}

bool meeting_stopped(struct multi_verbs *verbs, struct multi_thread *thread)
{
    struct meeting *meeting = verbs->meeting;
    if (!meeting || !meeting->started || !barrier_expects(meeting->barrier, thread->id))
        return false;
    if (text_equal(thread->reason, "exception")) {
        meeting_left(verbs, thread->id, "stopped by an exception");
        return false;
    }
    look_stack(verbs, thread->id, STACK_MS, on_arrival, meeting);
    return true;
}

void meeting_left(struct multi_verbs *verbs, int64_t thread, const char *why)
{
    struct meeting *meeting = verbs->meeting;
    if (meeting && meeting->started && barrier_leave(meeting->barrier, thread, why))
        look_soon(meeting);
}

void meeting_resumed(struct multi_verbs *verbs, int64_t thread)
{
    struct meeting *meeting = verbs->meeting;
    struct multi_target *target;
    if (!meeting || !meeting->started || !barrier_holds(meeting->barrier, thread))
        return;
    const struct multi_thread *held = multi_thread_by_id(verbs->multi, thread, &target);
    char *why = mem_format("given up: %s goes on by hand", held ? held->name : "one");
    cancel(verbs, why);
    free(why);
}

bool meeting_stake_at(const struct multi_verbs *verbs, const struct stack_place *place)
{
    return verbs->meeting && stakes_at(&verbs->meeting->stakes, place);
}

/* --- the beginning --- */

static bool is_there(const struct meeting *meeting, const struct survey *survey, int64_t thread)
{
    for (size_t i = 0; i < survey->place_count; i++) {
        const struct survey_place *at = &survey->places[i];
        const struct stack_place place = {.file = at->file, .line = at->line};
        if (at->thread == thread)
            return stakes_at(&meeting->stakes, &place);
    }
    return false;
}

/* Those that are at the line have arrived; but if all are, this is the next round. */
static bool is_next_round(const struct meeting *meeting, const struct survey *survey)
{
    for (size_t i = 0; i < meeting->member_count; i++)
        if (!is_there(meeting, survey, meeting->members[i]))
            return false;
    return true;
}

/* Where each is before any goes on. */
static void place_member(struct meeting *meeting, size_t index, bool there)
{
    struct multi_target *target;
    int64_t id = meeting->members[index];
    const struct multi_thread *thread = multi_thread_by_id(meeting->verbs->multi, id, &target);
    if (!thread || !thread->stopped)
        return;
    run_forget(meeting->verbs, id);
    if (text_equal(thread->reason, "exception"))
        barrier_leave(meeting->barrier, id, "stopped by an exception");
    else if (there)
        barrier_arrive(meeting->barrier, id);
    else
        barrier_note(meeting->barrier, id, "running");
    meeting->stops[index] = thread->stops;
}

/* Whether the client has been told of that stop does not matter. One that stops again meanwhile has
 * arrived, or is judged. */
static void resume_missing(struct meeting *meeting)
{
    struct multi_verbs *verbs = meeting->verbs;
    for (size_t i = 0; verbs->meeting == meeting && i < meeting->member_count; i++) {
        struct multi_target *target;
        const struct multi_thread *thread =
            multi_thread_by_id(verbs->multi, meeting->members[i], &target);
        if (thread && thread->stopped && thread->stops == meeting->stops[i] &&
            barrier_expects(meeting->barrier, thread->id))
            multi_resume(target, thread, "continue", false, true);
    }
}

static void expect_all(struct meeting *meeting)
{
    for (size_t i = 0; i < meeting->member_count; i++) {
        struct multi_target *target;
        const struct multi_thread *thread =
            multi_thread_by_id(meeting->verbs->multi, meeting->members[i], &target);
        if (!thread)
            continue;
        const struct crowd_member who = verbs_member(target, thread);
        barrier_expect(meeting->barrier, &who);
    }
}

/* Who is where, to whoever asked. */
static void answer(struct meeting *meeting, const struct verbs_reply *reply)
{
    struct buf text = {0}, body = {0};
    barrier_text(meeting->barrier, &text);
    barrier_json(meeting->barrier, &body);
    free(meeting->said);
    meeting->said = mem_string(text.data);
    verbs_answer(meeting->verbs, reply, text.data, body.data);
    buf_free(&text);
    buf_free(&body);
}

static void on_survey(void *arg, const struct survey *survey)
{
    struct meeting *meeting = arg;
    struct multi_verbs *verbs = meeting->verbs;
    if (survey->path_count == 0) {
        struct err err = {0};
        survey_unknown(meeting->file, &err);
        verbs_refuse(verbs, &meeting->reply, &err);
        free_meeting(meeting);
        return;
    }
    expect_all(meeting);
    stakes_set(verbs, &meeting->stakes, survey, meeting->line);
    meeting->started = true;
    meeting->begun_us = loop_now_us();
    bool next_round = is_next_round(meeting, survey);
    for (size_t i = 0; i < meeting->member_count; i++)
        place_member(meeting, i, !next_round && is_there(meeting, survey, meeting->members[i]));
    note_missing(meeting);
    if (meeting->timeout_ms)
        meeting->timeout =
            timer_start(verbs->multi->loop, meeting->timeout_ms, on_timeout, meeting);
    meeting->tick = timer_start(verbs->multi->loop, TICK_MS, on_tick, meeting);
    look_soon(meeting);
    answer(meeting, &meeting->reply);
    if (verbs->meeting == meeting)
        resume_missing(meeting);
}

static void begin(struct multi_verbs *verbs, const struct many_verb *verb,
                  const struct verbs_reply *reply)
{
    struct err err = {0};
    int64_t *ids;
    size_t count;
    if (verbs_select(verbs, verb->subject, &ids, &count, &err) != 0) {
        verbs_refuse(verbs, reply, &err);
        return;
    }
    cancel(verbs, "given up for another barrier");
    struct meeting *meeting = mem_alloc(sizeof *meeting);
    *meeting = (struct meeting){
        .verbs = verbs,
        .reply = *reply,
        .file = mem_string(verb->file),
        .line = verb->line,
        .place = verbs_place(verb->file, verb->line),
        .timeout_ms = verb->timeout_ms,
        .members = ids,
        .member_count = count,
    };
    meeting->stops = mem_array(count, sizeof *meeting->stops);
    meeting->barrier = barrier_create(meeting->place);
    verbs->meeting = meeting;
    survey_take(verbs, meeting->file, on_survey, meeting);
}

void meeting_verb(struct multi_verbs *verbs, const struct many_verb *verb,
                  const struct verbs_reply *reply)
{
    struct meeting *meeting = verbs->meeting;
    struct err err = {0};
    if (verb->file) {
        begin(verbs, verb, reply);
    } else if (!meeting || !meeting->started) {
        err_set(&err, ERR_NOT_FOUND, "there is no barrier under way");
        err_hint(&err, "/barrier FILE:LINE [GROUP] begins one");
        verbs_refuse(verbs, reply, &err);
    } else {
        note_missing(meeting);
        answer(meeting, reply);
        if (verb->remove)
            cancel(verbs, "given up by hand");
    }
}
