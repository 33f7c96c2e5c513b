#include "base/buf.h"
#include "base/mem.h"
#include "dap/message.h"
#include "dap/splice.h"
#include "relay/session/remote_step_state.h"

#include <stdlib.h>
#include <string.h>

/* Ids of our own `stepIn` targets; debugpy counts from 0. */
enum { TARGET_INTO = 0x40000000, TARGET_BACK };

void follow_targets_clear(struct follow *follow)
{
    free(follow->targets_request);
    free(follow->targets_label);
    follow->targets_request = follow->targets_label = NULL;
    follow->targets.open = false;
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

/* Passes the debuggee's answer on with our targets added; our targets alone if it has none. */
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
        client_pass_edited(client, &out, follow->targets.seq);
    } else {
        buf_add_string(&out, "{\"targets\":[");
        add_targets(follow, &out, true);
        buf_add_string(&out, "]}");
        client_respond(client, follow->targets.seq, "stepInTargets", out.data);
    }
    buf_free(&added);
    buf_free(&out);
    follow_targets_clear(follow);
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
        hub_forward(&session->place, (struct client_seq){follow->targets.seq},
                    follow->targets_request, len, &envelope);
}

static void on_functions(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = follow_checked(arg);
    (void)len;
    if (!follow->targets.open)
        return;
    char *result = follow_result(json, envelope);
    follow->targets_label = remote_call_label(result);
    free(result);
    forward_targets(follow);
}

static void on_targets_frame(void *arg, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct follow *follow = follow_checked(arg);
    struct span frame, name;
    int64_t id, line;
    (void)len;
    if (!follow->targets.open)
        return;
    if (!follow_top_frame(json, envelope, &frame) || !scan_integer_at(json, frame, "id", &id) ||
        id != follow->targets_frame || !scan_integer_at(json, frame, "line", &line) ||
        !scan_find(json, frame, "name", &name)) {
        forward_targets(follow);
        return;
    }
    char *function = scan_string(json, name);
    char *arguments = remote_call_functions(function ? function : "", line, id);
    hub_ask(&follow->session->place, "evaluate", arguments, FOLLOW_ASK_MS, on_functions, follow);
    free(arguments);
    free(function);
}

void remote_step_on_targets(struct session *session, const char *json,
                            const struct envelope *envelope)
{
    size_t len = envelope->whole.at + envelope->whole.len;
    int64_t frame = 0;
    const struct stop *stop = hub_last_stop(&session->place);
    if (!stop || !pause_finder_cluster(session->finder) ||
        (session->follow && session->follow->targets.open) ||
        !scan_integer_at(json, envelope->arguments, "frameId", &frame)) {
        hub_forward(&session->place, (struct client_seq){envelope->seq}, json, len, envelope);
        return;
    }
    struct follow *follow = follow_need(session);
    open_request_begin(&follow->targets, envelope->seq);
    follow->targets_request = mem_string_n(json, len);
    follow->targets_frame = frame;
    follow_ask_top_frame(follow, stop->thread, on_targets_frame);
}

bool follow_targets_response(struct session *session, const struct pending *pending,
                             const char *json, size_t len, const struct envelope *envelope)
{
    struct follow *follow = session->follow;
    if (!follow || !follow->targets.open || pending->client.value != follow->targets.seq)
        return false;
    answer_targets(follow, json, len, envelope);
    return true;
}

void follow_targets_lost(struct follow *follow, const char *why)
{
    if (follow->targets.open)
        client_refuse(&follow->session->client, follow->targets.seq, "stepInTargets", why, false);
    follow_targets_clear(follow);
}

void remote_step_on_step_in(struct session *session, const char *json,
                            const struct envelope *envelope)
{
    int64_t target = 0;
    scan_integer_at(json, envelope->arguments, "targetId", &target);
    if (target == TARGET_INTO || target == TARGET_BACK)
        follow_begin(session, json, envelope,
                     target == TARGET_INTO ? REMOTE_CALL_INTO : REMOTE_CALL_BACK);
    else
        hub_forward(&session->place, (struct client_seq){envelope->seq}, json,
                    envelope->whole.at + envelope->whole.len, envelope);
}
