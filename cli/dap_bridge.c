#include "cli/dap_bridge.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/dap_ahead.h"
#include "cli/dap_complete.h"
#include "cli/dap_pending.h"
#include "cli/dap_renumber.h"
#include "cli/dap_replay.h"
#include "cli/signals.h"
#include "dap/frame.h"
#include "dap/message.h"
#include "dap/splice.h"
#include "relay/bridge.h"
#include "relay/client.h"
#include "relay/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest message taken from an editor. */
enum { MAX_BODY = 64 * 1024 * 1024 };
enum { AGAIN_MS = 500, PATIENCE_MS = 60000, FLUSH_MS = 2000 };
/* The seqs of what is said again: no client counts so far. */
enum { REPLAY_SEQ = 1 << 30 };

/* A message that waits for a relay. */
struct held_back {
    struct held_back *next;
    size_t len;
    char json[];
};

enum state {
    STATE_ON,     /* a relay is there, or on its way */
    STATE_AWAY,   /* it is gone: a new one is waited for */
    STATE_REPLAY, /* it is there, and hears what was said before */
    STATE_OFF,    /* it is gone for good: the client is told so */
};

struct dap_bridge {
    const struct dap_bridge_options *options;
    struct loop *loop;
    struct stream *stream;
    struct bridge *bridge;
    struct frame frame;
    struct client client; /* for messages of our own; its seq follows the relay's */
    struct pending_requests pending;
    struct renumber renumber;
    struct dap_ahead *ahead;
    struct replay replay;
    struct held_back *first, **last;
    struct timer *again;
    int64_t until_us; /* when a relay that is away is given up */
    enum state state;
    struct err err; /* why it is gone */
    bool held;      /* the relay said that it holds the pause */
    bool leaving;   /* the client has asked to disconnect, or is gone */
    bool drained;   /* the client is gone: nothing more comes from it */
    int code;
};

/* --- requests that wait --- */

/* A client that asked to disconnect has what it wanted. */
static void answer_pending(struct dap_bridge *it, const struct err *err)
{
    struct pending_request *pending = pending_take(&it->pending);
    while (pending) {
        struct pending_request *next = pending->next;
        if (text_equal(pending->command, "disconnect"))
            client_respond(&it->client, pending->seq, pending->command, NULL);
        else
            client_fail(&it->client, pending->seq, pending->command, err);
        free(pending);
        pending = next;
    }
}

/* --- the end of a relay --- */

static void say(struct dap_bridge *it, const struct err *err, const char *more)
{
    char line[sizeof err->what + sizeof err->why + sizeof err->hint + 8];
    err_line(err, line, sizeof line);
    char *text = mem_format("raydbg: %s%s\n", line, more);
    client_say(&it->client, "important", text);
    free(text);
}

static void drop_held_back(struct dap_bridge *it)
{
    while (it->first) {
        struct held_back *message = it->first;
        it->first = message->next;
        free(message);
    }
    it->last = &it->first;
}

static void give_up(struct dap_bridge *it)
{
    it->state = STATE_OFF;
    it->code = (int)it->err.code;
    timer_cancel(&it->again);
    drop_held_back(it);
    answer_pending(it, &it->err);
    say(it, &it->err, it->held ? "; the task stays where it is held" : "");
    client_event(&it->client, "terminated", NULL);
}

static void finish(struct dap_bridge *it)
{
    static const struct err over = {.code = ERR_FAILED, .what = "the relay has ended the session"};
    answer_pending(it, &over);
    loop_stop(it->loop);
}

static const struct bridge_ops bridge_ops;

static void try_again(void *arg)
{
    struct dap_bridge *it = arg;
    it->again = NULL;
    it->bridge = bridge_open(it->loop, it->options->relay, &bridge_ops, it);
}

static void wait_for_another(struct dap_bridge *it)
{
    static const struct err away = {.code = ERR_UNREACHABLE,
                                    .what = "the relay is gone; waiting for it to come back"};
    if (it->state == STATE_ON) {
        it->until_us = loop_now_us() + (int64_t)PATIENCE_MS * 1000;
        answer_pending(it, &away);
        say(it, &it->err, "; the task stays held: waiting for the relay to come back");
    }
    it->state = STATE_AWAY;
    it->again = timer_start(it->loop, AGAIN_MS, try_again, it);
}

static void on_bridge_close(void *arg, const struct err *err)
{
    struct dap_bridge *it = arg;
    bridge_destroy(&it->bridge);
    dap_ahead_restart(it->ahead);
    if (it->leaving || (!err && it->state == STATE_ON)) {
        finish(it);
        return;
    }
    if (err)
        it->err = *err;
    bool lost = !err || err->code == ERR_UNREACHABLE || err->code == ERR_FAILED;
    bool patient = it->state == STATE_ON || loop_now_us() < it->until_us;
    if (lost && patient && it->held && replay_is_whole(&it->replay))
        wait_for_another(it);
    else
        give_up(it);
}

/* --- to the relay --- */

static void send_now(struct dap_bridge *it, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) == 0 && envelope.kind == DAP_REQUEST)
        dap_ahead_sent(it->ahead, &envelope);
    bridge_send(it->bridge, json, len);
}

static void hold_back(struct dap_bridge *it, const char *json, size_t len)
{
    struct held_back *message = mem_alloc(sizeof *message + len);
    message->len = len;
    memcpy(message->json, json, len);
    *it->last = message;
    it->last = &message->next;
}

static void send_held_back(struct dap_bridge *it)
{
    while (it->first) {
        struct held_back *message = it->first;
        it->first = message->next;
        send_now(it, message->json, message->len);
        free(message);
    }
    it->last = &it->first;
}

static void say_again(struct dap_bridge *it, size_t index)
{
    const struct replay_message *message = &it->replay.messages[index];
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    if (envelope_read(&envelope, message->json, message->len, &problem) != 0)
        return;
    splice_seq(message->json, message->len, &envelope, REPLAY_SEQ + (int64_t)index, 0, &out);
    send_now(it, out.data, out.len);
    buf_free(&out);
}

static void on_bridge_open(void *arg)
{
    struct dap_bridge *it = arg;
    if (it->state == STATE_AWAY) {
        it->state = STATE_REPLAY;
        say_again(it, 0);
    }
}

/* --- from the relay --- */

/* The new relay's answer to what was said again; the client does not see it. */
static void on_replayed(struct dap_bridge *it, const char *json, const struct envelope *envelope)
{
    size_t index = (size_t)(envelope->request_seq - REPLAY_SEQ);
    if (index < 2 && !envelope->success) {
        char *why = envelope->message.len ? scan_string(json, envelope->message) : NULL;
        err_set(&it->err, ERR_FAILED, "the relay is back, but its %s was refused", envelope->name);
        err_why(&it->err, "%s", why ? why : "");
        free(why);
        bridge_destroy(&it->bridge);
        dap_ahead_restart(it->ahead);
        give_up(it);
    } else if (index == 0) {
        say_again(it, 1);
    } else if (index + 1 == it->replay.count) {
        it->state = STATE_ON;
        client_say(&it->client, "console", "raydbg: the relay is back\n");
        send_held_back(it);
    }
}

/* True if the message is the new relay's, and not for the client. */
static bool swallow(struct dap_bridge *it, const char *json, const struct envelope *envelope)
{
    if (envelope->kind == DAP_RESPONSE && envelope->request_seq >= REPLAY_SEQ) {
        on_replayed(it, json, envelope);
        return true;
    }
    if (it->state != STATE_REPLAY || envelope->kind != DAP_EVENT ||
        !text_equal(envelope->name, "initialized"))
        return false;
    for (size_t i = 2; i < it->replay.count; i++)
        say_again(it, i);
    return true;
}

static void to_client(void *arg, const char *json, size_t len)
{
    struct dap_bridge *it = arg;
    char header[FRAME_HEADER_ROOM];
    stream_write(it->stream, header, frame_header(header, len), json, len);
}

/* The client's numbers only ever rise: some messages are our own, and a new relay begins at 1. */
static void number(struct dap_bridge *it, const char *json, size_t len,
                   const struct envelope *envelope)
{
    if (envelope->seq > it->client.seq) {
        it->client.seq = envelope->seq;
        to_client(it, json, len);
        return;
    }
    client_pass(&it->client, json, len, envelope, envelope->request_seq);
    if (envelope->kind == DAP_REQUEST)
        renumber_note(&it->renumber, it->client.seq, envelope->seq);
}

static void on_bridge_message(void *arg, const char *json, size_t len)
{
    struct dap_bridge *it = arg;
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) == 0) {
        if (swallow(it, json, &envelope))
            return;
        if (envelope.kind == DAP_RESPONSE)
            pending_remove(&it->pending, envelope.request_seq);
        else if (envelope.kind == DAP_EVENT && text_equal(envelope.name, "raydbg/role"))
            it->held = true;
        else if (envelope.kind == DAP_EVENT && text_equal(envelope.name, "terminated"))
            it->held = false;
        if (envelope.kind != DAP_EVENT || !dap_ahead_event(it->ahead, json, &envelope))
            number(it, json, len, &envelope);
    } else {
        to_client(it, json, len);
    }
}

/* --- what the relay answers ahead --- */

static void on_answer(void *arg, const char *json, size_t len, int64_t request_seq)
{
    struct dap_bridge *it = arg;
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0)
        return; /* not so: it was part of a message that was read */
    pending_remove(&it->pending, request_seq);
    client_pass(&it->client, json, len, &envelope, request_seq);
}

static void to_relay(void *arg, const char *json, size_t len)
{
    struct dap_bridge *it = arg;
    if (it->bridge && it->state == STATE_ON)
        send_now(it, json, len);
}

/* Threads that run change things without a word. */
static const struct dap_ahead_ops ahead_ops = {
    .fresh_ms = 2000,
    .patience_ms = 10000,
    .answer = on_answer,
    .release = to_relay,
    .tell = to_relay,
};

static const struct bridge_ops bridge_ops = {
    .on_open = on_bridge_open,
    .on_message = on_bridge_message,
    .on_close = on_bridge_close,
};

/* --- from the client --- */

/* What the command line, and this program, add to a request: each member with a comma after. */
static void missing_members(const struct dap_bridge *it, const char *json,
                            const struct envelope *request, struct buf *out)
{
    const struct dap_bridge_options *options = it->options;
    struct buf task = {0};
    if (text_equal(request->name, "initialize")) {
        complete_member(json, request, "supportsRaydbgAhead", options->ahead ? "true" : NULL, out);
    } else if (text_equal(request->name, "attach")) {
        if (options->task)
            message_quote(&task, options->task);
        complete_member(json, request, "task", task.data, out);
        complete_member(json, request, "kill", options->kill ? "true" : NULL, out);
        complete_member(json, request, "noTune", options->tune ? NULL : "true", out);
    }
    buf_free(&task);
}

static bool complete(const struct dap_bridge *it, const char *json, size_t len,
                     const struct envelope *request, struct buf *out)
{
    struct buf members = {0};
    missing_members(it, json, request, &members);
    bool changed = complete_request(json, len, request, &members, out);
    buf_free(&members);
    return changed;
}

static void on_gone_request(struct dap_bridge *it, const struct envelope *envelope)
{
    if (!text_equal(envelope->name, "disconnect")) {
        client_fail(&it->client, envelope->seq, envelope->name, &it->err);
        return;
    }
    client_respond(&it->client, envelope->seq, envelope->name, NULL);
    loop_stop(it->loop);
}

static void pass(struct dap_bridge *it, const char *json, size_t len,
                 const struct envelope *envelope)
{
    if (envelope && envelope->kind == DAP_REQUEST) {
        replay_note(&it->replay, json, len, envelope);
        pending_add(&it->pending, envelope);
        if (text_equal(envelope->name, "disconnect"))
            it->leaving = true;
        if (it->state == STATE_ON && dap_ahead_takes(it->ahead, json, len, envelope))
            return;
    }
    if (it->state == STATE_ON)
        send_now(it, json, len);
    else if (it->leaving) /* nobody is there to say it to */
        finish(it);
    else
        hold_back(it, json, len);
}

/* True if `out` has the message to pass on instead. */
static bool edit(struct dap_bridge *it, const char *json, size_t len,
                 const struct envelope *envelope, struct buf *out)
{
    if (envelope->kind == DAP_RESPONSE)
        return renumber_restore(&it->renumber, json, len, envelope, out);
    return envelope->kind == DAP_REQUEST && complete(it, json, len, envelope, out);
}

static void on_client_message(struct dap_bridge *it, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    struct buf edited = {0};
    if (envelope_read(&envelope, json, len, &problem) != 0) {
        if (it->state != STATE_OFF)
            pass(it, json, len, NULL); /* the relay knows what to say of it */
    } else if (it->state == STATE_OFF) {
        if (envelope.kind == DAP_REQUEST)
            on_gone_request(it, &envelope);
    } else if (edit(it, json, len, &envelope, &edited) &&
               envelope_read(&envelope, edited.data, edited.len, &problem) == 0) {
        pass(it, edited.data, edited.len, &envelope);
    } else {
        pass(it, json, len, &envelope);
    }
    buf_free(&edited);
}

static void on_open(void *arg)
{
    (void)arg; /* files are open from the start */
}

static void client_gone(void *arg)
{
    struct dap_bridge *it = arg;
    it->leaving = it->drained = true;
    loop_stop(it->loop);
}

static void on_broken(struct dap_bridge *it)
{
    char *text =
        mem_format("raydbg: the debug adapter's input is broken: %s\n", frame_problem(&it->frame));
    stream_read_enable(it->stream, false);
    client_say(&it->client, "important", text);
    client_event(&it->client, "terminated", NULL);
    free(text);
    it->code = ERR_FAILED;
    client_gone(it);
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct dap_bridge *it = arg;
    while (len) {
        size_t used;
        enum frame_status status = frame_feed(&it->frame, bytes, len, &used);
        bytes += used;
        len -= used;
        if (status == FRAME_MESSAGE) {
            size_t body_len;
            const char *body = frame_body(&it->frame, &body_len);
            on_client_message(it, body, body_len);
        } else if (status == FRAME_ERROR) {
            on_broken(it);
            return;
        }
    }
}

static void on_close(void *arg, const char *why)
{
    struct dap_bridge *it = arg;
    if (why || !frame_idle(&it->frame))
        it->code = ERR_FAILED;
    client_gone(it);
}

static const struct stream_ops stream_ops = {
    .on_open = on_open,
    .on_bytes = on_bytes,
    .on_close = on_close,
};

/* --- life --- */

/* What the client said last still goes out. */
static void flush(struct dap_bridge *it)
{
    int64_t until = loop_now_us() + (int64_t)FLUSH_MS * 1000;
    while (it->bridge && bridge_queued(it->bridge) && loop_now_us() < until)
        loop_run_once(it->loop, 50);
    if (!it->bridge)
        return;
    bridge_destroy(&it->bridge);
    loop_run_once(it->loop, 50); /* the goodbye */
}

int dap_bridge_run(const struct dap_bridge_options *options)
{
    struct dap_bridge it = {.options = options, .loop = options->loop, .last = &it.first};
    struct signals *signals = signals_start(it.loop, client_gone, &it);
    frame_init(&it.frame, MAX_BODY);
    client_init(&it.client, to_client, &it);
    it.ahead = dap_ahead_create(it.loop, &ahead_ops, &it);
    it.bridge = bridge_open(it.loop, options->relay, &bridge_ops, &it);
    it.stream = stream_files(it.loop, STDIN_FILENO, STDOUT_FILENO, &stream_ops, &it);
    loop_run(it.loop);
    it.leaving = true;
    flush(&it);
    timer_cancel(&it.again);
    stream_destroy(&it.stream);
    pending_clear(&it.pending);
    renumber_clear(&it.renumber);
    dap_ahead_destroy(&it.ahead);
    drop_held_back(&it);
    replay_clear(&it.replay);
    client_free(&it.client);
    frame_free(&it.frame);
    signals_stop(&signals);
    return it.code;
}
