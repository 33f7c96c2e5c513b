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

static void ask(struct remote_step *step, int64_t seq, const char *command, const char *arguments)
{
    struct buf message = {0};
    message_request(&message, seq, command, text_empty(arguments) ? NULL : arguments);
    session_receive(step->inner, message.data, message.len);
    buf_free(&message);
}

/* Runs fn from the loop: it must not run from within a callback of the callee's session. */
static void soon(struct remote_step *step, loop_fn fn)
{
    timer_cancel(&step->timer);
    step->timer = timer_start(step->session->options.loop, 0, fn, step);
}

static void come_back(void *arg)
{
    struct remote_step *step = remote_step_checked(arg);
    step->timer = NULL;
    bool died = step->inner && step->inner->died && step->way == REMOTE_CALL_INTO;
    remote_step_drop_callee(step);
    if (died)
        remote_step_retry(step);
    else
        remote_step_end(step);
}

static void fail(struct remote_step *step, const char *why)
{
    char title[256];
    pause_title(&step->callee, title, sizeof title);
    char *text = mem_format("raydbg: %s has stopped, but cannot be attached to: %s\n", title, why);
    client_say(&step->session->client, "important", text);
    free(text);
    soon(step, come_back);
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

static void note_thread(struct remote_step *step, int64_t thread)
{
    for (size_t i = 0; i < step->thread_count; i++)
        if (step->threads[i] == thread)
            return;
    size_t count = step->thread_count + 1;
    step->threads = mem_resize(step->threads, count, sizeof *step->threads);
    step->threads[step->thread_count++] = thread;
}

static void note_thread_of(struct remote_step *step, const char *json, const struct envelope *event)
{
    int64_t thread;
    if (scan_integer_at(json, event->body, "threadId", &thread))
        note_thread(step, thread);
}

static void tell_threads(struct remote_step *step, const char *reason)
{
    for (size_t i = 0; i < step->thread_count; i++) {
        int64_t thread = step->threads[i] + step->base;
        char *body = mem_format("{\"reason\":\"%s\",\"threadId\":%lld}", reason, (long long)thread);
        client_event(&step->session->client, "thread", body);
        free(body);
    }
}

void remote_step_pass_request(struct remote_step *step, const char *json, size_t len,
                              const struct envelope *envelope)
{
    struct buf shifted = {0};
    if (shift_thread(json, len, envelope->arguments, -step->base, &shifted))
        session_receive(step->inner, shifted.data, shifted.len);
    else
        session_receive(step->inner, json, len);
    buf_free(&shifted);
}

void remote_step_pass_set(struct remote_step *step, const char *json,
                          const struct envelope *envelope)
{
    char *arguments = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    if (step->configured)
        ask(step, SEQ_SET, envelope->name, arguments);
    free(arguments);
}

/* --- from the callee to the client --- */

static void pass_event(struct remote_step *step, const char *json, size_t len,
                       const struct envelope *envelope)
{
    struct buf shifted = {0};
    struct client *client = &step->session->client;
    note_thread_of(step, json, envelope);
    if (shift_thread(json, len, envelope->body, step->base, &shifted))
        client_pass_edited(client, &shifted, 0);
    else
        client_pass(client, json, len, envelope, 0);
    buf_free(&shifted);
}

/* Lists the callee's threads, and the caller's thread as one more, which waits. */
static void pass_threads(struct remote_step *step, const char *json,
                         const struct envelope *envelope)
{
    struct buf body = {0};
    struct span list, element, at;
    size_t cursor = 0;
    int64_t id;
    struct session *session = step->session;
    buf_add_string(&body, "{\"threads\":[");
    if (scan_find(json, envelope->body, "threads", &list))
        while (scan_element(json, list, &cursor, &element)) {
            if (!scan_integer_at(json, element, "id", &id))
                continue;
            note_thread(step, id);
            id += step->base;
            buf_printf(&body, "{\"id\":%lld,\"name\":", (long long)id);
            if (scan_find(json, element, "name", &at))
                buf_add(&body, json + at.at, at.len);
            else
                buf_add_string(&body, "\"\"");
            buf_add_string(&body, "},");
        }
    char *name =
        mem_format("%s (%s)", session->pause.task_name ? session->pause.task_name : "the caller",
                   step->caller_gone             ? "has ended"
                   : remote_step_withholds(step) ? "has stopped, too"
                                                 : "waits");
    buf_printf(&body, "{\"id\":%lld,\"name\":", (long long)step->thread);
    message_quote(&body, name);
    buf_add_string(&body, "}]}");
    client_respond(&session->client, envelope->request_seq, "threads", body.data);
    free(name);
    buf_free(&body);
}

/* --- arriving --- */

static void arrive(struct remote_step *step)
{
    struct envelope envelope;
    const char *problem;
    char title[256];
    char *arrival = step->arrival;
    struct session *session = step->session;
    step->arrival = NULL;
    step->state = REMOTE_STEP_INSIDE;
    pause_title(&step->callee, title, sizeof title);
    char *text = mem_format("raydbg: now in %s\n", title);
    client_say(&session->client, "console", text);
    free(text);
    if (arrival && envelope_read(&envelope, arrival, strlen(arrival), &problem) == 0) {
        note_thread_of(step, arrival, &envelope);
        tell_threads(step, "started");
        pass_event(step, arrival, strlen(arrival), &envelope);
    }
    free(arrival);
}

/* The callee has stopped. The client wants to see the program, not Ray's code around it. */
static void look(struct remote_step *step, const char *json, size_t len,
                 const struct envelope *envelope)
{
    struct span at;
    char *arguments;
    free(step->arrival);
    step->arrival = mem_string_n(json, len);
    if (!envelope->body.len || !scan_find(json, envelope->body, "threadId", &at) ||
        ++step->steps > STEPS) {
        arrive(step);
        return;
    }
    arguments =
        mem_format("{\"threadId\":%.*s,\"startFrame\":0,\"levels\":1}", (int)at.len, json + at.at);
    ask(step, SEQ_FRAME, "stackTrace", arguments);
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
    struct remote_step *step = remote_step_checked(arg);
    struct envelope envelope;
    struct span at;
    const char *problem;
    step->timer = NULL;
    if (!step->arrival ||
        envelope_read(&envelope, step->arrival, strlen(step->arrival), &problem) != 0 ||
        !scan_find(step->arrival, envelope.body, "threadId", &at))
        return;
    char *arguments = mem_format("{\"threadId\":%.*s}", (int)at.len, step->arrival + at.at);
    ask(step, SEQ_STEP, step->way == REMOTE_CALL_INTO ? "stepIn" : "stepOut", arguments);
    free(arguments);
}

static void send_set(void *arg, const char *command, const char *arguments)
{
    ask(arg, SEQ_SET, command, arguments);
}

static void configure(void *arg)
{
    struct remote_step *step = remote_step_checked(arg);
    step->timer = NULL;
    if (session_attached(step->session))
        hub_each_set(&step->session->member, send_set, step);
    step->configured = true;
    ask(step, SEQ_CONFIGURED, "configurationDone", NULL);
}

/* --- messages from the callee's session --- */

static void on_own_response(struct remote_step *step, const char *json,
                            const struct envelope *envelope)
{
    char *why = envelope->message.len ? scan_string(json, envelope->message) : NULL;
    switch (envelope->request_seq) {
    case SEQ_ATTACH:
        if (!envelope->success)
            fail(step, why ? why : "it gave no reason");
        break;
    case SEQ_FRAME:
        if (step->state != REMOTE_STEP_ENTERING)
            break;
        if (is_in_ray(json, envelope))
            soon(step, step_on);
        else
            arrive(step);
        break;
    case SEQ_STEP:
        if (!envelope->success && step->state == REMOTE_STEP_ENTERING)
            arrive(step);
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

static void on_response(struct remote_step *step, const char *json, size_t len,
                        const struct envelope *envelope)
{
    if (envelope->request_seq < 0)
        on_own_response(step, json, envelope);
    else if (text_equal(envelope->name, "threads") && envelope->success && envelope->body.len)
        pass_threads(step, json, envelope);
    else if (!remote_step_set_waits(step, json, len, envelope))
        client_pass(&step->session->client, json, len, envelope, envelope->request_seq);
    if (envelope->success && step->state == REMOTE_STEP_INSIDE && lets_callee_run(envelope->name) &&
        remote_step_withholds(step))
        soon(step, come_back);
}

static bool has_stepped_off(const char *json, const struct envelope *envelope)
{
    bool off = false;
    return text_equal(envelope->name, "continued") && envelope->body.len &&
           scan_boolean_at(json, envelope->body, "raydbgSteppedOff", &off) && off;
}

static void on_event(struct remote_step *step, const char *json, size_t len,
                     const struct envelope *envelope)
{
    bool entering = step->state == REMOTE_STEP_ENTERING;
    if (text_equal(envelope->name, "initialized"))
        soon(step, configure);
    else if (text_equal(envelope->name, "terminated"))
        soon(step, come_back);
    else if (text_equal(envelope->name, "capabilities") ||
             text_equal(envelope->name, "raydbg/role"))
        return;
    else if (entering && text_equal(envelope->name, "stopped"))
        look(step, json, len, envelope);
    else if (entering && text_equal(envelope->name, "thread"))
        note_thread_of(step, json, envelope);
    else if (!entering || text_equal(envelope->name, "output"))
        pass_event(step, json, len, envelope);
    if (step->state == REMOTE_STEP_INSIDE && has_stepped_off(json, envelope) &&
        remote_step_withholds(step))
        soon(step, come_back);
}

static void on_message(void *arg, const char *json, size_t len)
{
    struct remote_step *step = remote_step_checked(arg);
    struct envelope envelope;
    const char *problem;
    if (!step->inner || envelope_read(&envelope, json, len, &problem) != 0)
        return;
    if (envelope.kind == DAP_RESPONSE)
        on_response(step, json, len, &envelope);
    else if (envelope.kind == DAP_EVENT)
        on_event(step, json, len, &envelope);
}

static void on_end(void *arg)
{
    struct remote_step *step = remote_step_checked(arg);
    if (step->inner)
        soon(step, come_back);
}

static void on_flow(void *arg, bool flows)
{
    struct remote_step *step = remote_step_checked(arg);
    step->stalled = !flows;
    session_tell_flow(step->session);
}

bool remote_step_stalls(const struct session *session)
{
    return session->remote_step && session->remote_step->stalled;
}

const struct session *remote_step_callee(const struct session *session)
{
    return session->remote_step ? session->remote_step->inner : NULL;
}

void remote_step_flow(const struct session *session, bool enable)
{
    if (session->remote_step && session->remote_step->inner)
        session_flow(session->remote_step->inner, enable);
}

static void on_act(void *arg, const char *action, const char *detail)
{
    const struct remote_step *step = remote_step_checked(arg);
    session_act(step->session, action, detail);
}

static void on_disturbed(void *arg)
{
    const struct remote_step *step = remote_step_checked(arg);
    session_disturbed(step->session);
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
    struct remote_step *step = remote_step_checked(arg);
    const struct session *session = step->session;
    step->timer = NULL;
    ask(step, SEQ_INITIALIZE, "initialize", session->initialize_words);
    ask(step, SEQ_ATTACH, "attach", session->attach_words);
}

void remote_step_enter(struct remote_step *step, const struct pause *pause)
{
    struct session *session = step->session;
    struct session_options options = session->options;
    struct err err;
    pause_clear(&step->callee);
    pause_copy(&step->callee, pause);
    step->state = REMOTE_STEP_ENTERING;
    step->steps = 0;
    step->configured = false;
    if (pause_reach_check(pause, &err) != 0) {
        fail(step, err.why);
        return;
    }
    int64_t *bases = session->bases ? session->bases : &session->own_bases;
    *bases += BASE;
    step->base = *bases - session->base;
    options.modes = NULL;
    options.pause = &step->callee;
    options.task = options.connect = NULL;
    options.cluster = pause_finder_cluster(session->finder);
    options.role = session->role;
    step->inner = session_create(&options, &callee_ops, step);
    step->inner->caller = session;
    step->inner->bases = bases;
    step->inner->base = *bases;
    session_flow(step->inner, !session->halted);
    soon(step, attach);
}

/* Answers the requests that the callee, and a callee of its own, will not answer any more. */
static void end_pending(struct remote_step *step)
{
    if (!step->inner || step->state != REMOTE_STEP_INSIDE)
        return;
    if (step->inner->remote_step)
        end_pending(step->inner->remote_step);
    session_end_callee(step->inner);
}

void remote_step_drop_callee(struct remote_step *step)
{
    end_pending(step);
    timer_cancel(&step->timer);
    if (step->state == REMOTE_STEP_INSIDE)
        tell_threads(step, "exited");
    step->thread_count = 0;
    free(step->arrival);
    step->arrival = NULL;
    session_destroy(&step->inner);
    if (step->stalled) {
        step->stalled = false;
        session_tell_flow(step->session);
    }
}
