#include "relay/debuggee/link.h"

#include "base/mem.h"
#include "dap/message.h"
#include "dap/splice.h"
#include "relay/debuggee/closer.h"
#include "relay/debuggee/link_state.h"
#include "relay/debuggee/pdb_handshake.h"
#include "relay/io/metrics.h"
#include "relay/io/socket.h"
#include "relay/io/stream.h"

#include <stdlib.h>

/* debugpy's largest answers are some 100 MB of text; a peer that sends more is not a debugger. */
enum { MAX_BODY = 256 * 1024 * 1024 };

/* The kernel's buffer has room for so many bytes, even the smallest one. */
enum { WHOLE_BYTES = 4096 };

void link_note_owed(struct link *link)
{
    if (link->closer >= 0 && !link->handshake)
        closer_note(link->closer, link_owed(link), stream_queued(link->stream) > 0,
                    !link->greeting);
}

/* True if a message of `len` bytes may leave only in part; `at` is then where it begins. */
static bool may_tear(const struct link *link, size_t len, int64_t *at)
{
    int fd = link_fd(link);
    size_t queued = stream_queued(link->stream);
    if (fd < 0 || (queued == 0 && len <= WHOLE_BYTES &&
                   socket_unacknowledged(fd) <= WHOLE_BYTES - (int64_t)len))
        return false;
    if (!socket_written(fd, at))
        return false;
    *at += (int64_t)queued;
    return true;
}

void link_send_frame(struct link *link, struct buf *json)
{
    char header[FRAME_HEADER_ROOM];
    int64_t at;
    size_t header_len = frame_header(header, json->len);
    if (link->ops->on_write && may_tear(link, header_len + json->len, &at))
        link->ops->on_write(link->arg, at, header, header_len, json->data, json->len);
    metrics_add(METRIC_MESSAGES_TO_WORKER_TOTAL, 1);
    metrics_add(METRIC_BYTES_TO_WORKER_TOTAL, (int64_t)json->len);
    /* Before the write: after it, an answer can come and this process can die at any time. */
    link_note_owed(link);
    stream_write(link->stream, header, header_len, json->data, json->len);
    link_note_owed(link);
    buf_free(json);
}

/* Gives the connection to the closer, which reads on where this process stops. */
static void let_go(struct link *link)
{
    if (link->closer < 0)
        return;
    /* A pdb that is not an adapter yet may still have something to say, which must be read. */
    if (!link->handshake && (link->closed || link->ended)) {
        closer_forget(&link->closer);
        return;
    }
    stream_read_enable(link->stream, false);
    link_note_owed(link);
    closer_close(&link->closer);
}

static void link_free(struct link *link)
{
    let_go(link);
    pdb_handshake_destroy(&link->handshake);
    for (struct link_request *request = link->requests; request;) {
        struct link_request *next = request->next;
        timer_cancel(&request->timer);
        free(request);
        request = next;
    }
    stream_destroy(&link->stream);
    seqmap_destroy(&link->pending);
    frame_free(&link->frame);
    timer_cancel(&link->resume);
    timer_cancel(&link->open);
    buf_free(&link->rest);
    free(link->ended);
    link_clear_magic(link);
    free(link);
}

void link_leave(struct link *link)
{
    invariant(link->busy > 0);
    if (--link->busy == 0 && link->doomed)
        link_free(link);
}

void link_close(struct link *link, const char *why)
{
    if (link->closed)
        return;
    link->closed = true;
    link->busy++;
    if (link->large == LARGE_OWNER)
        link->ops->large_end(link->arg, false);
    while (!link->doomed && link->requests) {
        struct link_request request = *link->requests;
        timer_cancel(&request.timer);
        free(link->requests);
        link->requests = request.next;
        if (request.fn)
            request.fn(request.arg, NULL, 0, NULL);
    }
    if (!link->doomed)
        link->ops->on_close(link->arg, why);
    link_leave(link);
}

/* --- Ray's pdb --- */

static const struct stream_ops stream_ops;

static void connect_pdb(void *arg, const char *host, uint16_t port)
{
    struct link *link = link_checked(arg);
    stream_destroy(&link->stream);
    link->stream =
        stream_connect(link->loop, host, port, link->timeout_ms, true, &stream_ops, link);
}

static void send_pdb(void *arg, const char *bytes, size_t len)
{
    struct link *link = link_checked(arg);
    stream_write(link->stream, "", 0, bytes, len);
}

static void on_adapter(void *arg)
{
    struct link *link = link_checked(arg);
    pdb_handshake_destroy(&link->handshake);
    closer_forget(&link->closer); /* the agent survives any end */
    if (link->stopped)
        stream_read_enable(link->stream, false);
    link->ops->on_open(link->arg);
}

static void on_refused(void *arg, const char *why)
{
    link_close(arg, why);
}

static const struct pdb_handshake_ops handshake_ops = {
    .reconnect = connect_pdb,
    .send = send_pdb,
    .on_adapter = on_adapter,
    .on_refused = on_refused,
};

/* --- the stream --- */

static void on_stream_dial(void *arg, int fd)
{
    struct link *link = link_checked(arg);
    closer_forget(&link->closer);
    link->closer = closer_guard(fd, link->handshake ? CLOSER_PDB : CLOSER_DEBUGPY);
}

static void on_stream_open(void *arg)
{
    struct link *link = link_checked(arg);
    if (link->handshake) {
        pdb_handshake_connected(link->handshake);
        return;
    }
    link->ops->on_open(link->arg);
}

static void on_stream_drain(void *arg)
{
    struct link *link = link_checked(arg);
    link_note_owed(link);
    if (link->ops->on_drain)
        link->ops->on_drain(link->arg);
}

static const struct stream_ops stream_ops = {
    .on_drain = on_stream_drain,
    .on_dial = on_stream_dial,
    .on_open = on_stream_open,
    .on_bytes = link_on_stream_bytes,
    .on_close = link_on_stream_close,
};

/* --- */

static struct link *link_create(struct loop *loop, int64_t first_seq, const struct link_ops *ops,
                                void *arg)
{
    struct link *link = mem_alloc(sizeof *link);
    *link =
        (struct link){.loop = loop, .ops = ops, .arg = arg, .first_seq = first_seq, .closer = -1};
    link_set_magic(link);
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
    link->greeting = true;
    link->stream = stream_connect(loop, host, port, timeout_ms, quickack, &stream_ops, link);
    return link;
}

struct link *link_open_pdb(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                           const struct link_ops *ops, void *arg)
{
    struct link *link = link_create(loop, 1, ops, arg);
    link->timeout_ms = timeout_ms;
    link->handshake = pdb_handshake_create(loop, host, port, &handshake_ops, link);
    connect_pdb(link, host, port);
    return link;
}

static void on_accepted(void *arg)
{
    struct link *link = link_checked(arg);
    link->open = NULL;
    if (!link->closed)
        link->ops->on_open(link->arg);
}

struct link *link_accept(struct loop *loop, int fd, bool quickack, const struct link_ops *ops,
                         void *arg)
{
    struct link *link = link_create(loop, 1, ops, arg);
    link->unguarded = true;
    link->stream = stream_adopt(loop, fd, quickack, &stream_ops, link);
    link->open = timer_start(loop, 0, on_accepted, link);
    return link;
}

struct link *link_adopt(struct loop *loop, int fd, bool quickack, int64_t first_seq,
                        const char *rest, size_t rest_len, const struct link_ops *ops, void *arg)
{
    struct link *link = link_create(loop, first_seq, ops, arg);
    frame_resync(&link->frame);
    link->stream = stream_adopt(loop, fd, quickack, &stream_ops, link);
    if (rest_len)
        stream_write(link->stream, "", 0, rest, rest_len);
    return link;
}

void link_end(struct link *link, const char *why)
{
    stream_read_enable(link->stream, false);
    link_close(link, why);
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
    link_send_frame(link, &out);
}

static void on_request_timeout(void *arg)
{
    struct link_request *request = arg;
    request->timer = NULL;
    link_answer_fn fn = request->fn;
    /* The entry stays, so that a late answer finds it and is dropped. */
    request->fn = NULL;
    if (fn)
        fn(request->arg, NULL, 0, NULL);
}

void link_ask(struct link *link, const char *command, const char *arguments, int64_t timeout_ms,
              link_answer_fn fn, void *arg)
{
    struct link_request *request = mem_alloc(sizeof *request);
    *request = (struct link_request){.link = link, .next = link->requests, .fn = fn, .arg = arg};
    link->requests = request;
    if (timeout_ms)
        request->timer = timer_start(link->loop, timeout_ms, on_request_timeout, request);
    struct upstream_seq seq =
        seqmap_add(link->pending, NULL, (struct client_seq){0}, command, request);
    struct buf out = {0};
    message_request(&out, seq.value, command, arguments);
    link->owed++;
    link_send_frame(link, &out);
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

size_t link_orphans(const struct link *link)
{
    return link->orphans;
}

const struct pending *link_find_pending(const struct link *link, const void *owner,
                                        struct client_seq client)
{
    return seqmap_find_client(link->pending, owner, client);
}

void link_excuse(struct link *link, size_t count)
{
    link->excused = count;
    link_note_owed(link);
}

void link_entrust(struct link *link)
{
    closer_forget(&link->closer);
}

void link_guard(struct link *link)
{
    if (link->closer < 0 && !link->handshake && !link->unguarded && link_fd(link) >= 0)
        link->closer = closer_guard(link_fd(link), CLOSER_DEBUGPY);
    link_note_owed(link);
}

bool link_is_open(const struct link *link)
{
    return !link->closed;
}

bool link_take_pending(struct link *link, const void *owner, struct pending *out)
{
    bool taken = seqmap_take_oldest(link->pending, owner, false, out);
    link->orphans += taken ? 1 : 0;
    return taken;
}
