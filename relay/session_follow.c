#include "relay/session_follow.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "dap/splice.h"
#include "relay/filters.h"
#include "relay/session_follow_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASK_MS = 3000,
    AGAIN_MS = 150,
    SILENCE_MS = 2000, /* nothing is waited for longer without a word */
    DEFER_MS = 4000,   /* how long a stop of the caller's waits for a callee that may turn up */
    RETRY_MS = 30000,  /* how long Ray may take to run a task again */
    LINGER_MS = 10000, /* how long one is waited for when the caller is gone */
};

/* Targets of `stepIn`; debugpy's count from 0. */
enum { TARGET_INTO = 0x40000000, TARGET_BACK };

/* What the session itself asks for by way of a client's request. */
static const int64_t silent_seq = INT64_MIN;

static struct follow *need(struct session *session)
{
    if (!session->follow) {
        session->follow = mem_alloc(sizeof *session->follow);
        session->follow->session = session;
    }
    return session->follow;
}

static bool find_integer(const char *json, struct span object, const char *name, int64_t *out)
{
    struct span at;
    return object.len && scan_find(json, object, name, &at) && scan_integer(json, at, out);
}

/* The answer's `result`, or NULL; the caller frees. */
static char *result_of(const char *json, const struct envelope *envelope)
{
    struct span at;
    bool found = json && envelope->success && envelope->body.len &&
                 scan_find(json, envelope->body, "result", &at);
    return found ? scan_string(json, at) : NULL;
}

/* The newest frame in a stackTrace's answer. */
static bool top_frame(const char *json, const struct envelope *envelope, struct span *frame)
{
    struct span frames;
    size_t cursor = 0;
    return json && envelope->success && envelope->body.len &&
           scan_find(json, envelope->body, "stackFrames", &frames) && json[frames.at] == '[' &&
           scan_element(json, frames, &cursor, frame);
}

static void ask_top_frame(struct follow *follow, int64_t thread, link_answer_fn fn)
{
    char *arguments =
        mem_format("{\"threadId\":%lld,\"startFrame\":0,\"levels\":1}", (long long)thread);
    hub_ask(&follow->session->place, "stackTrace", arguments, ASK_MS, fn, follow);
    free(arguments);
}

/* --- the step --- */

static void refuse(struct follow *follow, const char *why)
{
    if (follow->seq)
        client_refuse(&follow->session->client, follow->seq, follow->command, why, true);
    follow->seq = 0;
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
    struct follow *follow = arg;
    struct session *session = follow->session;
    (void)len;
    if (follow->state != FOLLOW_NOTING)
        return;
    char *result = result_of(json, envelope);
    bool noted = remote_call_task(result, follow->task_id);
    free(result);
    if (!noted) {
        refuse(follow, "Ray's worker did not take the note: is this thread in a task of Ray's?");
        return;
    }
    client_respond(&session->client, follow->seq, follow->command, NULL);
    follow->seq = 0;
    follow->since_us = loop_now_us();
    follow->until_us = 0;
    follow->said = follow->caller_gone = false;
    follow->state = FOLLOW_SEARCHING;
    let_caller_run(follow);
    follow_search(follow, 0);
}

static void on_frame(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = arg;
    struct span frame;
    int64_t id;
    (void)len;
    if (follow->state != FOLLOW_NOTING)
        return;
    if (!top_frame(json, envelope, &frame) || !find_integer(json, frame, "id", &id)) {
        refuse(follow, "the worker does not say where this thread stands");
        return;
    }
    char *arguments = remote_call_note(follow->way, follow->uuid, id);
    hub_ask(&follow->session->place, "evaluate", arguments, ASK_MS, on_noted, follow);
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
    if (!finder_cluster(session->finder))
        return "a session without a cluster cannot find the other task";
    return NULL;
}

static void begin(struct session *session, const char *json, const struct envelope *envelope,
                  enum remote_call_way way)
{
    int64_t thread = 0;
    const char *why = why_not(session, json, envelope);
    if (!why && !find_integer(json, envelope->arguments, "threadId", &thread))
        why = "\"threadId\" is missing";
    if (why) {
        client_refuse(&session->client, envelope->seq, envelope->name, why, false);
        return;
    }
    struct follow *follow = need(session);
    follow->state = FOLLOW_NOTING;
    follow->way = way;
    follow->seq = envelope->seq;
    follow->thread = thread;
    text_copy(follow->command, sizeof follow->command, envelope->name);
    remote_call_uuid(follow->uuid);
    ask_top_frame(follow, thread, on_frame);
}

void session_follow_on_into(struct session *session, const char *json,
                            const struct envelope *envelope)
{
    begin(session, json, envelope, REMOTE_CALL_INTO);
}

void session_follow_on_back(struct session *session, const char *json,
                            const struct envelope *envelope)
{
    begin(session, json, envelope, REMOTE_CALL_BACK);
}

void session_follow_on_step_in(struct session *session, const char *json,
                               const struct envelope *envelope)
{
    int64_t target = 0;
    find_integer(json, envelope->arguments, "targetId", &target);
    if (target == TARGET_INTO || target == TARGET_BACK)
        begin(session, json, envelope, target == TARGET_INTO ? REMOTE_CALL_INTO : REMOTE_CALL_BACK);
    else
        hub_forward(&session->place, (struct client_seq){envelope->seq}, json,
                    envelope->whole.at + envelope->whole.len, envelope);
}

/* --- the search --- */

static void say(struct session *session, const char *format, const char *what)
{
    char *text = mem_format(format, what);
    client_say(&session->client, "console", text);
    free(text);
}

/* The pause that the note has led to, among the cluster's and those that the relay holds. */
static bool find_pause(const struct follow *follow, struct pause *out)
{
    const struct session *session = follow->session;
    const struct pause_list *list = cluster_pauses(finder_cluster(session->finder));
    struct pause_list joined = {0};
    bool found = false;
    if (session->options.hubs) {
        hubs_list(session->options.hubs, list, &joined);
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

static void on_refreshed(void *arg, const struct err *err)
{
    struct follow *follow = arg;
    struct pause pause;
    int64_t now = loop_now_us();
    if (follow->state != FOLLOW_SEARCHING)
        return;
    if (!err && find_pause(follow, &pause)) {
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
    struct follow *follow = arg;
    follow->timer = NULL;
    cluster_refresh(finder_cluster(follow->session->finder), on_refreshed, follow);
}

void follow_search(struct follow *follow, int64_t in_ms)
{
    follow->timer = timer_start(follow->session->options.loop, in_ms, search, follow);
}

void follow_retry(struct follow *follow)
{
    follow->state = FOLLOW_SEARCHING;
    follow->since_us = loop_now_us();
    follow->until_us = follow->since_us + (int64_t)RETRY_MS * 1000;
    follow->said = false;
    follow_search(follow, AGAIN_MS);
}

static void stop_searching(struct follow *follow)
{
    timer_cancel(&follow->timer);
    struct cluster *cluster = finder_cluster(follow->session->finder);
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

/* The caller has stopped by itself while the callee is waited for: either it has submitted nothing
 * yet, or the callee is on its way. */
static void on_forgotten(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = arg;
    (void)len;
    if (follow->state != FOLLOW_SEARCHING)
        return;
    char *result = result_of(json, envelope);
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
    hub_ask(&follow->session->place, "evaluate", arguments, ASK_MS, fn, follow);
    free(arguments);
}

static void ignore(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    (void)arg;
    (void)json;
    (void)len;
    (void)envelope;
}

bool session_follow_event(struct session *session, const char *json, size_t len,
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

/* --- targets --- */

static void clear_targets(struct follow *follow)
{
    free(follow->targets_request);
    free(follow->targets_label);
    follow->targets_request = follow->targets_label = NULL;
    follow->targets_seq = 0;
}

static void add_targets(const struct follow *follow, struct buf *out, bool first)
{
    if (follow->targets_label) {
        buf_printf(out, "%s{\"id\":%d,\"label\":", first ? "" : ",", TARGET_INTO);
        message_quote(out, follow->targets_label);
        buf_add_string(out, "}");
        first = false;
    }
    buf_printf(out, "%s{\"id\":%d,\"label\":\"out to ray.get of the result\"}", first ? "" : ",",
               TARGET_BACK);
}

/* Passes the debuggee's answer on with the targets that it lacks; ours alone if it has none. */
static void answer_targets(struct follow *follow, const char *json, size_t len,
                           const struct envelope *envelope)
{
    struct client *client = &follow->session->client;
    struct buf out = {0}, added = {0};
    struct span list, element;
    size_t cursor = 0;
    if (json && envelope->success && envelope->body.len &&
        scan_find(json, envelope->body, "targets", &list) && json[list.at] == '[') {
        add_targets(follow, &added, !scan_element(json, list, &cursor, &element));
        struct edit edit = {{list.at + list.len - 1, 0}, added.data, added.len};
        splice_apply(json, len, &edit, 1, &out);
        client_pass_edited(client, &out, follow->targets_seq);
    } else {
        buf_add_string(&out, "{\"targets\":[");
        add_targets(follow, &out, true);
        buf_add_string(&out, "]}");
        client_respond(client, follow->targets_seq, "stepInTargets", out.data);
    }
    buf_free(&added);
    buf_free(&out);
    clear_targets(follow);
}

static void forward_targets(struct follow *follow)
{
    struct session *session = follow->session;
    struct envelope envelope;
    const char *problem;
    size_t len = strlen(follow->targets_request);
    if (session->pause.debugger == PAUSE_PDB ||
        envelope_read(&envelope, follow->targets_request, len, &problem) != 0)
        answer_targets(follow, NULL, 0, NULL);
    else
        hub_forward(&session->place, (struct client_seq){follow->targets_seq},
                    follow->targets_request, len, &envelope);
}

static void on_functions(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = arg;
    (void)len;
    if (!follow->targets_seq)
        return;
    char *result = result_of(json, envelope);
    follow->targets_label = remote_call_label(result);
    free(result);
    forward_targets(follow);
}

static void on_targets_frame(void *arg, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct follow *follow = arg;
    struct span frame, name;
    int64_t id, line;
    (void)len;
    if (!follow->targets_seq)
        return;
    if (!top_frame(json, envelope, &frame) || !find_integer(json, frame, "id", &id) ||
        id != follow->targets_frame || !find_integer(json, frame, "line", &line) ||
        !scan_find(json, frame, "name", &name)) {
        forward_targets(follow);
        return;
    }
    char *function = scan_string(json, name);
    char *arguments = remote_call_functions(function ? function : "", line, id);
    hub_ask(&follow->session->place, "evaluate", arguments, ASK_MS, on_functions, follow);
    free(arguments);
    free(function);
}

void session_follow_on_targets(struct session *session, const char *json,
                               const struct envelope *envelope)
{
    size_t len = envelope->whole.at + envelope->whole.len;
    int64_t frame = 0;
    const struct stop *stop = hub_last_stop(&session->place);
    if (!stop || !finder_cluster(session->finder) ||
        (session->follow && session->follow->targets_seq) ||
        !find_integer(json, envelope->arguments, "frameId", &frame)) {
        hub_forward(&session->place, (struct client_seq){envelope->seq}, json, len, envelope);
        return;
    }
    struct follow *follow = need(session);
    follow->targets_seq = envelope->seq;
    follow->targets_request = mem_string_n(json, len);
    follow->targets_frame = frame;
    ask_top_frame(follow, stop->thread, on_targets_frame);
}

bool session_follow_response(struct session *session, const struct pending *pending,
                             const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = session->follow;
    if (session_follow_forgets(pending))
        return true;
    if (!follow || !follow->targets_seq || pending->client.value != follow->targets_seq)
        return false;
    answer_targets(follow, json, len, envelope);
    return true;
}

bool session_follow_forgets(const struct pending *pending)
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

/* A breakpoint holds in the caller, too. */
static void set_in_caller(struct session *session, const char *json, size_t len,
                          const struct envelope *envelope)
{
    struct buf edited = {0};
    struct envelope again;
    const char *problem;
    bool filters = text_equal(envelope->name, "setExceptionBreakpoints");
    if (!filters || session->pause.debugger == PAUSE_PDB)
        hub_set_quietly(&session->place, json, envelope);
    else if (!filters_add_uncaught(json, len, envelope, &edited) &&
             envelope_read(&again, edited.data, edited.len, &problem) == 0)
        hub_set_quietly(&session->place, edited.data, &again);
    buf_free(&edited);
}

bool session_follow_request(struct session *session, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct follow *follow = session->follow;
    int64_t thread;
    if (!follow || follow->state != FOLLOW_INSIDE || is_callers(envelope->name))
        return false;
    if (find_integer(json, envelope->arguments, "threadId", &thread) && thread < follow->base)
        return false;
    if (breakpoints_is_set(envelope->name) && session_attached(session))
        set_in_caller(session, json, len, envelope);
    follow_pass_request(follow, json, len, envelope);
    return true;
}

/* --- the end --- */

bool session_follow_lost(struct session *session, const char *why)
{
    struct follow *follow = session->follow;
    if (!follow)
        return false;
    if (follow->targets_seq)
        client_refuse(&session->client, follow->targets_seq, "stepInTargets", why, false);
    clear_targets(follow);
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

void session_follow_leave(struct session *session, enum hub_leave how)
{
    struct follow *follow = session->follow;
    if (!follow)
        return;
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

void session_follow_destroy(struct session *session)
{
    struct follow *follow = session->follow;
    if (!follow)
        return;
    session->follow = NULL;
    stop_searching(follow);
    session_destroy(&follow->inner);
    pause_clear(&follow->callee);
    clear_targets(follow);
    free(follow->deferred);
    free(follow->arrival);
    free(follow->threads);
    free(follow);
}
