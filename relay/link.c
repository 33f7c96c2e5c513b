#include "relay/link.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "dap/frame.h"
#include "dap/message.h"
#include "dap/splice.h"
#include "relay/stream.h"

#include <stdlib.h>

/* debugpy's largest answers are some 100 MB of text; more than this is no debugger. */
enum { MAX_BODY = 256 * 1024 * 1024 };

/* A request of the relay's own. It is the tag of its pending entry. */
struct ask {
    struct link *link;
    struct ask *next;
    struct timer *timer;
    link_answer_fn fn; /* NULL: nobody waits (any more) */
    void *arg;
};

struct link {
    struct stream *stream;
    struct loop *loop;
    struct frame frame;
    struct seqmap *pending;
    struct ask *asks;
    const struct link_ops *ops;
    void *arg;
    struct buf out;
    bool closed;
    int busy;    /* callbacks under way; a link that is destroyed meanwhile goes after the last */
    bool doomed; /* destroyed: nobody is called any more */
};

static void ask_remove(struct ask *ask)
{
    struct ask **at = &ask->link->asks;
    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
    timer_cancel(&ask->timer);
    free(ask);
}

static void send_frame(struct link *link, const char *json, size_t len)
{
    char header[FRAME_HEADER_ROOM];
    stream_write(link->stream, header, frame_header(header, len), json, len);
}

static void on_response(struct link *link, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct pending pending;
    if (!seqmap_take(link->pending, (struct upstream_seq){envelope->request_seq}, &pending)) {
        log_warn("the debugger answered '%s' twice, or unasked: dropped", envelope->name);
        return;
    }
    struct ask *ask = pending.tag;
    if (!ask) {
        link->ops->on_response(link->arg, &pending, json, len, envelope);
        return;
    }
    link_answer_fn fn = ask->fn;
    void *arg = ask->arg;
    ask_remove(ask);
    if (fn)
        fn(arg, json, len, envelope);
}

/* A request from the debuggee would cross a security boundary (it can ask to run commands in the
 * user's terminal): none is allowed. */
static void refuse_reverse(struct link *link, const struct envelope *envelope)
{
    log_warn("the debugger's reverse request '%s' was refused", envelope->name);
    buf_clear(&link->out, 65536);
    message_failure(&link->out, seqmap_next(link->pending).value, envelope->seq, envelope->name,
                    "raydbg does not pass requests from a debuggee to its client", ERR_DENIED,
                    false);
    send_frame(link, link->out.data, link->out.len);
}

static void on_message(struct link *link, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0) {
        log_warn("a message from the debugger was dropped: %s", problem);
        return;
    }
    if (envelope.kind == DAP_EVENT)
        link->ops->on_event(link->arg, json, len, &envelope);
    else if (envelope.kind == DAP_RESPONSE)
        on_response(link, json, len, &envelope);
    else
        refuse_reverse(link, &envelope);
}

static void link_free(struct link *link)
{
    for (struct ask *ask = link->asks; ask;) {
        struct ask *next = ask->next;
        timer_cancel(&ask->timer);
        free(ask);
        ask = next;
    }
    stream_destroy(&link->stream);
    seqmap_destroy(&link->pending);
    frame_free(&link->frame);
    buf_free(&link->out);
    free(link);
}

static void leave(struct link *link)
{
    if (--link->busy == 0 && link->doomed)
        link_free(link);
}

static void link_close(struct link *link, const char *why)
{
    if (link->closed)
        return;
    link->closed = true;
    link->busy++;
    while (!link->doomed && link->asks) {
        struct ask ask = *link->asks;
        timer_cancel(&ask.timer);
        free(link->asks);
        link->asks = ask.next;
        if (ask.fn)
            ask.fn(ask.arg, NULL, 0, NULL);
    }
    if (!link->doomed)
        link->ops->on_close(link->arg, why);
    leave(link);
}

static void on_stream_open(void *arg)
{
    struct link *link = arg;
    link->ops->on_open(link->arg);
}

static void on_stream_bytes(void *arg, const char *bytes, size_t len)
{
    struct link *link = arg;
    link->busy++;
    while (len && !link->doomed && !link->closed) {
        size_t used;
        enum frame_status status = frame_feed(&link->frame, bytes, len, &used);
        bytes += used;
        len -= used;
        if (status == FRAME_MESSAGE) {
            size_t body_len;
            const char *body = frame_body(&link->frame, &body_len);
            on_message(link, body, body_len);
        } else if (status == FRAME_ERROR) {
            link_close(link, frame_problem(&link->frame));
        }
    }
    leave(link);
}

static void on_stream_close(void *arg, const char *why)
{
    link_close(arg, why ? why : "the debugger closed the connection");
}

static const struct stream_ops stream_ops = {
    .on_open = on_stream_open,
    .on_bytes = on_stream_bytes,
    .on_close = on_stream_close,
};

struct link *link_open(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                       bool quickack, const struct link_ops *ops, void *arg)
{
    struct link *link = mem_alloc(sizeof *link);
    link->loop = loop;
    link->ops = ops;
    link->arg = arg;
    link->pending = seqmap_create();
    frame_init(&link->frame, MAX_BODY);
    link->stream = stream_connect(loop, host, port, timeout_ms, quickack, &stream_ops, link);
    return link;
}

void link_destroy(struct link **link)
{
    struct link *it = *link;
    if (!it)
        return;
    *link = NULL;
    it->doomed = true;
    if (it->busy == 0)
        link_free(it);
}

void link_forward(struct link *link, void *owner, struct client_seq client, const char *json,
                  size_t len, const struct envelope *envelope)
{
    struct upstream_seq seq = seqmap_add(link->pending, owner, client, envelope->name, NULL);
    buf_clear(&link->out, 65536);
    splice_seq(json, len, envelope, seq.value, 0, &link->out);
    send_frame(link, link->out.data, link->out.len);
}

static void on_ask_timeout(void *arg)
{
    struct ask *ask = arg;
    ask->timer = NULL;
    link_answer_fn fn = ask->fn;
    /* The entry stays: a late answer must find it, and is then dropped. */
    ask->fn = NULL;
    if (fn)
        fn(ask->arg, NULL, 0, NULL);
}

void link_ask(struct link *link, const char *command, const char *arguments, int64_t timeout_ms,
              link_answer_fn fn, void *arg)
{
    struct ask *ask = mem_alloc(sizeof *ask);
    *ask = (struct ask){.link = link, .next = link->asks, .fn = fn, .arg = arg};
    link->asks = ask;
    if (timeout_ms)
        ask->timer = timer_start(link->loop, timeout_ms, on_ask_timeout, ask);
    struct upstream_seq seq = seqmap_add(link->pending, NULL, (struct client_seq){0}, command, ask);
    buf_clear(&link->out, 65536);
    message_request(&link->out, seq.value, command, arguments);
    send_frame(link, link->out.data, link->out.len);
}

bool link_is_open(const struct link *link)
{
    return !link->closed;
}

bool link_take_pending(struct link *link, const void *owner, struct pending *out)
{
    return seqmap_take_oldest(link->pending, owner, false, out);
}
