#include "base/buf.h"
#include "base/mem.h"
#include "dap/message.h"
#include "dap/splice.h"
#include "relay/session/remote_step_state.h"

#include <stdlib.h>
#include <string.h>

/* Ids of our own `stepIn` targets; debugpy counts from 0. */
enum { TARGET_INTO = 0x40000000, TARGET_BACK };

bool remote_step_top_frame(const char *json, const struct envelope *envelope, struct span *frame)
{
    struct span frames;
    size_t cursor = 0;
    return json && envelope->success && envelope->body.len &&
           scan_find(json, envelope->body, "stackFrames", &frames) && json[frames.at] == '[' &&
           scan_element(json, frames, &cursor, frame);
}

void remote_step_ask_top_frame(struct remote_step *step, int64_t thread, link_answer_fn fn)
{
    char *arguments =
        mem_format("{\"threadId\":%lld,\"startFrame\":0,\"levels\":1}", (long long)thread);
    hub_ask(&step->session->member, "stackTrace", arguments, REMOTE_STEP_ASK_MS, fn, step);
    free(arguments);
}

void remote_step_targets_clear(struct remote_step *step)
{
    free(step->targets_request);
    free(step->targets_label);
    step->targets_request = step->targets_label = NULL;
    step->targets.open = false;
}

static void add_targets(const struct remote_step *step, struct buf *out, bool first)
{
    if (step->targets_label) {
        buf_printf(out, "%s{\"id\":%d,\"label\":", first ? "" : ",", TARGET_INTO);
        message_quote(out, step->targets_label);
        buf_add_string(out, "}");
        first = false;
    }
    buf_printf(out, "%s{\"id\":%d,\"label\":\"out to ray.get of the result\"}", first ? "" : ",",
               TARGET_BACK);
}

/* Passes the debuggee's answer on with our targets added; our targets alone if it has none. */
static void answer_targets(struct remote_step *step, const char *json, size_t len,
                           const struct envelope *envelope)
{
    struct client *client = &step->session->client;
    struct buf out = {0}, added = {0};
    struct span list, element;
    size_t cursor = 0;
    if (json && envelope->success && envelope->body.len &&
        scan_find(json, envelope->body, "targets", &list) && json[list.at] == '[') {
        add_targets(step, &added, !scan_element(json, list, &cursor, &element));
        struct edit edit = {{list.at + list.len - 1, 0}, added.data, added.len};
        splice_apply(json, len, &edit, 1, &out);
        client_pass_edited(client, &out, step->targets.seq);
    } else {
        buf_add_string(&out, "{\"targets\":[");
        add_targets(step, &out, true);
        buf_add_string(&out, "]}");
        client_respond(client, step->targets.seq, "stepInTargets", out.data);
    }
    buf_free(&added);
    buf_free(&out);
    remote_step_targets_clear(step);
}

static void forward_targets(struct remote_step *step)
{
    struct session *session = step->session;
    struct envelope envelope;
    const char *problem, *json = step->targets_request;
    size_t len = strlen(json);
    if (session->pause.debugger == PAUSE_PDB ||
        envelope_read(&envelope, json, len, &problem) != 0) {
        answer_targets(step, NULL, 0, NULL);
        return;
    }
    /* It was not refused when it came, but the thread may run since, or the network be cut. */
    const char *why = hub_refusal(&session->member, json, &envelope);
    if (why) {
        remote_step_targets_lost(step, why);
        return;
    }
    hub_forward(&session->member, (struct client_seq){step->targets.seq}, json, len, &envelope);
    free(step->targets_request);
    step->targets_request = NULL;
}

static void on_functions(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct remote_step *step = remote_step_checked(arg);
    (void)len;
    if (!step->targets.open)
        return;
    char *result = envelope_result(json, envelope);
    step->targets_label = remote_call_label(result);
    free(result);
    forward_targets(step);
}

static void on_targets_frame(void *arg, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct remote_step *step = remote_step_checked(arg);
    struct span frame, name;
    int64_t id, line;
    (void)len;
    if (!step->targets.open)
        return;
    if (!remote_step_top_frame(json, envelope, &frame) ||
        !scan_integer_at(json, frame, "id", &id) || id != step->targets_frame ||
        !scan_integer_at(json, frame, "line", &line) || !scan_find(json, frame, "name", &name)) {
        forward_targets(step);
        return;
    }
    char *function = scan_string(json, name);
    char *arguments = remote_call_functions(function ? function : "", line, id);
    hub_ask(&step->session->member, "evaluate", arguments, REMOTE_STEP_ASK_MS, on_functions, step);
    free(arguments);
    free(function);
}

void remote_step_on_targets(struct session *session, const char *json,
                            const struct envelope *envelope)
{
    size_t len = envelope->whole.at + envelope->whole.len;
    int64_t frame = 0;
    const struct stop *stop = hub_last_stop(&session->member);
    if (!stop || !pause_finder_cluster(session->finder) ||
        (session->remote_step && session->remote_step->targets.open) ||
        !scan_integer_at(json, envelope->arguments, "frameId", &frame)) {
        hub_forward(&session->member, (struct client_seq){envelope->seq}, json, len, envelope);
        return;
    }
    struct remote_step *step = remote_step_need(session);
    open_request_begin(&step->targets, envelope->seq);
    step->targets_request = mem_string_n(json, len);
    step->targets_frame = frame;
    remote_step_ask_top_frame(step, stop->thread, on_targets_frame);
}

static bool is_targets(const struct remote_step *step, const struct pending *pending)
{
    return step->targets.open && pending->client.value == step->targets.seq;
}

bool remote_step_targets_response(struct session *session, const struct pending *pending,
                                  const char *json, size_t len, const struct envelope *envelope)
{
    struct remote_step *step = session->remote_step;
    if (!step || !is_targets(step, pending))
        return false;
    answer_targets(step, json, len, envelope);
    return true;
}

void remote_step_targets_lost(struct remote_step *step, const char *why)
{
    if (step->targets.open)
        client_refuse(&step->session->client, step->targets.seq, "stepInTargets", why, false);
    remote_step_targets_clear(step);
}

void remote_step_targets_give_up(struct remote_step *step, const char *why)
{
    if (step->targets_request)
        remote_step_targets_lost(step, why);
}

void remote_step_targets_note_ended(struct remote_step *step, const struct pending *pending)
{
    if (is_targets(step, pending))
        remote_step_targets_clear(step);
}

void remote_step_on_into(struct session *session, const char *json, const struct envelope *envelope)
{
    remote_step_begin(session, json, envelope, REMOTE_CALL_INTO);
}

void remote_step_on_back(struct session *session, const char *json, const struct envelope *envelope)
{
    remote_step_begin(session, json, envelope, REMOTE_CALL_BACK);
}

void remote_step_on_step_in(struct session *session, const char *json,
                            const struct envelope *envelope)
{
    int64_t target = 0;
    scan_integer_at(json, envelope->arguments, "targetId", &target);
    if (target == TARGET_INTO || target == TARGET_BACK)
        remote_step_begin(session, json, envelope,
                          target == TARGET_INTO ? REMOTE_CALL_INTO : REMOTE_CALL_BACK);
    else
        hub_forward(&session->member, (struct client_seq){envelope->seq}, json,
                    envelope->whole.at + envelope->whole.len, envelope);
}
