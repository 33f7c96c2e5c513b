/* The reading side of a link: cuts the stream's bytes into messages, passes each to the owner or to
 * the callback of a link_ask(), and keeps what was read while reading is disabled. */
#include "relay/debuggee/link_state.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/message.h"
#include "dap/scan.h"
#include "relay/debuggee/pdb_handshake.h"
#include "relay/io/metrics.h"
#include "relay/io/stream.h"

#include <stdlib.h>

/* --- messages --- */

static void note_answered(struct link *link, const struct envelope *envelope)
{
    if (link->owed && envelope->request_seq >= link->first_seq)
        link->owed--;
    link_note_owed(link);
}

static void note_unasked(struct link *link, const struct envelope *envelope)
{
    if (envelope->request_seq < link->first_seq)
        log_debug("an earlier relay's '%s' was answered: dropped", envelope->name);
    else if (link->orphans)
        link->orphans--;
    else
        log_warn("the debugger answered '%s' twice, or unasked: dropped", envelope->name);
}

static void request_remove(struct link_request *request)
{
    LIST_REMOVE(request->link->requests, request);
    timer_cancel(&request->timer);
    free(request);
}

static void on_response(struct link *link, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct pending pending;
    note_answered(link, envelope);
    if (!seqmap_take(link->pending, (struct upstream_seq){envelope->request_seq}, &pending)) {
        note_unasked(link, envelope);
        return;
    }
    struct link_request *request = pending.tag;
    if (!request) {
        link->ops->on_response(link->arg, &pending, json, len, envelope);
        return;
    }
    link_answer_fn fn = request->fn;
    void *arg = request->arg;
    request_remove(request);
    if (fn)
        fn(arg, json, len, envelope);
}

/* A response without a command gets that of its request. */
static void name_response(const struct link *link, struct envelope *envelope)
{
    const struct pending *asked =
        seqmap_find(link->pending, (struct upstream_seq){envelope->request_seq});
    if (asked && !*envelope->name)
        text_copy(envelope->name, sizeof envelope->name, asked->command);
}

/* True if debugpy's adapter answers for a worker that has died. The request stays pending, so that
 * the client gets the reason, which is not known yet. */
static bool is_of_dead(const struct link *link, const char *json, const struct envelope *envelope)
{
    /* common/messaging.py: NoMoreMessages with its default text, or that of recv()'s or send()'s
     * error; adapter/components.py: message_handler(). */
    static const struct {
        const char *start, *end;
    } words[] = {
        {"No more messages", ""},
        {"[Errno 104] ", ""},
        {"[Errno 32] ", ""},
        {"Server[pid=", "disconnected unexpectedly"},
    };
    const struct pending *asked =
        seqmap_find(link->pending, (struct upstream_seq){envelope->request_seq});
    if (envelope->success || !envelope->message.len || !asked || asked->tag)
        return false;
    char *text = scan_string(json, envelope->message);
    bool dead = false;
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        dead = dead || (text_starts(text, words[i].start) && text_ends(text, words[i].end));
    free(text);
    return dead;
}

/* Says what the adapter says next. */
static void announce_end(struct link *link)
{
    static const char json[] = "{\"seq\":0,\"type\":\"event\",\"event\":\"terminated\"}";
    struct envelope event;
    const char *problem;
    if (envelope_read(&event, json, sizeof json - 1, &problem) == 0)
        link->ops->on_event(link->arg, json, sizeof json - 1, &event);
}

/* A request from the debuggee would cross a security boundary (it can ask to run commands in the
 * user's terminal): all are refused. */
static void refuse_reverse(struct link *link, const struct envelope *envelope)
{
    log_warn("the debugger's reverse request '%s' was refused", envelope->name);
    struct buf out = {0};
    message_failure(&out, seqmap_next(link->pending).value, envelope->seq, envelope->name,
                    "raydbg does not pass requests from a debuggee to its client", ERR_DENIED,
                    false);
    link_send_frame(link, &out);
}

/* docs/facts/debugpy.md#a: debugpy 1.8.0 does not send `debugpySockets`. */
static bool ends_greeting(const char *json, const struct envelope *event)
{
    struct span name, data, version;
    if (text_equal(event->name, "debugpySockets"))
        return true;
    return text_equal(event->name, "output") && event->body.len &&
           scan_find(json, event->body, "output", &name) && scan_string_is(json, name, "debugpy") &&
           scan_find(json, event->body, "data", &data) &&
           scan_find(json, data, "packageVersion", &version) &&
           scan_string_is(json, version, "1.8.0");
}

static void on_message(struct link *link, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    metrics_add(METRIC_MESSAGES_FROM_WORKER_TOTAL, 1);
    metrics_add(METRIC_BYTES_FROM_WORKER_TOTAL, (int64_t)len);
    if (envelope_read(&envelope, json, len, &problem) != 0) {
        log_warn("a message from the debugger was dropped: %s", problem);
        return;
    }
    if (envelope.kind == DAP_RESPONSE)
        name_response(link, &envelope);
    if (link->greeting && envelope.kind == DAP_EVENT && ends_greeting(json, &envelope)) {
        link->greeting = false;
        link_note_owed(link);
    }
    link->looked =
        envelope.kind == DAP_RESPONSE && dap_command_is(envelope.name, DAP_COMMAND_READS);
    if (envelope.kind == DAP_EVENT)
        link->ops->on_event(link->arg, json, len, &envelope);
    else if (envelope.kind == DAP_RESPONSE && is_of_dead(link, json, &envelope))
        announce_end(link);
    else if (envelope.kind == DAP_RESPONSE)
        on_response(link, json, len, &envelope);
    else
        refuse_reverse(link, &envelope);
}

/* --- bytes --- */

/* Decides who gets the rest of a large message; LARGE_NONE: it is collected. */
static enum large choose_large(struct link *link, const char *head, size_t len)
{
    struct envelope envelope;
    struct pending pending;
    if (!envelope_read_head(&envelope, head, len))
        return LARGE_NONE;
    bool event = envelope.kind == DAP_EVENT;
    if (!event) {
        const struct pending *found =
            seqmap_find(link->pending, (struct upstream_seq){envelope.request_seq});
        if (!found) {
            note_answered(link, &envelope);
            note_unasked(link, &envelope);
            return LARGE_NOBODY;
        }
        if (found->tag)
            return LARGE_NONE;
        pending = *found;
        name_response(link, &envelope);
    }
    size_t total = len + frame_left(&link->frame);
    if (!link->ops->large_begin ||
        !link->ops->large_begin(link->arg, event ? NULL : &pending, head, len, total, &envelope))
        return LARGE_NONE;
    if (!event) {
        seqmap_take(link->pending, pending.upstream, &pending);
        note_answered(link, &envelope);
    }
    return LARGE_OWNER;
}

static void on_large_part(struct link *link, const char *bytes, size_t len)
{
    bool last = frame_left(&link->frame) == 0;
    bool owner = link->large == LARGE_OWNER;
    if (owner)
        link->ops->large_part(link->arg, bytes, len);
    if (!last)
        return;
    link->large = LARGE_NONE;
    if (owner && !link->doomed)
        link->ops->large_end(link->arg, true);
}

/* `bytes` are those that frame_feed() has consumed. */
static void on_frame(struct link *link, enum frame_status status, const char *bytes, size_t len)
{
    size_t body_len;
    const char *body = frame_body(&link->frame, &body_len);
    switch (status) {
    case FRAME_MORE:
        break;
    case FRAME_MESSAGE:
        on_message(link, body, body_len);
        break;
    case FRAME_LARGE:
        link->large = choose_large(link, body, body_len);
        if (link->large != LARGE_NONE)
            frame_pass(&link->frame);
        break;
    case FRAME_PART:
        on_large_part(link, bytes, len);
        break;
    case FRAME_ERROR:
        link_close(link, frame_problem(&link->frame));
        break;
    }
}

static void keep_unread(struct link *link, const char *bytes, size_t len)
{
    bool first = !link->rest.len;
    buf_add(&link->rest, bytes, len);
    if (first && link->ops->on_unread)
        link->ops->on_unread(link->arg);
}

static void read_bytes(struct link *link, const char *bytes, size_t len)
{
    link->busy++;
    while (len && !link->stopped && !link->doomed && !link->closed) {
        size_t used;
        enum frame_status status = frame_feed(&link->frame, bytes, len, &used);
        on_frame(link, status, bytes, used);
        bytes += used;
        len -= used;
    }
    if (len && !link->doomed && !link->closed)
        keep_unread(link, bytes, len);
    frame_trim(&link->frame);
    link_leave(link);
}

void link_on_stream_bytes(void *arg, const char *bytes, size_t len)
{
    struct link *link = link_checked(arg);
    link->busy++;
    link->looked = false;
    size_t used = link->handshake ? pdb_handshake_read(link->handshake, bytes, len) : 0;
    bytes += used;
    len -= used;
    if (len == 0 || link->closed || link->doomed)
        ;
    else if (link->stopped || link->rest.len)
        keep_unread(link, bytes, len);
    else
        read_bytes(link, bytes, len);
    /* With Nagle's algorithm, the adapter holds its next message until all before it is
     * acknowledged. Its next message here is the answer to our next request, which carries the
     * acknowledgement. */
    if (link->looked && !link->owed && !link->doomed && !link->closed && frame_idle(&link->frame))
        stream_ack_can_wait(link->stream);
    link_leave(link);
}

void link_on_stream_close(void *arg, const char *why)
{
    struct link *link = link_checked(arg);
    if (link->handshake && pdb_handshake_closed(link->handshake, why))
        return;
    if (!why)
        why = "the debugger closed the connection";
    if (link->rest.len)
        link->ended = mem_string(why);
    else
        link_close(link, why);
}

static void on_resume(void *arg)
{
    struct link *link = link_checked(arg);
    struct buf rest = link->rest;
    link->resume = NULL;
    link->rest = (struct buf){0};
    link->busy++;
    if (link->ops->on_unread)
        link->ops->on_unread(link->arg);
    read_bytes(link, rest.data, rest.len);
    buf_free(&rest);
    if (!link->doomed && !link->rest.len && link->ended)
        link_close(link, link->ended);
    else if (!link->doomed && !link->closed && !link->stopped)
        stream_read_enable(link->stream, true);
    link_leave(link);
}

void link_read_enable(struct link *link, bool enable)
{
    if (link->closed || link->stopped == !enable)
        return;
    link->stopped = !enable;
    timer_cancel(&link->resume);
    if (enable && link->rest.len)
        link->resume = timer_start(link->loop, 0, on_resume, link);
    else if (!link->handshake) /* during the handshake with pdb reading goes on */
        stream_read_enable(link->stream, enable);
}

void link_put_back(struct link *link, const char *bytes, size_t len)
{
    invariant(!link->rest.len && !link->stopped);
    if (!len)
        return;
    buf_add(&link->rest, bytes, len);
    link->resume = timer_start(link->loop, 0, on_resume, link);
}

const char *link_unread(const struct link *link, size_t *len)
{
    *len = link->rest.len;
    return link->rest.data ? link->rest.data : "";
}
