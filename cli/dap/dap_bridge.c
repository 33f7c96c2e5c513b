#include "cli/dap/dap_bridge.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/signals.h"
#include "cli/dap/dap_arguments.h"
#include "cli/dap/dap_held_back.h"
#include "cli/dap/dap_launch.h"
#include "cli/dap/dap_pending.h"
#include "cli/dap/dap_prefetch.h"
#include "cli/dap/dap_renumber.h"
#include "cli/dap/dap_replay.h"
#include "dap/capabilities.h"
#include "dap/frame.h"
#include "dap/splice.h"
#include "relay/client/client.h"
#include "relay/io/stream.h"
#include "relay/locate/relay_websocket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest body that is accepted from an editor, in bytes. */
enum { MAX_BODY = 64 * 1024 * 1024 };
enum { AGAIN_MS = 500, PATIENCE_MS = 60000, FLUSH_MS = 2000 };
/* The first seq of replayed requests: no client counts that far. */
enum { REPLAY_SEQ = 1 << 30, BEGUN_SEQ = REPLAY_SEQ - 1 };

enum state {
    STATE_ON,     /* connected to a relay, or connecting */
    STATE_AWAY,   /* the relay is gone: waiting for a new one */
    STATE_REPLAY, /* connected to a new relay, replaying */
    STATE_OFF,    /* the relay is gone for good: the client knows */
};

struct dap_bridge {
    const struct dap_bridge_options *options;
    struct loop *loop;
    struct stream *stream;
    struct relay_websocket *bridge;
    struct frame frame;
    struct client client; /* for messages of our own; its seq follows the relay's */
    struct pending_requests pending;
    struct renumber renumber;
    struct dap_prefetch *prefetch;
    struct replay replay;
    struct held_back held_back;
    struct dap_launch *launch;
    struct timer *again;
    int64_t until_us; /* when to give up a relay that is away */
    enum state state;
    struct err err; /* why the relay is gone */
    bool held;      /* the relay said that it holds the pause, by raydbg/role */
    bool no_role;   /* the client did not ask for that event */
    bool leaving;   /* the client has asked to disconnect, or is gone */
    bool drained;   /* the client is gone: it sends no more */
    int code;
};

/* --- the end of a relay --- */

static void say(struct dap_bridge *it, const struct err *err, const char *more)
{
    char line[sizeof err->what + sizeof err->why + sizeof err->hint + 8];
    err_line(err, line, sizeof line);
    char *text = mem_format("raydbg: %s%s\n", line, more);
    client_say(&it->client, "important", text);
    free(text);
}

static void give_up(struct dap_bridge *it)
{
    it->state = STATE_OFF;
    it->code = (int)it->err.code;
    timer_cancel(&it->again);
    held_back_clear(&it->held_back);
    pending_answer(&it->pending, &it->client, &it->err);
    say(it, &it->err, it->held ? "; the task stays where it is held" : "");
    client_event(&it->client, "terminated", NULL);
}

static void finish(struct dap_bridge *it)
{
    static const struct err over = {.code = ERR_FAILED, .what = "the relay has ended the session"};
    pending_answer(&it->pending, &it->client, &over);
    loop_stop(it->loop);
}

static const struct relay_websocket_ops relay_websocket_ops;

static void try_again(void *arg)
{
    struct dap_bridge *it = arg;
    it->again = NULL;
    it->bridge = relay_websocket_open(it->loop, it->options->relay, &relay_websocket_ops, it);
}

static void wait_for_another(struct dap_bridge *it)
{
    static const struct err away = {.code = ERR_UNREACHABLE,
                                    .what = "the relay is gone; waiting for it to come back"};
    if (it->state == STATE_ON) {
        it->until_us = loop_now_us() + (int64_t)PATIENCE_MS * 1000;
        pending_answer(&it->pending, &it->client, &away);
        say(it, &it->err, "; the task stays held: waiting for the relay to come back");
    }
    it->state = STATE_AWAY;
    it->again = timer_start(it->loop, AGAIN_MS, try_again, it);
}

static void on_bridge_close(void *arg, const struct err *err)
{
    struct dap_bridge *it = arg;
    relay_websocket_destroy(&it->bridge);
    dap_prefetch_restart(it->prefetch);
    if (it->leaving || (!err && it->state == STATE_ON)) {
        finish(it);
        return;
    }
    if (err)
        it->err = *err;
    bool lost = !err || err->code == ERR_UNREACHABLE || err->code == ERR_FAILED;
    bool patient = it->state == STATE_ON || loop_now_us() < it->until_us;
    bool worth = it->held || dap_launch_is_on(it->launch);
    if (lost && patient && worth && replay_is_whole(&it->replay))
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
        dap_prefetch_sent(it->prefetch, &envelope);
    relay_websocket_send(it->bridge, json, len);
}

static void send_held_back(struct dap_bridge *it)
{
    struct held_back_message *message;
    while ((message = held_back_take(&it->held_back))) {
        send_now(it, message->json, message->len);
        free(message);
    }
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

/* A new relay's response to a replayed request; the client does not see it. */
static void on_replayed(struct dap_bridge *it, const char *json, const struct envelope *envelope)
{
    size_t index = (size_t)(envelope->request_seq - REPLAY_SEQ);
    if (index < 2 && !envelope->success) {
        char *why = scan_string(json, envelope->message);
        err_set(&it->err, ERR_FAILED, "the relay is back, but its %s was refused", envelope->name);
        err_why(&it->err, "%s", why ? why : "");
        free(why);
        relay_websocket_destroy(&it->bridge);
        dap_prefetch_restart(it->prefetch);
        give_up(it);
    } else if (index == 0) {
        say_again(it, 1);
    } else if (index + 1 == it->replay.count) {
        it->state = STATE_ON;
        client_say(&it->client, "console", "raydbg: the relay is back\n");
        send_held_back(it);
    }
}

/* True if the message belongs to the replay, and not to the client. */
static bool swallow(struct dap_bridge *it, const char *json, const struct envelope *envelope)
{
    if (envelope->kind == DAP_RESPONSE && envelope->request_seq >= REPLAY_SEQ) {
        on_replayed(it, json, envelope);
        return true;
    }
    if (envelope->kind == DAP_RESPONSE && envelope->request_seq == BEGUN_SEQ)
        return true;
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

/* Lets the seqs that the client sees only rise: some messages are our own, and a new relay begins
 * at 1. */
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
        if (dap_launch_from_relay(it->launch, json, &envelope) ||
            (it->no_role && text_equal(envelope.name, "raydbg/role")))
            return;
        if (envelope.kind != DAP_EVENT || !dap_prefetch_event(it->prefetch, json, &envelope))
            number(it, json, len, &envelope);
    } else {
        to_client(it, json, len);
    }
}

/* --- prefetched answers --- */

static void on_answer(void *arg, const char *json, size_t len, int64_t request_seq)
{
    struct dap_bridge *it = arg;
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0)
        return; /* cannot happen: it was part of a message that was read */
    pending_remove(&it->pending, request_seq);
    client_pass(&it->client, json, len, &envelope, request_seq);
}

static void to_relay(void *arg, const char *json, size_t len)
{
    struct dap_bridge *it = arg;
    if (it->bridge && it->state == STATE_ON)
        send_now(it, json, len);
}

/* fresh_ms: threads that run change things without an event. */
static const struct dap_prefetch_ops prefetch_ops = {
    .fresh_ms = 2000,
    .patience_ms = 10000,
    .answer = on_answer,
    .release = to_relay,
    .tell = to_relay,
};

static const struct relay_websocket_ops relay_websocket_ops = {
    .on_open = on_bridge_open,
    .on_message = on_bridge_message,
    .on_close = on_bridge_close,
};

/* --- from the client --- */

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
        if (it->state == STATE_ON && dap_prefetch_takes(it->prefetch, json, len, envelope))
            return;
    }
    if (it->state == STATE_ON)
        send_now(it, json, len);
    else if (it->leaving) /* no relay is there to receive it */
        finish(it);
    else
        held_back_add(&it->held_back, json, len);
}

/* DAP_LAUNCH_EDITED: `out` has the message to pass on instead, a launch's, or one with added
 * arguments or the relay's seq. */
static enum dap_launch_way edit(struct dap_bridge *it, const char *json, size_t len,
                                const struct envelope *envelope, struct buf *out)
{
    enum dap_launch_way way = dap_launch_from_client(it->launch, json, len, envelope, out);
    bool edited = false;
    if (way != DAP_LAUNCH_PASS)
        return way;
    if (text_equal(envelope->name, "initialize"))
        it->no_role = !capabilities_takes_role(json, envelope->arguments);
    if (envelope->kind == DAP_RESPONSE)
        edited = renumber_restore(&it->renumber, json, len, envelope, out);
    else if (envelope->kind == DAP_REQUEST)
        edited = dap_arguments_by_options(it->options, json, len, envelope, out);
    return edited ? DAP_LAUNCH_EDITED : DAP_LAUNCH_PASS;
}

static void edit_and_pass(struct dap_bridge *it, const char *json, size_t len,
                          const struct envelope *envelope)
{
    struct envelope other;
    const char *problem;
    struct buf edited = {0};
    enum dap_launch_way way = edit(it, json, len, envelope, &edited);
    if (way == DAP_LAUNCH_PASS)
        pass(it, json, len, envelope);
    else if (way == DAP_LAUNCH_EDITED &&
             envelope_read(&other, edited.data, edited.len, &problem) == 0)
        pass(it, edited.data, edited.len, &other);
    buf_free(&edited);
}

static void on_client_message(struct dap_bridge *it, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0) {
        if (it->state != STATE_OFF)
            pass(it, json, len, NULL); /* the relay answers it */
    } else if (it->state != STATE_OFF) {
        edit_and_pass(it, json, len, &envelope);
    } else if (envelope.kind == DAP_REQUEST) {
        on_gone_request(it, &envelope);
    }
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

/* Sends the client's last messages. */
static void flush(struct dap_bridge *it)
{
    int64_t until = loop_now_us() + (int64_t)FLUSH_MS * 1000;
    while (it->bridge && relay_websocket_queued(it->bridge) && loop_now_us() < until)
        loop_run_once(it->loop, 50);
    if (!it->bridge)
        return;
    relay_websocket_destroy(&it->bridge);
    loop_run_once(it->loop, 50); /* sends the close */
}

/* Goes on where another session has begun: gives the relay the client's `initialize`, which is
 * answered already, and handles what the client has sent since. */
static void go_on(struct dap_bridge *it, const struct dap_bridge_begun *begun)
{
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    it->client.seq = begun->seq;
    if (begun->problem) {
        it->state = STATE_OFF;
        it->err = *begun->problem;
        it->code = (int)it->err.code;
    } else if (begun->initialize && envelope_read(&envelope, begun->initialize,
                                                  strlen(begun->initialize), &problem) == 0) {
        size_t len = strlen(begun->initialize);
        dap_launch_from_client(it->launch, begun->initialize, len, &envelope, &out);
        replay_note(&it->replay, begun->initialize, len, &envelope);
        splice_seq(begun->initialize, len, &envelope, BEGUN_SEQ, 0, &out);
        send_now(it, out.data, out.len);
    }
    buf_free(&out);
    on_bytes(it, begun->bytes, begun->len);
}

int dap_bridge_run(const struct dap_bridge_options *options)
{
    struct dap_bridge it = {.options = options, .loop = options->loop};
    struct signals *signals = signals_start(it.loop, client_gone, &it);
    frame_init(&it.frame, MAX_BODY);
    client_init(&it.client, to_client, &it);
    it.prefetch = dap_prefetch_create(it.loop, &prefetch_ops, &it);
    it.launch = dap_launch_create(it.loop, &it.client, options->relay);
    if (!options->begun || !options->begun->problem)
        it.bridge = relay_websocket_open(it.loop, options->relay, &relay_websocket_ops, &it);
    it.stream = stream_files(it.loop, STDIN_FILENO, STDOUT_FILENO, &stream_ops, &it);
    if (options->begun)
        go_on(&it, options->begun);
    loop_run(it.loop);
    it.leaving = true;
    flush(&it);
    timer_cancel(&it.again);
    dap_launch_destroy(&it.launch);
    stream_destroy(&it.stream);
    pending_clear(&it.pending);
    renumber_clear(&it.renumber);
    dap_prefetch_destroy(&it.prefetch);
    held_back_clear(&it.held_back);
    replay_clear(&it.replay);
    client_free(&it.client);
    frame_free(&it.frame);
    signals_stop(&signals);
    return it.code;
}
