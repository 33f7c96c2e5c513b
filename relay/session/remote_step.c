#include "relay/session/remote_step.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause_reach.h"
#include "relay/session/remote_step_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 150,
    SILENCE_MS = 2000, /* a longer wait is announced to the user */
    /* How long a stop of the caller waits for the callee, which has been submitted: on a busy node,
     * Ray takes many seconds to start a worker. The client's `pause` ends the wait. */
    DEFER_MS = 60000,
    RETRY_MS = 30000,  /* how long Ray may take to run a task again */
    NAME_MS = 1500,    /* a worker reports the name of its task once a second */
    LINGER_MS = 10000, /* how long the search goes on when the caller is gone */
};

/* The seq of a request that the session itself sends along the path of a client's request. */
static const int64_t silent_seq = INT64_MIN;

struct remote_step *remote_step_need(struct session *session)
{
    if (!session->remote_step) {
        session->remote_step = mem_alloc(sizeof *session->remote_step);
        session->remote_step->session = session;
        remote_step_set_magic(session->remote_step);
    }
    return session->remote_step;
}

/* --- the step --- */

static void refuse(struct remote_step *step, const char *why)
{
    if (step->request.open)
        client_refuse(&step->session->client, open_request_close(&step->request), step->command,
                      why, true);
    step->state = REMOTE_STEP_NONE;
}

/* `frame`: as of remote_call_forget(). */
static void forget_note(struct remote_step *step, int64_t frame, link_answer_fn fn)
{
    char *arguments = remote_call_forget(step->way, step->uuid, frame);
    hub_ask(&step->session->member, "evaluate", arguments, REMOTE_STEP_ASK_MS, fn, step);
    free(arguments);
}

static void ignore(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    (void)arg;
    (void)json;
    (void)len;
    (void)envelope;
}

static void let_caller_run(struct remote_step *step)
{
    struct envelope envelope;
    const char *problem;
    char *json = mem_format("{\"seq\":1,\"type\":\"request\",\"command\":\"continue\","
                            "\"arguments\":{\"threadId\":%lld}}",
                            (long long)step->thread);
    if (envelope_read(&envelope, json, strlen(json), &problem) == 0)
        hub_forward(&step->session->member, (struct client_seq){silent_seq}, json, strlen(json),
                    &envelope);
    free(json);
}

static void on_noted(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct remote_step *step = remote_step_checked(arg);
    struct session *session = step->session;
    (void)len;
    if (step->state != REMOTE_STEP_NOTING)
        return;
    if (!json) { /* the note may be made yet: the next task would stop, without a client */
        forget_note(step, step->frame, ignore);
        refuse(step, "the worker has not answered");
        return;
    }
    char *result = envelope_result(json, envelope);
    bool noted = remote_call_task(result, step->task_id);
    free(result);
    if (!noted) {
        refuse(step, "Ray's worker did not take the note: is this thread in a task of Ray's?");
        return;
    }
    client_respond(&session->client, open_request_close(&step->request), step->command, NULL);
    step->since_us = loop_now_us();
    step->found_us = 0;
    step->until_us = 0;
    step->said = step->caller_gone = step->pauses = false;
    step->state = REMOTE_STEP_SEARCHING;
    let_caller_run(step);
    remote_step_search(step, 0);
}

static void on_frame(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct remote_step *step = remote_step_checked(arg);
    struct span frame;
    (void)len;
    if (step->state != REMOTE_STEP_NOTING)
        return;
    if (!remote_step_top_frame(json, envelope, &frame) ||
        !scan_integer_at(json, frame, "id", &step->frame)) {
        refuse(step, "the worker does not say where this thread stands");
        return;
    }
    char *arguments = remote_call_note(step->way, step->uuid, step->frame);
    hub_ask(&step->session->member, "evaluate", arguments, REMOTE_STEP_ASK_MS, on_noted, step);
    free(arguments);
}

static const char *why_not(const struct session *session, const char *json,
                           const struct envelope *envelope)
{
    const char *why = hub_refusal(&session->member, json, envelope);
    if (why)
        return why;
    if (session->remote_step && session->remote_step->state != REMOTE_STEP_NONE)
        return "another step into a remote task is under way";
    if (!pause_finder_cluster(session->finder))
        return "a session without a cluster cannot find the other task";
    return NULL;
}

void remote_step_begin(struct session *session, const char *json, const struct envelope *envelope,
                       enum remote_call_way way)
{
    int64_t thread = 0;
    const char *why = why_not(session, json, envelope);
    if (!why && !scan_integer_at(json, envelope->arguments, "threadId", &thread))
        why = "\"threadId\" is missing";
    if (why) {
        client_refuse(&session->client, envelope->seq, envelope->name, why, false);
        return;
    }
    struct remote_step *step = remote_step_need(session);
    step->state = REMOTE_STEP_NOTING;
    step->way = way;
    open_request_begin(&step->request, envelope->seq);
    step->thread = thread;
    step->frame = 0;
    text_copy(step->command, sizeof step->command, envelope->name);
    remote_call_uuid(step->uuid);
    remote_step_ask_top_frame(step, thread, on_frame);
}

/* --- the search --- */

static void say(struct session *session, const char *format, const char *what)
{
    char *text = mem_format(format, what);
    client_say(&session->client, "console", text);
    free(text);
}

/* The search ends, and the note was used: says what still comes of it. */
static void say_later_stop(const struct remote_step *step)
{
    say(step->session, "raydbg: if %s: 'raydbg list' shows it\n",
        step->way == REMOTE_CALL_INTO
            ? "the remote task starts later, it stops at its first line and waits for a debugger"
            : "the result is taken later, the task that takes it stops and waits for a debugger");
}

static const char *caller_name(const struct session *session)
{
    return session->pause.task_name ? session->pause.task_name : "the caller";
}

/* True if the session or one of its callers debugs it: a stop there is told to that session. */
static bool is_debugged(const struct session *session, const struct pause *pause)
{
    for (; session; session = session->caller)
        if (pause_same(pause, &session->pause))
            return true;
    return false;
}

/* Finds the pause that the note has led to, among the cluster's and those that the relay holds. */
static bool find_pause(const struct remote_step *step, struct pause *out)
{
    const struct session *session = step->session;
    const struct pause_list *list = cluster_pauses(pause_finder_cluster(session->finder));
    struct pause_list joined = {0};
    bool found = false;
    if (session->options.hubs) {
        hub_table_list(session->options.hubs, list, &joined);
        list = &joined;
    }
    for (size_t i = 0; i < list->count && !found; i++) {
        found = remote_call_is(&list->items[i], step->way, step->uuid, step->task_id) &&
                !is_debugged(session, &list->items[i]);
        if (found)
            pause_copy(out, &list->items[i]);
    }
    pause_list_clear(&joined);
    return found;
}

/* Wait up to NAME_MS for the callee's name: a client keeps showing the first one. */
static bool awaits_name(struct remote_step *step, const struct pause *pause, int64_t now)
{
    if (pause->task_name || !pause->task_id[0])
        return false;
    if (!step->found_us)
        step->found_us = now;
    return now - step->found_us < (int64_t)NAME_MS * 1000;
}

static void on_refreshed(void *arg, const struct err *err)
{
    struct remote_step *step = remote_step_checked(arg);
    struct pause pause;
    struct err own;
    int64_t now = loop_now_us();
    if (step->state != REMOTE_STEP_SEARCHING)
        return;
    if (!err && find_pause(step, &pause)) {
        bool unreachable = pause_reach_check(&pause, &own) != 0;
        if (awaits_name(step, &pause, now) || (unreachable && pause_reach_is_early(&pause)))
            remote_step_search(step, AGAIN_MS);
        else
            remote_step_enter(step, &pause);
        pause_clear(&pause);
        return;
    }
    if (step->until_us && now > step->until_us) {
        say(step->session, "raydbg: the other task does not stop: %s\n",
            step->way == REMOTE_CALL_INTO ? "it has not started" : "nobody takes the result");
        say_later_stop(step);
        remote_step_end(step);
        return;
    }
    if (!step->said && now - step->since_us > (int64_t)SILENCE_MS * 1000) {
        step->said = true;
        say(step->session, "raydbg: waiting %s\n",
            step->way == REMOTE_CALL_INTO ? "for the next remote task to start"
                                          : "for the result to be taken");
        if (remote_step_withholds(step))
            say(step->session, "raydbg: %s has stopped meanwhile: 'pause' shows that stop\n",
                caller_name(step->session));
    }
    remote_step_search(step, AGAIN_MS);
}

static void search(void *arg)
{
    struct remote_step *step = remote_step_checked(arg);
    step->timer = NULL;
    cluster_refresh(pause_finder_cluster(step->session->finder), on_refreshed, step);
}

void remote_step_search(struct remote_step *step, int64_t in_ms)
{
    step->timer = timer_start(step->session->options.loop, in_ms, search, step);
}

void remote_step_retry(struct remote_step *step)
{
    step->state = REMOTE_STEP_SEARCHING;
    step->since_us = loop_now_us();
    step->found_us = 0;
    step->until_us = step->since_us + (int64_t)RETRY_MS * 1000;
    step->said = false;
    remote_step_search(step, AGAIN_MS);
}

static void stop_searching(struct remote_step *step)
{
    timer_cancel(&step->timer);
    struct cluster *cluster = pause_finder_cluster(step->session->finder);
    if (cluster)
        cluster_refresh_cancel(cluster, step);
}

void remote_step_end(struct remote_step *step)
{
    struct session *session = step->session;
    bool withholds = remote_step_withholds(step);
    stop_searching(step);
    step->deferred = false;
    step->state = REMOTE_STEP_NONE;
    if (withholds)
        hub_tell_stops(&session->member);
    if (!step->caller_gone)
        return;
    session_send_terminated(session);
    if (session->client.gone)
        session_end(session);
}

/* --- the caller's events --- */

/* The hub knows whether a stop still holds: another client may have let the caller go on. */
bool remote_step_withholds(const struct remote_step *step)
{
    const struct member *member = &step->session->member;
    return step->deferred && member->hub && hub_count_stopped(member) > 0;
}

/* The caller has stopped by itself during the search for the callee: either it has submitted no
 * task yet, or the callee is on its way. */
static void on_forgotten(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct remote_step *step = remote_step_checked(arg);
    (void)len;
    char *result = envelope_result(json, envelope);
    bool unused = remote_call_was_unused(result), unsaid = step->unsaid;
    free(result);
    step->asks = step->unsaid = false;
    if (unsaid && !unused)
        say_later_stop(step);
    if (unsaid || step->state != REMOTE_STEP_SEARCHING)
        return;
    if (unused) {
        say(step->session, "raydbg: %s before this stop\n",
            step->way == REMOTE_CALL_INTO ? "no remote task was called"
                                          : "the task did not return");
        remote_step_end(step);
    } else if (step->pauses) {
        say_later_stop(step);
        remote_step_end(step);
    } else {
        step->since_us = loop_now_us();
        step->until_us = step->since_us + (int64_t)DEFER_MS * 1000;
        step->said = false;
    }
}

bool remote_step_event(struct session *session, const struct envelope *envelope)
{
    struct remote_step *step = session->remote_step;
    if (!step || !text_equal(envelope->name, "stopped"))
        return false;
    switch (step->state) {
    case REMOTE_STEP_SEARCHING:
        step->deferred = step->asks = true;
        forget_note(step, 0, on_forgotten);
        return true;
    case REMOTE_STEP_ENTERING:
        step->deferred = true;
        return true;
    case REMOTE_STEP_INSIDE:
        if (hub_has_stopped(&step->inner->member)) {
            say(session, "raydbg: %s has stopped, too: it is shown when this task goes on\n",
                caller_name(session));
            step->deferred = true;
            return true;
        }
        bool among_others = step->deferred; /* remote_step_end() tells this stop, too */
        remote_step_drop_callee(step);
        remote_step_end(step);
        return among_others;
    case REMOTE_STEP_NONE:
    case REMOTE_STEP_NOTING:
        break;
    }
    return false;
}

bool remote_step_response(struct session *session, const struct pending *pending, const char *json,
                          size_t len, const struct envelope *envelope)
{
    return remote_step_forgets(pending) ||
           remote_step_targets_response(session, pending, json, len, envelope);
}

bool remote_step_forgets(const struct pending *pending)
{
    return pending->client.value == silent_seq;
}

void remote_step_note_ended(struct session *session, const struct pending *pending)
{
    if (session->remote_step)
        remote_step_targets_note_ended(session->remote_step, pending);
}

/* --- requests --- */

static bool is_callers(const char *command)
{
    static const char *const commands[] = {"initialize",           "attach",    "configurationDone",
                                           "disconnect",           "terminate", "cancel",
                                           "raydbg/clusterObjects"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (text_equal(command, commands[i]))
            return true;
    return false;
}

bool remote_step_request(struct session *session, const char *json, size_t len,
                         const struct envelope *envelope)
{
    struct remote_step *step = session->remote_step;
    int64_t thread;
    if (!step)
        return false;
    bool pauses = step->state == REMOTE_STEP_SEARCHING && text_equal(envelope->name, "pause");
    step->pauses |= pauses && hub_drives(&session->member);
    if (pauses && remote_step_withholds(step)) {
        client_respond(&session->client, envelope->seq, envelope->name, NULL);
        step->unsaid = step->asks;
        if (!step->asks)
            say_later_stop(step);
        remote_step_end(step);
        return true;
    }
    if (step->state == REMOTE_STEP_ENTERING && breakpoint_union_is_set(envelope->name))
        remote_step_pass_set(step, json, envelope);
    if (step->state != REMOTE_STEP_INSIDE || is_callers(envelope->name))
        return false;
    if (scan_integer_at(json, envelope->arguments, "threadId", &thread) && thread < step->base)
        return false;
    if (breakpoint_union_is_set(envelope->name) && session_attached(session))
        remote_step_set_in_caller(step, json, len, envelope);
    remote_step_pass_request(step, json, len, envelope);
    return true;
}

/* --- the end --- */

bool remote_step_lost(struct session *session, const char *why)
{
    struct remote_step *step = session->remote_step;
    if (!step)
        return false;
    remote_step_targets_lost(step, why);
    remote_step_sets_give_up(step);
    if (step->state == REMOTE_STEP_NOTING)
        refuse(step, why);
    if (step->state == REMOTE_STEP_NONE)
        return false;
    if (step->state == REMOTE_STEP_SEARCHING)
        step->until_us = loop_now_us() + (int64_t)LINGER_MS * 1000;
    step->deferred = false;
    step->caller_gone = true;
    return true;
}

void remote_step_give_up(struct session *session, const char *why)
{
    struct remote_step *step = session->remote_step;
    if (!step)
        return;
    remote_step_targets_give_up(step, why);
    remote_step_sets_give_up(step);
    if (step->state == REMOTE_STEP_SEARCHING && session_attached(session))
        forget_note(step, 0, ignore);
    if (step->state != REMOTE_STEP_NOTING)
        return;
    if (step->frame && session_attached(session))
        forget_note(step, step->frame, ignore);
    refuse(step, why);
}

void remote_step_leave(struct session *session, enum hub_leave how)
{
    struct remote_step *step = session->remote_step;
    if (!step)
        return;
    remote_step_give_up(session, "the session has ended");
    if (step->inner && how != HUB_LEAVE && hub_is_attached(&step->inner->member) &&
        hub_drives(&step->inner->member))
        hub_continue(step->inner->member.hub, step->inner->member.name);
    stop_searching(step);
    step->caller_gone = false;
    remote_step_drop_callee(step);
    step->state = REMOTE_STEP_NONE;
}

void remote_step_destroy(struct session *session)
{
    struct remote_step *step = session->remote_step;
    if (!step)
        return;
    session->remote_step = NULL;
    stop_searching(step);
    session_destroy(&step->inner);
    pause_clear(&step->callee);
    remote_step_targets_clear(step);
    remote_step_sets_clear(step);
    free(step->arrival);
    free(step->threads);
    remote_step_clear_magic(step);
    free(step);
}
