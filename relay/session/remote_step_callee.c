/* The session with a task that was stepped into; the caller's session is its client. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "dap/splice.h"
#include "relay/pause/pause_reach.h"
#include "relay/session/remote_step_state.h"

#include <stdlib.h>
#include <string.h>

/* The seqs of this file's own requests; a client's are positive. */
enum {
    SEQ_INITIALIZE = -1,
    SEQ_ATTACH = -2,
    SEQ_SET = -3,
    SEQ_CONFIGURED = -4,
    SEQ_FRAME = -5,
    SEQ_STEP = -6,
};

/* At most so many steps from Ray's own code to the program's. */
enum { STEPS = 12 };

/* The distance between the thread ids of two callees. */
enum { BASE = 1000 };

static void ask(struct follow *follow, int64_t seq, const char *command, const char *arguments)
{
    struct buf message = {0};
    message_request(&message, seq, command, text_empty(arguments) ? NULL : arguments);
    session_receive(follow->inner, message.data, message.len);
    buf_free(&message);
}

/* Runs fn from the loop: it must not run from within a callback of the callee's session. */
static void soon(struct follow *follow, loop_fn fn)
{
    timer_cancel(&follow->timer);
    follow->timer = timer_start(follow->session->options.loop, 0, fn, follow);
}

static void come_back(void *arg)
{
    struct follow *follow = follow_checked(arg);
    follow->timer = NULL;
    bool died = follow->inner && follow->inner->died && follow->way == REMOTE_CALL_INTO;
    follow_drop_callee(follow);
    if (died)
        follow_retry(follow);
    else
        follow_end(follow);
}

static void fail(struct follow *follow, const char *why)
{
    char title[256];
    pause_title(&follow->callee, title, sizeof title);
    char *text = mem_format("raydbg: %s has stopped, but cannot be attached to: %s\n", title, why);
    client_say(&follow->session->client, "important", text);
    free(text);
    soon(follow, come_back);
}

/* --- thread ids --- */

/* Appends the message with `add` added to the thread id in `object`; false if there is none. */
static bool shift_thread(const char *json, size_t len, struct span object, int64_t add,
                         struct buf *out)
{
    struct span at;
    int64_t thread;
    if (!scan_find(json, object, "threadId", &at) || !scan_integer(json, at, &thread))
        return false;
    thread += add;
    char *text = mem_format("%lld", (long long)thread);
    struct edit edit = {at, text, strlen(text)};
    splice_apply(json, len, &edit, 1, out);
    free(text);
    return true;
}

static void note_thread(struct follow *follow, int64_t thread)
{
    for (size_t i = 0; i < follow->thread_count; i++)
        if (follow->threads[i] == thread)
            return;
    size_t count = follow->thread_count + 1;
    follow->threads = mem_resize(follow->threads, count, sizeof *follow->threads);
    follow->threads[follow->thread_count++] = thread;
}

static void note_thread_of(struct follow *follow, const char *json, const struct envelope *event)
{
    int64_t thread;
    if (scan_integer_at(json, event->body, "threadId", &thread))
        note_thread(follow, thread);
}

static void tell_threads(struct follow *follow, const char *reason)
{
    for (size_t i = 0; i < follow->thread_count; i++) {
        int64_t thread = follow->threads[i] + follow->base;
        char *body = mem_format("{\"reason\":\"%s\",\"threadId\":%lld}", reason, (long long)thread);
        client_event(&follow->session->client, "thread", body);
        free(body);
    }
}

void follow_pass_request(struct follow *follow, const char *json, size_t len,
                         const struct envelope *envelope)
{
    struct buf shifted = {0};
    if (shift_thread(json, len, envelope->arguments, -follow->base, &shifted))
        session_receive(follow->inner, shifted.data, shifted.len);
    else
        session_receive(follow->inner, json, len);
    buf_free(&shifted);
}

void follow_pass_set(struct follow *follow, const char *json, const struct envelope *envelope)
{
    char *arguments = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    if (follow->configured)
        ask(follow, SEQ_SET, envelope->name, arguments);
    free(arguments);
}

/* --- from the callee to the client --- */

static void pass_event(struct follow *follow, const char *json, size_t len,
                       const struct envelope *envelope)
{
    struct buf shifted = {0};
    struct client *client = &follow->session->client;
    note_thread_of(follow, json, envelope);
    if (shift_thread(json, len, envelope->body, follow->base, &shifted))
        client_pass_edited(client, &shifted, 0);
    else
        client_pass(client, json, len, envelope, 0);
    buf_free(&shifted);
}

/* Lists the callee's threads, and the caller's thread as one more, which waits. */
static void pass_threads(struct follow *follow, const char *json, const struct envelope *envelope)
{
    struct buf body = {0};
    struct span list, element, at;
    size_t cursor = 0;
    int64_t id;
    struct session *session = follow->session;
    buf_add_string(&body, "{\"threads\":[");
    if (scan_find(json, envelope->body, "threads", &list))
        while (scan_element(json, list, &cursor, &element)) {
            if (!scan_integer_at(json, element, "id", &id))
                continue;
            note_thread(follow, id);
            id += follow->base;
            buf_printf(&body, "{\"id\":%lld,\"name\":", (long long)id);
            if (scan_find(json, element, "name", &at))
                buf_add(&body, json + at.at, at.len);
            else
                buf_add_string(&body, "\"\"");
            buf_add_string(&body, "},");
        }
    char *name =
        mem_format("%s (%s)", session->pause.task_name ? session->pause.task_name : "the caller",
                   follow->caller_gone ? "has ended"
                   : follow->deferred  ? "has stopped, too"
                                       : "waits");
    buf_printf(&body, "{\"id\":%lld,\"name\":", (long long)follow->thread);
    message_quote(&body, name);
    buf_add_string(&body, "}]}");
    client_respond(&session->client, envelope->request_seq, "threads", body.data);
    free(name);
    buf_free(&body);
}

/* --- arriving --- */

static void arrive(struct follow *follow)
{
    struct envelope envelope;
    const char *problem;
    char title[256];
    char *arrival = follow->arrival;
    struct session *session = follow->session;
    follow->arrival = NULL;
    follow->state = FOLLOW_INSIDE;
    pause_title(&follow->callee, title, sizeof title);
    char *text = mem_format("raydbg: now in %s\n", title);
    client_say(&session->client, "console", text);
    free(text);
    if (arrival && envelope_read(&envelope, arrival, strlen(arrival), &problem) == 0) {
        note_thread_of(follow, arrival, &envelope);
        tell_threads(follow, "started");
        pass_event(follow, arrival, strlen(arrival), &envelope);
    }
    free(arrival);
}

/* The callee has stopped. The client wants to see the program, not Ray's code around it. */
static void look(struct follow *follow, const char *json, size_t len,
                 const struct envelope *envelope)
{
    struct span at;
    char *arguments;
    free(follow->arrival);
    follow->arrival = mem_string_n(json, len);
    if (!envelope->body.len || !scan_find(json, envelope->body, "threadId", &at) ||
        ++follow->steps > STEPS) {
        arrive(follow);
        return;
    }
    arguments =
        mem_format("{\"threadId\":%.*s,\"startFrame\":0,\"levels\":1}", (int)at.len, json + at.at);
    ask(follow, SEQ_FRAME, "stackTrace", arguments);
    free(arguments);
}

static bool is_in_ray(const char *json, const struct envelope *envelope)
{
    struct span frames, frame, at;
    size_t cursor = 0;
    return envelope->success && envelope->body.len &&
           scan_find(json, envelope->body, "stackFrames", &frames) && json[frames.at] == '[' &&
           scan_element(json, frames, &cursor, &frame) &&
           scan_find(json, frame, "presentationHint", &at) && scan_string_is(json, at, "subtle");
}

static void step_on(void *arg)
{
    struct follow *follow = follow_checked(arg);
    struct envelope envelope;
    struct span at;
    const char *problem;
    follow->timer = NULL;
    if (!follow->arrival ||
        envelope_read(&envelope, follow->arrival, strlen(follow->arrival), &problem) != 0 ||
        !scan_find(follow->arrival, envelope.body, "threadId", &at))
        return;
    char *arguments = mem_format("{\"threadId\":%.*s}", (int)at.len, follow->arrival + at.at);
    ask(follow, SEQ_STEP, follow->way == REMOTE_CALL_INTO ? "stepIn" : "stepOut", arguments);
    free(arguments);
}

static void send_set(void *arg, const char *command, const char *arguments)
{
    ask(arg, SEQ_SET, command, arguments);
}

static void configure(void *arg)
{
    struct follow *follow = follow_checked(arg);
    follow->timer = NULL;
    if (session_attached(follow->session))
        hub_each_set(&follow->session->place, send_set, follow);
    follow->configured = true;
    ask(follow, SEQ_CONFIGURED, "configurationDone", NULL);
}

/* --- messages from the callee's session --- */

static void on_own_response(struct follow *follow, const char *json,
                            const struct envelope *envelope)
{
    char *why = envelope->message.len ? scan_string(json, envelope->message) : NULL;
    switch (envelope->request_seq) {
    case SEQ_ATTACH:
        if (!envelope->success)
            fail(follow, why ? why : "it gave no reason");
        break;
    case SEQ_FRAME:
        if (follow->state != FOLLOW_ENTERING)
            break;
        if (is_in_ray(json, envelope))
            soon(follow, step_on);
        else
            arrive(follow);
        break;
    case SEQ_STEP:
        if (!envelope->success && follow->state == FOLLOW_ENTERING)
            arrive(follow);
        break;
    default:
        break;
    }
    free(why);
}

/* After these commands the callee runs on, and the client gets the caller's deferred stop. */
static bool lets_callee_run(const char *command)
{
    return text_equal(command, "continue") || text_equal(command, "raydbg/stepOutToGet");
}

static void on_response(struct follow *follow, const char *json, size_t len,
                        const struct envelope *envelope)
{
    if (envelope->request_seq < 0)
        on_own_response(follow, json, envelope);
    else if (text_equal(envelope->name, "threads") && envelope->success && envelope->body.len)
        pass_threads(follow, json, envelope);
    else if (!follow_set_waits(follow, json, len, envelope))
        client_pass(&follow->session->client, json, len, envelope, envelope->request_seq);
    if (envelope->success && follow->deferred && follow->state == FOLLOW_INSIDE &&
        lets_callee_run(envelope->name))
        soon(follow, come_back);
}

static bool has_stepped_off(const char *json, const struct envelope *envelope)
{
    bool off = false;
    return text_equal(envelope->name, "continued") && envelope->body.len &&
           scan_boolean_at(json, envelope->body, "raydbgSteppedOff", &off) && off;
}

static void on_event(struct follow *follow, const char *json, size_t len,
                     const struct envelope *envelope)
{
    bool entering = follow->state == FOLLOW_ENTERING;
    if (text_equal(envelope->name, "initialized"))
        soon(follow, configure);
    else if (text_equal(envelope->name, "terminated"))
        soon(follow, come_back);
    else if (text_equal(envelope->name, "capabilities") ||
             text_equal(envelope->name, "raydbg/role"))
        return;
    else if (entering && text_equal(envelope->name, "stopped"))
        look(follow, json, len, envelope);
    else if (entering && text_equal(envelope->name, "thread"))
        note_thread_of(follow, json, envelope);
    else if (!entering || text_equal(envelope->name, "output"))
        pass_event(follow, json, len, envelope);
    if (follow->state == FOLLOW_INSIDE && follow->deferred && has_stepped_off(json, envelope))
        soon(follow, come_back);
}

static void on_message(void *arg, const char *json, size_t len)
{
    struct follow *follow = follow_checked(arg);
    struct envelope envelope;
    const char *problem;
    if (!follow->inner || envelope_read(&envelope, json, len, &problem) != 0)
        return;
    if (envelope.kind == DAP_RESPONSE)
        on_response(follow, json, len, &envelope);
    else if (envelope.kind == DAP_EVENT)
        on_event(follow, json, len, &envelope);
}

static void on_end(void *arg)
{
    struct follow *follow = follow_checked(arg);
    if (follow->inner)
        soon(follow, come_back);
}

static void on_flow(void *arg, bool flows)
{
    const struct follow *follow = follow_checked(arg);
    const struct session *session = follow->session;
    if (session->ops->on_flow)
        session->ops->on_flow(session->arg, flows);
}

static void on_act(void *arg, const char *action, const char *detail)
{
    const struct follow *follow = follow_checked(arg);
    session_act(follow->session, action, detail);
}

static void on_disturbed(void *arg)
{
    const struct follow *follow = follow_checked(arg);
    session_disturbed(follow->session);
}

static const struct session_ops callee_ops = {
    .on_message = on_message,
    .on_end = on_end,
    .on_flow = on_flow,
    .on_act = on_act,
    .on_disturbed = on_disturbed,
};

/* --- life --- */

static void attach(void *arg)
{
    struct follow *follow = follow_checked(arg);
    const struct session *session = follow->session;
    follow->timer = NULL;
    ask(follow, SEQ_INITIALIZE, "initialize", session->initialize_words);
    ask(follow, SEQ_ATTACH, "attach", session->attach_words);
}

void follow_enter(struct follow *follow, const struct pause *pause)
{
    struct session *session = follow->session;
    struct session_options options = session->options;
    struct err err;
    pause_clear(&follow->callee);
    pause_copy(&follow->callee, pause);
    follow->state = FOLLOW_ENTERING;
    follow->steps = 0;
    follow->configured = false;
    if (pause_reach_check(pause, &err) != 0) {
        fail(follow, err.why);
        return;
    }
    int64_t *bases = session->bases ? session->bases : &session->own_bases;
    *bases += BASE;
    follow->base = *bases - session->base;
    options.modes = NULL;
    options.pause = &follow->callee;
    options.task = options.connect = NULL;
    options.cluster = pause_finder_cluster(session->finder);
    options.role = session->role;
    follow->inner = session_create(&options, &callee_ops, follow);
    follow->inner->bases = bases;
    follow->inner->base = *bases;
    soon(follow, attach);
}

/* Answers the requests that the callee, and a callee of its own, will not answer any more. */
static void end_pending(struct follow *follow)
{
    if (!follow->inner || follow->state != FOLLOW_INSIDE)
        return;
    if (follow->inner->follow)
        end_pending(follow->inner->follow);
    session_end_callee(follow->inner);
}

void follow_drop_callee(struct follow *follow)
{
    end_pending(follow);
    timer_cancel(&follow->timer);
    if (follow->state == FOLLOW_INSIDE)
        tell_threads(follow, "exited");
    follow->thread_count = 0;
    free(follow->arrival);
    follow->arrival = NULL;
    session_destroy(&follow->inner);
}
