#include "relay/server/tunnel_tuning.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/envelope.h"
#include "dap/frame.h"
#include "dap/message.h"
#include "relay/inject/inject.h"

#include <stdint.h>
#include <stdlib.h>

/* The largest integer that every JSON reader keeps; no client's seq gets that far. */
static const int64_t own_seq = INT64_C(9007199254740991);

/* With more messages before `initialized` this is not a debugpy that is being attached to. */
enum { MESSAGES_MAX = 1000 };

/* LOOKING: for `initialized`. SENDING: the client is inside a message. WAITING: for the answer. */
enum state { LOOKING, SENDING, WAITING, OVER };

struct tunnel_tuning {
    const struct tunnel_tuning_ops *ops;
    void *arg;
    struct frame client, adapter;
    struct buf held; /* of the adapter's message under way, while WAITING */
    enum state state;
    unsigned messages;
    bool is_debugpy;
    bool dropping; /* the adapter's message under way is the answer, and large */
};

struct tunnel_tuning *tunnel_tuning_create(const struct tunnel_tuning_ops *ops, void *arg)
{
    struct tunnel_tuning *tuning = mem_alloc(sizeof *tuning);
    *tuning = (struct tunnel_tuning){.ops = ops, .arg = arg};
    frame_init(&tuning->client, SIZE_MAX);
    frame_set_large(&tuning->client, FRAME_HEAD_SIZE);
    frame_init(&tuning->adapter, SIZE_MAX);
    frame_set_large(&tuning->adapter, FRAME_HEAD_SIZE);
    return tuning;
}

void tunnel_tuning_free(struct tunnel_tuning **tuning)
{
    struct tunnel_tuning *it = *tuning;
    if (!it)
        return;
    *tuning = NULL;
    frame_free(&it->client);
    frame_free(&it->adapter);
    buf_free(&it->held);
    free(it);
}

static void release_held(struct tunnel_tuning *tuning)
{
    if (tuning->held.len)
        tuning->ops->to_client(tuning->arg, tuning->held.data, tuning->held.len);
    buf_free(&tuning->held);
}

void tunnel_tuning_end(struct tunnel_tuning *tuning)
{
    release_held(tuning);
    tuning->state = OVER;
}

static void send_request(struct tunnel_tuning *tuning)
{
    struct inject_options options = {.tune = true, .only_tune = true};
    struct buf arguments = {0}, request = {0};
    char *expression = inject_expression(&options);
    char header[FRAME_HEADER_ROOM];
    buf_add_string(&arguments, "{\"context\":\"watch\",\"expression\":");
    message_quote(&arguments, expression);
    buf_add_string(&arguments, "}");
    message_request(&request, own_seq, "evaluate", arguments.data);
    tuning->ops->to_adapter(tuning->arg, header, frame_header(header, request.len));
    tuning->ops->to_adapter(tuning->arg, request.data, request.len);
    tuning->state = WAITING;
    buf_free(&request);
    buf_free(&arguments);
    free(expression);
}

/* --- from the client --- */

bool tunnel_tuning_from_client(struct tunnel_tuning *tuning, const char *bytes, size_t len)
{
    size_t at = 0, passed = 0;
    while (at < len && (tuning->state == LOOKING || tuning->state == SENDING)) {
        size_t used, body_len;
        enum frame_status status = frame_feed(&tuning->client, bytes + at, len - at, &used);
        const char *body = frame_body(&tuning->client, &body_len);
        struct envelope envelope;
        const char *problem;
        at += used;
        if (status == FRAME_LARGE)
            frame_pass(&tuning->client);
        if (status == FRAME_ERROR ||
            (status == FRAME_MESSAGE && envelope_read(&envelope, body, body_len, &problem) == 0 &&
             envelope.seq >= own_seq)) {
            tunnel_tuning_end(tuning);
        } else if (tuning->state == SENDING && frame_idle(&tuning->client)) {
            tuning->ops->to_adapter(tuning->arg, bytes + passed, at - passed);
            passed = at;
            send_request(tuning);
        }
    }
    frame_trim(&tuning->client);
    if (passed < len)
        tuning->ops->to_adapter(tuning->arg, bytes + passed, len - passed);
    return tuning->state != OVER;
}

/* --- from the adapter --- */

static bool names_debugpy(const char *json, const struct envelope *envelope)
{
    struct span name;
    return envelope->kind == DAP_EVENT && text_equal(envelope->name, "output") &&
           envelope->body.len && scan_find(json, envelope->body, "output", &name) &&
           (scan_string_is(json, name, "debugpy") || scan_string_is(json, name, "ptvsd"));
}

/* Looks at a whole message, which has been passed on already. */
static void look_at(struct tunnel_tuning *tuning, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0 || ++tuning->messages > MESSAGES_MAX) {
        tunnel_tuning_end(tuning);
        return;
    }
    if (names_debugpy(json, &envelope))
        tuning->is_debugpy = true;
    if (!tuning->is_debugpy) {
        tunnel_tuning_end(tuning);
    } else if (envelope.kind == DAP_EVENT && text_equal(envelope.name, "initialized")) {
        tuning->state = SENDING;
        if (frame_idle(&tuning->client))
            send_request(tuning);
    }
}

/* LOOKING and SENDING: every byte passes at once. */
static size_t watch_adapter(struct tunnel_tuning *tuning, const char *bytes, size_t len)
{
    size_t used, body_len;
    enum frame_status status = frame_feed(&tuning->adapter, bytes, len, &used);
    const char *body = frame_body(&tuning->adapter, &body_len);
    tuning->ops->to_client(tuning->arg, bytes, used);
    if (status == FRAME_ERROR)
        tunnel_tuning_end(tuning);
    else if (status == FRAME_LARGE)
        frame_pass(&tuning->adapter);
    else if (status == FRAME_MESSAGE && tuning->state == LOOKING)
        look_at(tuning, body, body_len);
    return used;
}

static bool is_answer(const struct envelope *envelope)
{
    return envelope->kind == DAP_RESPONSE && envelope->request_seq == own_seq;
}

static void take_out(struct tunnel_tuning *tuning, const char *json,
                     const struct envelope *envelope)
{
    char *said = envelope_result(json, envelope);
    log_info("tuned: %s", said ? said : envelope->success ? "-" : "the debugger refused");
    free(said);
    buf_free(&tuning->held);
    tuning->state = OVER;
}

/* WAITING: a message passes once it is known not to be the answer. */
static size_t sift_adapter(struct tunnel_tuning *tuning, const char *bytes, size_t len)
{
    size_t used, body_len;
    struct envelope envelope;
    const char *problem;
    enum frame_status status = frame_feed(&tuning->adapter, bytes, len, &used);
    const char *body = frame_body(&tuning->adapter, &body_len);
    if (status == FRAME_PART) {
        if (!tuning->dropping)
            tuning->ops->to_client(tuning->arg, bytes, used);
        else if (!frame_left(&tuning->adapter))
            tuning->state = OVER;
        return used;
    }
    buf_add(&tuning->held, bytes, used);
    if (status == FRAME_LARGE) {
        tuning->dropping = envelope_read_head(&envelope, body, body_len) && is_answer(&envelope);
        frame_pass(&tuning->adapter);
        if (tuning->dropping)
            buf_free(&tuning->held);
        else
            release_held(tuning);
    } else if (status == FRAME_MESSAGE) {
        if (envelope_read(&envelope, body, body_len, &problem) == 0 && is_answer(&envelope))
            take_out(tuning, body, &envelope);
        else
            release_held(tuning);
    } else if (status == FRAME_ERROR) {
        tunnel_tuning_end(tuning);
    }
    return used;
}

bool tunnel_tuning_from_adapter(struct tunnel_tuning *tuning, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && tuning->state != OVER) {
        if (tuning->state == WAITING)
            at += sift_adapter(tuning, bytes + at, len - at);
        else
            at += watch_adapter(tuning, bytes + at, len - at);
    }
    frame_trim(&tuning->adapter);
    if (at < len)
        tuning->ops->to_client(tuning->arg, bytes + at, len - at);
    return tuning->state != OVER;
}
