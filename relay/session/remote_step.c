#include "relay/session/remote_step.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/session/remote_step_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 150,
    SILENCE_MS = 2000, /* a longer wait is announced to the user */
    /* How long a stop of the caller waits for the callee, which has been submitted: on a busy node,
     * Ray takes several seconds to start a worker. */
    DEFER_MS = 15000,
    RETRY_MS = 30000,  /* how long Ray may take to run a task again */
    NAME_MS = 1500,    /* a worker reports the name of its task once a second */
    LINGER_MS = 10000, /* how long the search goes on when the caller is gone */
};

/* The seq of a request that the session itself sends along the path of a client's request. */
static const int64_t silent_seq = INT64_MIN;

struct follow *follow_need(struct session *session)
{
    if (!session->follow) {
        session->follow = mem_alloc(sizeof *session->follow);
        session->follow->session = session;
        follow_set_magic(session->follow);
    }
    return session->follow;
}

char *follow_result(const char *json, const struct envelope *envelope)
{
    struct span at;
    bool found = json && envelope->success && envelope->body.len &&
                 scan_find(json, envelope->body, "result", &at);
    return found ? scan_string(json, at) : NULL;
}

bool follow_top_frame(const char *json, const struct envelope *envelope, struct span *frame)
{
    struct span frames;
    size_t cursor = 0;
    return json && envelope->success && envelope->body.len &&
           scan_find(json, envelope->body, "stackFrames", &frames) && json[frames.at] == '[' &&
           scan_element(json, frames, &cursor, frame);
}

void follow_ask_top_frame(struct follow *follow, int64_t thread, link_answer_fn fn)
{
    char *arguments =
        mem_format("{\"threadId\":%lld,\"startFrame\":0,\"levels\":1}", (long long)thread);
    hub_ask(&follow->session->place, "stackTrace", arguments, FOLLOW_ASK_MS, fn, follow);
    free(arguments);
}

/* --- the step --- */

static void refuse(struct follow *follow, const char *why)
{
    if (follow->request.open)
        client_refuse(&follow->session->client, open_request_close(&follow->request),
                      follow->command, why, true);
    follow->state = FOLLOW_NONE;
}

static void let_caller_run(struct follow *follow)
{
    struct envelope envelope;
    const char *problem;
    char *json = mem_format("{\"seq\":1,\"type\":\"request\",\"command\":\"continue\","
                            "\"arguments\":{\"threadId\":%lld}}",
                            (long long)follow->thread);
    if (envelope_read(&envelope, json, strlen(json), &problem) == 0)
        hub_forward(&follow->session->place, (struct client_seq){silent_seq}, json, strlen(json),
                    &envelope);
    free(json);
}

static void on_noted(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = follow_checked(arg);
    struct session *session = follow->session;
    (void)len;
    if (follow->state != FOLLOW_NOTING)
        return;
    char *result = follow_result(json, envelope);
    bool noted = remote_call_task(result, follow->task_id);
    free(result);
    if (!noted) {
        refuse(follow, "Ray's worker did not take the note: is this thread in a task of Ray's?");
        return;
    }
    client_respond(&session->client, open_request_close(&follow->request), follow->command, NULL);
    follow->since_us = loop_now_us();
    follow->found_us = 0;
    follow->until_us = 0;
    follow->said = follow->caller_gone = false;
    follow->state = FOLLOW_SEARCHING;
    let_caller_run(follow);
    follow_search(follow, 0);
}

static void on_frame(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = follow_checked(arg);
    struct span frame;
    int64_t id;
    (void)len;
    if (follow->state != FOLLOW_NOTING)
        return;
    if (!follow_top_frame(json, envelope, &frame) || !scan_integer_at(json, frame, "id", &id)) {
        refuse(follow, "the worker does not say where this thread stands");
        return;
    }
    char *arguments = remote_call_note(follow->way, follow->uuid, id);
    hub_ask(&follow->session->place, "evaluate", arguments, FOLLOW_ASK_MS, on_noted, follow);
    free(arguments);
}

static const char *why_not(const struct session *session, const char *json,
                           const struct envelope *envelope)
{
    const char *why = hub_refusal(&session->place, json, envelope);
    if (why)
        return why;
    if (session->follow && session->follow->state != FOLLOW_NONE)
        return "another step into a remote task is under way";
    if (!pause_finder_cluster(session->finder))
        return "a session without a cluster cannot find the other task";
    return NULL;
}

void follow_begin(struct session *session, const char *json, const struct envelope *envelope,
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
    struct follow *follow = follow_need(session);
    follow->state = FOLLOW_NOTING;
    follow->way = way;
    open_request_begin(&follow->request, envelope->seq);
    follow->thread = thread;
    text_copy(follow->command, sizeof follow->command, envelope->name);
    remote_call_uuid(follow->uuid);
    follow_ask_top_frame(follow, thread, on_frame);
}

void remote_step_on_into(struct session *session, const char *json, const struct envelope *envelope)
{
    follow_begin(session, json, envelope, REMOTE_CALL_INTO);
}

void remote_step_on_back(struct session *session, const char *json, const struct envelope *envelope)
{
    follow_begin(session, json, envelope, REMOTE_CALL_BACK);
}

/* --- the search --- */

static void say(struct session *session, const char *format, const char *what)
{
    char *text = mem_format(format, what);
    client_say(&session->client, "console", text);
    free(text);
}

/* Finds the pause that the note has led to, among the cluster's and those that the relay holds. */
static bool find_pause(const struct follow *follow, struct pause *out)
{
    const struct session *session = follow->session;
    const struct pause_list *list = cluster_pauses(pause_finder_cluster(session->finder));
    struct pause_list joined = {0};
    bool found = false;
    if (session->options.hubs) {
        hub_table_list(session->options.hubs, list, &joined);
        list = &joined;
    }
    for (size_t i = 0; i < list->count && !found; i++) {
        found = remote_call_is(&list->items[i], follow->way, follow->uuid, follow->task_id) &&
                !pause_same(&list->items[i], &session->pause);
        if (found)
            pause_copy(out, &list->items[i]);
    }
    pause_list_clear(&joined);
    return found;
}

/* Wait up to NAME_MS for the callee's name: a client keeps showing the first one. */
static bool awaits_name(struct follow *follow, const struct pause *pause, int64_t now)
{
    if (pause->task_name || !pause->task_id[0])
        return false;
    if (!follow->found_us)
        follow->found_us = now;
    return now - follow->found_us < (int64_t)NAME_MS * 1000;
}

static void on_refreshed(void *arg, const struct err *err)
{
    struct follow *follow = follow_checked(arg);
    struct pause pause;
    int64_t now = loop_now_us();
    if (follow->state != FOLLOW_SEARCHING)
        return;
    if (!err && find_pause(follow, &pause)) {
        if (awaits_name(follow, &pause, now))
            follow_search(follow, AGAIN_MS);
        else
            follow_enter(follow, &pause);
        pause_clear(&pause);
        return;
    }
    if (follow->until_us && now > follow->until_us) {
        say(follow->session, "raydbg: the other task does not stop: %s\n",
            follow->way == REMOTE_CALL_INTO ? "it has not started" : "nobody takes the result");
        follow_end(follow);
        return;
    }
    if (!follow->said && now - follow->since_us > (int64_t)SILENCE_MS * 1000) {
        follow->said = true;
        say(follow->session, "raydbg: waiting %s\n",
            follow->way == REMOTE_CALL_INTO ? "for the next remote task to start"
                                            : "for the result to be taken");
    }
    follow_search(follow, AGAIN_MS);
}

static void search(void *arg)
{
    struct follow *follow = follow_checked(arg);
    follow->timer = NULL;
    cluster_refresh(pause_finder_cluster(follow->session->finder), on_refreshed, follow);
}

void follow_search(struct follow *follow, int64_t in_ms)
{
    follow->timer = timer_start(follow->session->options.loop, in_ms, search, follow);
}

void follow_retry(struct follow *follow)
{
    follow->state = FOLLOW_SEARCHING;
    follow->since_us = loop_now_us();
    follow->found_us = 0;
    follow->until_us = follow->since_us + (int64_t)RETRY_MS * 1000;
    follow->said = false;
    follow_search(follow, AGAIN_MS);
}

static void stop_searching(struct follow *follow)
{
    timer_cancel(&follow->timer);
    struct cluster *cluster = pause_finder_cluster(follow->session->finder);
    if (cluster)
        cluster_refresh_cancel(cluster, follow);
}

void follow_end(struct follow *follow)
{
    struct session *session = follow->session;
    struct envelope envelope;
    const char *problem;
    char *deferred = follow->deferred;
    stop_searching(follow);
    follow->deferred = NULL;
    follow->state = FOLLOW_NONE;
    if (deferred && envelope_read(&envelope, deferred, strlen(deferred), &problem) == 0)
        session_member_ops.on_event(session, deferred, strlen(deferred), &envelope);
    free(deferred);
    if (!follow->caller_gone)
        return;
    session_send_terminated(session);
    if (session->client.gone)
        session_end(session);
}

/* --- the caller's events --- */

static void defer(struct follow *follow, const char *json, size_t len)
{
    free(follow->deferred);
    follow->deferred = mem_string_n(json, len);
}

/* The caller has stopped by itself during the search for the callee: either it has submitted no
 * task yet, or the callee is on its way. */
static void on_forgotten(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = follow_checked(arg);
    (void)len;
    if (follow->state != FOLLOW_SEARCHING)
        return;
    char *result = follow_result(json, envelope);
    if (remote_call_was_unused(result)) {
        say(follow->session, "raydbg: %s before this stop\n",
            follow->way == REMOTE_CALL_INTO ? "no remote task was called"
                                            : "the task did not return");
        follow_end(follow);
    } else {
        follow->until_us = loop_now_us() + (int64_t)DEFER_MS * 1000;
    }
    free(result);
}

static void forget_note(struct follow *follow, link_answer_fn fn)
{
    char *arguments = remote_call_forget(follow->way, follow->uuid);
    hub_ask(&follow->session->place, "evaluate", arguments, FOLLOW_ASK_MS, fn, follow);
    free(arguments);
}

static void ignore(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    (void)arg;
    (void)json;
    (void)len;
    (void)envelope;
}

bool remote_step_event(struct session *session, const char *json, size_t len,
                       const struct envelope *envelope)
{
    struct follow *follow = session->follow;
    if (!follow || !text_equal(envelope->name, "stopped"))
        return false;
    switch (follow->state) {
    case FOLLOW_SEARCHING:
        defer(follow, json, len);
        forget_note(follow, on_forgotten);
        return true;
    case FOLLOW_ENTERING:
        defer(follow, json, len);
        return true;
    case FOLLOW_INSIDE:
        if (hub_has_stopped(&follow->inner->place)) {
            say(session, "raydbg: %s has stopped, too: it is shown when this task goes on\n",
                session->pause.task_name ? session->pause.task_name : "the caller");
            defer(follow, json, len);
            return true;
        }
        follow_drop_callee(follow);
        follow_end(follow);
        return false;
    case FOLLOW_NONE:
    case FOLLOW_NOTING:
        break;
    }
    return false;
}

bool remote_step_response(struct session *session, const struct pending *pending, const char *json,
                          size_t len, const struct envelope *envelope)
{
    return remote_step_forgets(pending) ||
           follow_targets_response(session, pending, json, len, envelope);
}

bool remote_step_forgets(const struct pending *pending)
{
    return pending->client.value == silent_seq;
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
    struct follow *follow = session->follow;
    int64_t thread;
    if (!follow)
        return false;
    if (follow->state == FOLLOW_ENTERING && breakpoint_union_is_set(envelope->name))
        follow_pass_set(follow, json, envelope);
    if (follow->state != FOLLOW_INSIDE || is_callers(envelope->name))
        return false;
    if (scan_integer_at(json, envelope->arguments, "threadId", &thread) && thread < follow->base)
        return false;
    if (breakpoint_union_is_set(envelope->name) && session_attached(session))
        follow_set_in_caller(follow, json, len, envelope);
    follow_pass_request(follow, json, len, envelope);
    return true;
}

/* --- the end --- */

bool remote_step_lost(struct session *session, const char *why)
{
    struct follow *follow = session->follow;
    if (!follow)
        return false;
    follow_targets_lost(follow, why);
    follow_sets_give_up(follow);
    if (follow->state == FOLLOW_NOTING)
        refuse(follow, why);
    if (follow->state == FOLLOW_NONE)
        return false;
    if (follow->state == FOLLOW_SEARCHING)
        follow->until_us = loop_now_us() + (int64_t)LINGER_MS * 1000;
    free(follow->deferred);
    follow->deferred = NULL;
    follow->caller_gone = true;
    return true;
}

void remote_step_leave(struct session *session, enum hub_leave how)
{
    struct follow *follow = session->follow;
    if (!follow)
        return;
    follow_sets_give_up(follow);
    if (follow->state == FOLLOW_SEARCHING && session_attached(session))
        forget_note(follow, ignore);
    if (follow->inner && how != HUB_LEAVE && hub_is_attached(&follow->inner->place) &&
        hub_drives(&follow->inner->place))
        hub_continue(follow->inner->place.hub, follow->inner->place.name);
    stop_searching(follow);
    follow->caller_gone = false;
    follow_drop_callee(follow);
    follow->state = FOLLOW_NONE;
}

void remote_step_destroy(struct session *session)
{
    struct follow *follow = session->follow;
    if (!follow)
        return;
    session->follow = NULL;
    stop_searching(follow);
    session_destroy(&follow->inner);
    pause_clear(&follow->callee);
    follow_targets_clear(follow);
    follow_sets_clear(follow);
    free(follow->deferred);
    free(follow->arrival);
    free(follow->threads);
    follow_clear_magic(follow);
    free(follow);
}
