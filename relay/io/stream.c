#include "relay/io/stream.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/io/dial.h"
#include "relay/io/loop_wsi.h"
#include "relay/io/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* A TCP stream has one wsi that reads and writes; a pair of files has one for each.
 * Every exit goes through stream_end(), which runs on_close at most once. */
struct stream {
    uint32_t magic;
    struct loop_wsi wire;
    struct loop_wsi out_wire; /* files only */
    struct loop *loop;
    const struct stream_ops *ops;
    void *arg;
    struct lws *wsi;
    struct lws *out_wsi;     /* the same as wsi for TCP */
    int out_fd;              /* -1 until connected */
    int in_fd;               /* files only */
    int in_flags, out_flags; /* the files' flags before stream_files() */
    struct buf queue;
    size_t head;         /* bytes at the queue's start that have been written */
    struct dial *dial;   /* until connected */
    struct timer *timer; /* reports that adopt() failed */
    struct timer *rearm;
    bool tcp, quickack, open, ended;
    bool stopped;    /* stream_read_enable(…, false) */
    bool ack_waits;  /* stream_ack_can_wait() */
    bool *destroyed; /* set while on_bytes runs, to see whether it destroyed the stream */
};
INVARIANT_MAGIC(stream, 0x1d6541f5)
#define stream_checked(object) stream_checked_at(INVARIANT_HERE, object)

enum {
    READ_SIZE = 65536,
    READ_MORE = 8192,
    READ_ON = 1 << 20,
    PIPE_SIZE = 1 << 20,
    FLUSH_MS = 2000,
    DIAGNOSE_MS = 100
};

static void release(struct stream *stream)
{
    dial_cancel(&stream->dial);
    timer_cancel(&stream->timer);
    timer_cancel(&stream->rearm);
    if (stream->out_wsi != stream->wsi)
        loop_wsi_forget(&stream->out_wsi);
    stream->out_wsi = NULL;
    loop_wsi_forget(&stream->wsi);
}

static void stream_end(struct stream *stream, const char *why)
{
    if (stream->ended)
        return;
    stream->ended = true;
    release(stream);
    stream->ops->on_close(stream->arg, why);
}

/* Runs on_bytes; false if it destroyed the stream. */
static bool deliver(struct stream *stream, const char *bytes, size_t len)
{
    bool destroyed = false;
    stream->ack_waits = false;
    stream->destroyed = &destroyed;
    stream->ops->on_bytes(stream->arg, bytes, len);
    if (!destroyed)
        stream->destroyed = NULL;
    return !destroyed;
}

size_t stream_queued(const struct stream *stream)
{
    return stream->queue.len - stream->head;
}

/* Writes as much of the queue as the kernel takes now; false with errno set on a broken stream. */
static bool flush(struct stream *stream)
{
    while (stream_queued(stream)) {
        ssize_t sent =
            write(stream->out_fd, stream->queue.data + stream->head, stream_queued(stream));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent <= 0)
            break;
        stream->head += (size_t)sent;
    }
    if (!stream_queued(stream)) {
        stream->head = 0;
        buf_free(&stream->queue); /* there are thousands of streams, and few have a queue */
    } else if (stream->head > stream->queue.len / 2) {
        /* Moves fewer bytes than were written: each byte is moved once on average. */
        buf_consume(&stream->queue, stream->head);
        stream->head = 0;
    }
    return true;
}

static void ask_writable(void *arg)
{
    struct stream *stream = stream_checked(arg);
    stream->rearm = NULL;
    lws_callback_on_writable(stream->out_wsi);
}

/* libwebsockets (4.1) drops a raw file's lws_callback_on_writable() made in the file's callback. */
static void ask_writable_again(struct stream *stream)
{
    if (stream->tcp)
        lws_callback_on_writable(stream->out_wsi);
    else if (!stream->rearm)
        stream->rearm = timer_start(stream->loop, 0, ask_writable, stream);
}

static void on_writable(struct stream *stream)
{
    bool waited = stream_queued(stream) > 0;
    if (!flush(stream)) {
        const char *problem = strerror(errno);
        const char *why = stream->tcp ? socket_end(stream->out_fd) : NULL;
        stream_end(stream, why ? why : problem);
    } else if (stream_queued(stream)) {
        ask_writable_again(stream);
    } else if (waited && stream->ops->on_drain) {
        stream->ops->on_drain(stream->arg);
    }
}

static ssize_t write_both(const struct stream *stream, const void *head, size_t head_len,
                          const void *body, size_t body_len)
{
    struct iovec parts[] = {{(void *)(uintptr_t)head, head_len},
                            {(void *)(uintptr_t)body, body_len}};
    return stream->tcp ? socket_send(stream->out_fd, head, head_len, body, body_len)
                       : writev(stream->out_fd, parts, 2);
}

void stream_write(struct stream *stream, const void *head, size_t head_len, const void *body,
                  size_t body_len)
{
    if (stream->ended)
        return;
    size_t sent = 0;
    if (stream->open && stream_queued(stream) == 0) {
        ssize_t written = write_both(stream, head, head_len, body, body_len);
        /* on_writable() meets an error again and reports it, outside the caller's frame. */
        sent = written > 0 ? (size_t)written : 0;
    }
    if (sent == head_len + body_len)
        return;
    buf_add_rest(&stream->queue, head, head_len, body, body_len, sent);
    if (stream->out_wsi) /* NULL while on_tcp_close() delivers the last bytes: no more is sent */
        lws_callback_on_writable(stream->out_wsi);
}

int stream_fd(const struct stream *stream)
{
    return stream->tcp && stream->open && !stream->ended ? stream->out_fd : -1;
}

void stream_ack_can_wait(struct stream *stream)
{
    stream->ack_waits = true;
}

void stream_read_enable(struct stream *stream, bool enable)
{
    stream->stopped = !enable;
    if (stream->open && stream->wsi)
        lws_rx_flow_control(stream->wsi, enable ? 1 : 0);
}

/* --- TCP --- */

static void begin(struct stream *stream, struct lws *wsi)
{
    stream->wsi = stream->out_wsi = wsi;
    stream->out_fd = (int)lws_get_socket_fd(wsi);
    stream->open = true;
    socket_nodelay(stream->out_fd);
    socket_keepalive(stream->out_fd);
    if (stream->quickack)
        socket_quickack(stream->out_fd);
    if (stream->stopped)
        lws_rx_flow_control(wsi, 0);
}

/* libwebsockets closes a broken connection at once if reading is stopped or libuv reports the
 * break: the bytes that came before are still in the kernel. The fd is closed after this. */
static void on_tcp_close(struct stream *stream)
{
    char bytes[READ_SIZE];
    ssize_t len = 0;
    const char *why = socket_end(stream->out_fd);
    while ((len = recv(stream->out_fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        if (!deliver(stream, bytes, (size_t)len))
            return;
    stream_end(stream, why);
}

/* After a read of `first` bytes that seems to be part of a long message, reads what has come
 * meanwhile: another callback from libwebsockets costs a poll() of every connection. READ_ON leaves
 * the other connections their turn. False if the stream was destroyed. */
static bool read_on(struct stream *stream, size_t first)
{
    char bytes[READ_SIZE];
    if (first < READ_MORE)
        return true;
    for (size_t total = first; total < READ_ON && stream->wsi && !stream->stopped;) {
        ssize_t len = recv(stream->out_fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (len <= 0) /* libwebsockets finds the end, too, and reports it */
            break;
        if (!deliver(stream, bytes, (size_t)len))
            return false;
        total += (size_t)len;
    }
    return true;
}

static int on_tcp(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                  const void *in, size_t len)
{
    (void)wsi;
    struct stream *stream = lws_container_of(wire, struct stream, wire);
    switch (reason) {
    case LWS_CALLBACK_RAW_RX:
        if (deliver(stream, in, len) && read_on(stream, len) && stream->wsi && stream->quickack &&
            !stream->ack_waits)
            socket_quickack(stream->out_fd); /* costs as much as forwarding a message */
        break;
    case LWS_CALLBACK_RAW_WRITEABLE:
        on_writable(stream);
        break;
    case LWS_CALLBACK_RAW_CLOSE:
        stream->wsi = stream->out_wsi = NULL;
        on_tcp_close(stream);
        break;
    default:
        break;
    }
    return 0;
}

static bool adopt(struct stream *stream, int fd)
{
    lws_sock_file_fd_type descriptor = {.sockfd = fd};
    /* Closes the fd if it fails. */
    struct lws *wsi = lws_adopt_descriptor_vhost(loop_vhost(stream->loop), LWS_ADOPT_SOCKET,
                                                 descriptor, LOOP_WSI_PROTOCOL, NULL);
    if (!wsi)
        return false;
    lws_set_opaque_user_data(wsi, &stream->wire);
    begin(stream, wsi);
    return true;
}

static const char too_many[] = "too many connections are open";

static void on_dial_socket(void *arg, int fd)
{
    struct stream *stream = stream_checked(arg);
    if (stream->ops->on_dial)
        stream->ops->on_dial(stream->arg, fd);
}

static void on_dial_done(void *arg, int fd, const char *why)
{
    struct stream *stream = stream_checked(arg);
    stream->dial = NULL;
    if (fd < 0) {
        stream_end(stream, why);
    } else if (!adopt(stream, fd)) {
        stream_end(stream, too_many);
    } else {
        if (stream_queued(stream))
            lws_callback_on_writable(stream->wsi);
        stream->ops->on_open(stream->arg);
    }
}

static const struct dial_ops dial_ops = {on_dial_socket, on_dial_done};

static struct stream *make_tcp(struct loop *loop, bool quickack, const struct stream_ops *ops,
                               void *arg)
{
    struct stream *stream = mem_alloc(sizeof *stream);
    *stream = (struct stream){
        .wire.handle = on_tcp,
        .loop = loop,
        .ops = ops,
        .arg = arg,
        .out_fd = -1,
        .in_fd = -1,
        .tcp = true,
        .quickack = quickack,
    };
    stream_set_magic(stream);
    return stream;
}

struct stream *stream_connect(struct loop *loop, const char *host, uint16_t port,
                              int64_t timeout_ms, bool quickack, const struct stream_ops *ops,
                              void *arg)
{
    struct stream *stream = make_tcp(loop, quickack, ops, arg);
    stream->dial = dial_start(loop, host, port, timeout_ms, &dial_ops, stream);
    return stream;
}

static void on_adopt_failed(void *arg)
{
    struct stream *stream = stream_checked(arg);
    stream->timer = NULL;
    stream_end(stream, too_many);
}

struct stream *stream_adopt(struct loop *loop, int fd, bool quickack, const struct stream_ops *ops,
                            void *arg)
{
    struct stream *stream = make_tcp(loop, quickack, ops, arg);
    if (!adopt(stream, fd))
        stream->timer = timer_start(loop, 0, on_adopt_failed, stream);
    return stream;
}

/* --- a pair of files --- */

/* Reads once; false if there is nothing more to read now (empty, at its end, or destroyed). */
static bool read_file(struct stream *stream)
{
    char bytes[READ_SIZE];
    ssize_t len = read(stream->in_fd, bytes, sizeof bytes);
    if (len > 0)
        return deliver(stream, bytes, (size_t)len);
    if (len == 0)
        stream_end(stream, NULL);
    else if (errno != EAGAIN && errno != EINTR)
        stream_end(stream, strerror(errno));
    return false;
}

static int on_file_in(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                      const void *in, size_t len)
{
    (void)wsi, (void)in, (void)len;
    struct stream *stream = lws_container_of(wire, struct stream, wire);
    if (reason == LWS_CALLBACK_RAW_RX_FILE) {
        read_file(stream);
    } else if (reason == LWS_CALLBACK_RAW_CLOSE_FILE) {
        /* A writer that hung up may have left more bytes than one read takes. */
        stream->wsi = NULL;
        while (read_file(stream))
            ;
    }
    return 0;
}

static int on_file_out(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                       const void *in, size_t len)
{
    (void)wsi, (void)in, (void)len;
    struct stream *stream = lws_container_of(wire, struct stream, out_wire);
    if (reason == LWS_CALLBACK_RAW_WRITEABLE_FILE) {
        on_writable(stream);
    } else if (reason == LWS_CALLBACK_RAW_CLOSE_FILE) {
        timer_cancel(&stream->rearm);
        stream->out_wsi = NULL;
        stream_end(stream, "nobody reads the output");
    }
    return 0;
}

struct stream *stream_files(struct loop *loop, int in, int out, const struct stream_ops *ops,
                            void *arg)
{
    struct stream *stream = mem_alloc(sizeof *stream);
    *stream = (struct stream){
        .wire.handle = on_file_in,
        .out_wire.handle = on_file_out,
        .loop = loop,
        .ops = ops,
        .arg = arg,
        .in_fd = in,
        .out_fd = out,
        .in_flags = fcntl(in, F_GETFL),
        .out_flags = fcntl(out, F_GETFL),
        .open = true,
    };
    stream_set_magic(stream);
    fcntl(in, F_SETFL, stream->in_flags | O_NONBLOCK);
    fcntl(out, F_SETFL, stream->out_flags | O_NONBLOCK);
    /* Takes effect on a pipe: each time that a pipe is full costs a poll() of every connection. */
    fcntl(out, F_SETPIPE_SZ, PIPE_SIZE);
    stream->wsi = loop_wsi_adopt_file(loop, in, &stream->wire);
    stream->out_wsi = loop_wsi_adopt_file(loop, out, &stream->out_wire);
    /* The output may be a socket or a terminal, which can be readable: never poll it for input. */
    if (stream->out_wsi)
        lws_rx_flow_control(stream->out_wsi, 0);
    return stream;
}

/* Writes the queue as the reader takes it, for at most FLUSH_MS. */
static void flush_file(struct stream *stream)
{
    int64_t until = loop_now_us() + (int64_t)FLUSH_MS * 1000;
    while (flush(stream) && stream_queued(stream) && loop_now_us() < until) {
        struct pollfd ready = {.fd = stream->out_fd, .events = POLLOUT};
        poll(&ready, 1, 50);
    }
}

void stream_destroy(struct stream **stream)
{
    struct stream *it = *stream;
    if (!it)
        return;
    *stream = NULL;
    if (it->destroyed)
        *it->destroyed = true;
    if (it->tcp) {
        if (it->open && !it->ended && !flush(it))
            log_debug("the last bytes were not sent: %s", strerror(errno));
    } else {
        flush_file(it);
        fcntl(it->in_fd, F_SETFL, it->in_flags);
        fcntl(it->out_fd, F_SETFL, it->out_flags);
    }
    it->ended = true;
    release(it);
    buf_free(&it->queue);
    stream_clear_magic(it);
    free(it);
}
