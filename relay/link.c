#include "relay/link.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "dap/frame.h"
#include "dap/message.h"
#include "dap/reads.h"
#include "dap/splice.h"
#include "relay/closer.h"
#include "relay/metrics.h"
#include "relay/pdb_door.h"
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

/* Where the rest of a large message goes. */
enum large { LARGE_NONE, LARGE_OWNER, LARGE_NOBODY };

/* There are thousands of these, most of them idle: no buffer is kept between messages. */
struct link {
    struct stream *stream;
    struct loop *loop;
    struct pdb_door *door; /* NULL: the peer speaks DAP */
    struct frame frame;
    struct seqmap *pending;
    struct ask *asks;
    const struct link_ops *ops;
    void *arg;
    int64_t first_seq;
    int64_t timeout_ms; /* on a connection to Ray's pdb */
    int closer;         /* the connection's place there, or -1 */
    size_t owed;        /* requests that the adapter has not answered, whoever still waits */
    size_t excused;     /* see link_excuse() */
    enum large large;
    struct buf rest;      /* was read, and waits until reading is enabled */
    struct timer *resume; /* delivers it */
    char *ended;          /* why the stream has closed, if `rest` goes first */
    bool stopped;         /* link_read_enable(…, false) */
    bool looked;          /* the last message was an answer that nothing follows by itself */
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

/* Frees the message, too. */
static void count(enum metric messages, enum metric bytes, size_t len)
{
    metrics_add(messages, 1);
    metrics_add(bytes, (int64_t)len);
}

/* After each change of what is unanswered or unsent. */
static void note_owed(struct link *link)
{
    if (link->closer >= 0 && !link->door)
        closer_note(link->closer, link_owed(link), stream_queued(link->stream) > 0);
}

static void send_frame(struct link *link, struct buf *json)
{
    char header[FRAME_HEADER_ROOM];
    count(METRIC_MESSAGES_TO_WORKER_TOTAL, METRIC_BYTES_TO_WORKER_TOTAL, json->len);
    note_owed(link); /* first: what is sent may be answered, and this process dead, at any time */
    stream_write(link->stream, header, frame_header(header, json->len), json->data, json->len);
    note_owed(link);
    buf_free(json);
}

static void note_answered(struct link *link, const struct envelope *envelope)
{
    if (link->owed && envelope->request_seq >= link->first_seq)
        link->owed--;
    note_owed(link);
}

static void note_unasked(const struct link *link, const struct envelope *envelope)
{
    if (envelope->request_seq < link->first_seq)
        log_debug("an earlier relay's '%s' was answered: dropped", envelope->name);
    else
        log_warn("the debugger answered '%s' twice, or unasked: dropped", envelope->name);
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
    struct buf out = {0};
    message_failure(&out, seqmap_next(link->pending).value, envelope->seq, envelope->name,
                    "raydbg does not pass requests from a debuggee to its client", ERR_DENIED,
                    false);
    send_frame(link, &out);
}

static void on_message(struct link *link, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    count(METRIC_MESSAGES_FROM_WORKER_TOTAL, METRIC_BYTES_FROM_WORKER_TOTAL, len);
    if (envelope_read(&envelope, json, len, &problem) != 0) {
        log_warn("a message from the debugger was dropped: %s", problem);
        return;
    }
    link->looked = envelope.kind == DAP_RESPONSE && reads_only(envelope.name);
    if (envelope.kind == DAP_EVENT)
        link->ops->on_event(link->arg, json, len, &envelope);
    else if (envelope.kind == DAP_RESPONSE)
        on_response(link, json, len, &envelope);
    else
        refuse_reverse(link, &envelope);
}

/* The closer goes on reading where this process stops. */
static void let_go(struct link *link)
{
    if (link->closer < 0)
        return;
    /* A pdb that is no adapter may still have something to say, which must be read. */
    if (!link->door && (link->closed || link->ended)) {
        closer_forget(&link->closer);
        return;
    }
    stream_read_enable(link->stream, false);
    note_owed(link);
    closer_close(&link->closer);
}

static void link_free(struct link *link)
{
    let_go(link);
    pdb_door_destroy(&link->door);
    for (struct ask *ask = link->asks; ask;) {
        struct ask *next = ask->next;
        timer_cancel(&ask->timer);
        free(ask);
        ask = next;
    }
    stream_destroy(&link->stream);
    seqmap_destroy(&link->pending);
    frame_free(&link->frame);
    timer_cancel(&link->resume);
    buf_free(&link->rest);
    free(link->ended);
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
    if (link->large == LARGE_OWNER)
        link->ops->large_end(link->arg, false);
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

/* --- Ray's pdb --- */

static const struct stream_ops stream_ops;

static void connect_pdb(void *arg, const char *host, uint16_t port)
{
    struct link *link = arg;
    stream_destroy(&link->stream);
    link->stream =
        stream_connect(link->loop, host, port, link->timeout_ms, true, &stream_ops, link);
}

static void send_pdb(void *arg, const char *bytes, size_t len)
{
    struct link *link = arg;
    stream_write(link->stream, "", 0, bytes, len);
}

static void on_adapter(void *arg)
{
    struct link *link = arg;
    pdb_door_destroy(&link->door);
    closer_forget(&link->closer); /* the agent bears any end */
    if (link->stopped)
        stream_read_enable(link->stream, false);
    link->ops->on_open(link->arg);
}

static void on_refused(void *arg, const char *why)
{
    link_close(arg, why);
}

static const struct pdb_door_ops door_ops = {
    .reconnect = connect_pdb,
    .send = send_pdb,
    .on_adapter = on_adapter,
    .on_refused = on_refused,
};

static void on_stream_dial(void *arg, int fd)
{
    struct link *link = arg;
    closer_forget(&link->closer);
    link->closer = closer_guard(fd, link->door ? CLOSER_PDB : CLOSER_DEBUGPY);
}

static void on_stream_open(void *arg)
{
    struct link *link = arg;
    if (link->door) {
        pdb_door_connected(link->door);
        return;
    }
    link->ops->on_open(link->arg);
}

/* --- what the stream gives --- */

/* A large message has begun: who takes the rest, or LARGE_NONE if it is to be collected. */
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

/* `bytes` are what frame_feed() has consumed. */
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
        buf_add(&link->rest, bytes, len);
    frame_trim(&link->frame);
    leave(link);
}

static void on_stream_bytes(void *arg, const char *bytes, size_t len)
{
    struct link *link = arg;
    link->busy++;
    link->looked = false;
    size_t used = link->door ? pdb_door_read(link->door, bytes, len) : 0;
    bytes += used;
    len -= used;
    if (len == 0 || link->closed || link->doomed)
        ;
    else if (link->stopped || link->rest.len)
        buf_add(&link->rest, bytes, len);
    else
        read_bytes(link, bytes, len);
    /* The adapter, with Nagle's algorithm, holds back what it says next until all before it is
     * acknowledged. Here that is our next request, which acknowledges it. */
    if (link->looked && !link->owed && !link->doomed && !link->closed && frame_idle(&link->frame))
        stream_ack_can_wait(link->stream);
    leave(link);
}

static void on_stream_close(void *arg, const char *why)
{
    struct link *link = arg;
    if (link->door && pdb_door_closed(link->door, why))
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
    struct link *link = arg;
    struct buf rest = link->rest;
    link->resume = NULL;
    link->rest = (struct buf){0};
    link->busy++;
    read_bytes(link, rest.data, rest.len);
    buf_free(&rest);
    if (!link->doomed && !link->rest.len && link->ended)
        link_close(link, link->ended);
    else if (!link->doomed && !link->closed && !link->stopped)
        stream_read_enable(link->stream, true);
    leave(link);
}

void link_read_enable(struct link *link, bool enable)
{
    if (link->closed || link->stopped == !enable)
        return;
    link->stopped = !enable;
    timer_cancel(&link->resume);
    if (enable && link->rest.len)
        link->resume = timer_start(link->loop, 0, on_resume, link);
    else if (!link->door) /* what pdb says first is not a client's */
        stream_read_enable(link->stream, enable);
}

static void on_stream_drain(void *arg)
{
    struct link *link = arg;
    note_owed(link);
    if (link->ops->on_drain)
        link->ops->on_drain(link->arg);
}

static const struct stream_ops stream_ops = {
    .on_drain = on_stream_drain,
    .on_dial = on_stream_dial,
    .on_open = on_stream_open,
    .on_bytes = on_stream_bytes,
    .on_close = on_stream_close,
};

static struct link *link_create(struct loop *loop, int64_t first_seq, const struct link_ops *ops,
                                void *arg)
{
    struct link *link = mem_alloc(sizeof *link);
    *link =
        (struct link){.loop = loop, .ops = ops, .arg = arg, .first_seq = first_seq, .closer = -1};
    link->pending = seqmap_create();
    seqmap_start(link->pending, first_seq);
    frame_init(&link->frame, MAX_BODY);
    frame_set_large(&link->frame, LINK_LARGE);
    return link;
}

struct link *link_open(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                       bool quickack, const struct link_ops *ops, void *arg)
{
    struct link *link = link_create(loop, 1, ops, arg);
    link->stream = stream_connect(loop, host, port, timeout_ms, quickack, &stream_ops, link);
    return link;
}

struct link *link_open_pdb(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                           const struct link_ops *ops, void *arg)
{
    struct link *link = link_create(loop, 1, ops, arg);
    link->timeout_ms = timeout_ms;
    link->door = pdb_door_create(loop, host, port, &door_ops, link);
    connect_pdb(link, host, port);
    return link;
}

struct link *link_adopt(struct loop *loop, int fd, bool quickack, int64_t first_seq,
                        const struct link_ops *ops, void *arg)
{
    struct link *link = link_create(loop, first_seq, ops, arg);
    frame_resync(&link->frame);
    link->stream = stream_adopt(loop, fd, quickack, &stream_ops, link);
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
    struct buf out = {0};
    buf_reserve(&out, len + FRAME_HEADER_ROOM);
    splice_seq(json, len, envelope, seq.value, 0, &out);
    link->owed++;
    send_frame(link, &out);
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
    struct buf out = {0};
    message_request(&out, seq.value, command, arguments);
    link->owed++;
    send_frame(link, &out);
}

int link_fd(const struct link *link)
{
    return stream_fd(link->stream);
}

size_t link_queued(const struct link *link)
{
    return stream_queued(link->stream);
}

size_t link_owed(const struct link *link)
{
    return link->owed > link->excused ? link->owed - link->excused : 0;
}

void link_excuse(struct link *link, size_t count)
{
    link->excused = count;
    note_owed(link);
}

void link_entrust(struct link *link)
{
    closer_forget(&link->closer);
}

void link_guard(struct link *link)
{
    if (link->closer < 0 && !link->door && link_fd(link) >= 0)
        link->closer = closer_guard(link_fd(link), CLOSER_DEBUGPY);
    note_owed(link);
}

bool link_is_open(const struct link *link)
{
    return !link->closed;
}

bool link_take_pending(struct link *link, const void *owner, struct pending *out)
{
    return seqmap_take_oldest(link->pending, owner, false, out);
}
