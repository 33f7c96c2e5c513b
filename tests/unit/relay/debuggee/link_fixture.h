/* A link to an adapter that a thread writes for, and a log of what it tells. */
#ifndef RAYDBG_TESTS_LINK_FIXTURE_H
#define RAYDBG_TESTS_LINK_FIXTURE_H

#include "base/buf.h"
#include "base/text.h"
#include "dap/frame.h"
#include "relay/debuggee/link.h"
#include "relay/io/stream.h"
#include "tcp_peer.h"

#include <linux/sockios.h>
#include <malloc.h>
#include <sys/ioctl.h>

enum { FIRST_SEQ = 501, WAIT_MS = 60000 };

/* A link over a loopback connection, and what it has said, a word each. */
struct fixture {
    struct loop *loop;
    struct link *link;
    int peer;
    struct buf log;
    struct buf large; /* head and parts, unless `discard` */
    uint64_t passed;
    size_t total;
    bool refuse_large, discard;
    bool stop_at_each; /* stops reading at each event */
    bool destroy_at_part;
    bool closed;
    size_t unread; /* bytes, as on_unread has found them */
};

static inline void on_open(void *arg)
{
    struct fixture *it = arg;
    buf_add_string(&it->log, "open ");
}

static inline void on_event(void *arg, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct fixture *it = arg;
    (void)json;
    buf_printf(&it->log, "%s:%zu ", envelope->name, len);
    if (it->stop_at_each)
        link_read_enable(it->link, false);
}

static inline void on_response(void *arg, const struct pending *pending, const char *json,
                               size_t len, const struct envelope *envelope)
{
    struct fixture *it = arg;
    (void)json;
    if (text_equal(envelope->name, pending->command))
        buf_printf(&it->log, "%s=", envelope->name);
    buf_printf(&it->log, "%s@%d:%zu ", pending->command, (int)pending->client.value, len);
}

static inline void on_unread(void *arg)
{
    struct fixture *it = arg;
    link_unread(it->link, &it->unread);
}

static inline void on_close(void *arg, const char *why)
{
    struct fixture *it = arg;
    buf_printf(&it->log, "close(%s) ", why);
    it->closed = true;
}

static inline bool large_begin(void *arg, const struct pending *pending, const char *head,
                               size_t head_len, size_t total, const struct envelope *envelope)
{
    struct fixture *it = arg;
    buf_printf(&it->log, "%s%s@%d:%zu ", it->refuse_large ? "refused " : "begin ", envelope->name,
               pending ? (int)pending->client.value : 0, total);
    assert_int_equal(envelope->body.len, 0);
    it->total = total;
    if (!it->refuse_large)
        buf_add(&it->large, head, head_len);
    it->passed = head_len;
    return !it->refuse_large;
}

static inline void large_part(void *arg, const char *bytes, size_t len)
{
    struct fixture *it = arg;
    if (!it->discard)
        buf_add(&it->large, bytes, len);
    it->passed += len;
    if (it->destroy_at_part)
        link_destroy(&it->link);
}

static inline void large_end(void *arg, bool whole)
{
    struct fixture *it = arg;
    buf_printf(&it->log, "end:%s ", whole ? "whole" : "cut");
    assert_true(!whole || it->passed == it->total);
}

static const struct link_ops ops = {
    .on_open = on_open,
    .on_event = on_event,
    .on_response = on_response,
    .on_close = on_close,
    .on_unread = on_unread,
    .large_begin = large_begin,
    .large_part = large_part,
    .large_end = large_end,
};

static inline void on_answer(void *arg, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct fixture *it = arg;
    (void)envelope;
    buf_printf(&it->log, "asked:%zu ", json ? len : 0);
}

static inline void set_up(struct fixture *it)
{
    int fds[2];
    *it = (struct fixture){0};
    tcp_peer_pair(fds);
    it->loop = loop_create(false, NULL);
    assert_non_null(it->loop);
    it->peer = fds[1];
    it->link = link_adopt(it->loop, fds[0], true, FIRST_SEQ, NULL, 0, &ops, it);
    buf_add_string(&it->log, "");
}

static inline void tear_down(struct fixture *it)
{
    link_destroy(&it->link);
    loop_run_once(it->loop, 0);
    loop_destroy(&it->loop);
    if (it->peer >= 0)
        close(it->peer);
    buf_free(&it->log);
    buf_free(&it->large);
}

/* Runs the loop until the log ends with `tail`, then compares all of it. */
static inline void assert_log(struct fixture *it, const char *expected)
{
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    while (strcmp(it->log.data, expected) != 0 && loop_now_us() < until)
        loop_run_once(it->loop, 20);
    assert_string_equal(it->log.data, expected);
}

static char owner; /* of the requests */

static inline void run(struct fixture *it, int64_t ms)
{
    int64_t until = loop_now_us() + ms * 1000;
    while (loop_now_us() < until)
        loop_run_once(it->loop, 5);
}

static inline void forward(struct fixture *it, int64_t client_seq, const char *command)
{
    char text[128];
    struct envelope envelope;
    const char *problem;
    snprintf(text, sizeof text, "{\"seq\":%d,\"type\":\"request\",\"command\":\"%s\"}",
             (int)client_seq, command);
    assert_int_equal(envelope_read(&envelope, text, strlen(text), &problem), 0);
    link_forward(it->link, &owner, (struct client_seq){client_seq}, text, strlen(text), &envelope);
}

/* Reads what the link has sent: an end with unread bytes would be a reset. */
static inline void take_all(struct fixture *it)
{
    char bytes[4096];
    while (tcp_peer_read(it->peer, bytes, sizeof bytes, 100) > 0)
        continue;
}

/* A framed message: `start`, then a body of the right size to make it `len` bytes. */
static inline void add_message(struct buf *out, const char *start, size_t len)
{
    char header[FRAME_HEADER_ROOM];
    static const char open[] = "\"body\":{\"text\":\"", end[] = "\"}}";
    size_t fixed = strlen(start) + sizeof open - 1 + sizeof end - 1;
    assert_true(len >= fixed);
    buf_add(out, header, frame_header(header, len));
    buf_add_string(out, start);
    buf_add_string(out, open);
    char *text = buf_reserve(out, len - fixed);
    for (size_t i = 0; i < len - fixed; i++)
        text[i] = (char)('a' + (i * 31 + i / 77) % 26);
    out->len += len - fixed;
    buf_add_string(out, end);
}

static const char event_start[] = "{\"seq\":9,\"type\":\"event\",\"event\":\"output\",";

static inline const char *response_start(int64_t request_seq)
{
    static char text[160];
    snprintf(text, sizeof text,
             "{\"seq\":9,\"type\":\"response\",\"request_seq\":%d,\"success\":true,"
             "\"command\":\"x\",",
             (int)request_seq);
    return text;
}

/* Writes in another thread, in pieces of `piece` bytes. */
struct writer {
    pthread_t thread;
    int fd;
    const char *bytes;
    size_t len, piece;
    unsigned repeat;
};

static inline void *write_all(void *arg)
{
    struct writer *writer = arg;
    for (unsigned i = 0; i < writer->repeat; i++)
        for (size_t at = 0; at < writer->len; at += writer->piece) {
            size_t left = writer->len - at;
            tcp_peer_write(writer->fd, writer->bytes + at,
                           left < writer->piece ? left : writer->piece);
        }
    return NULL;
}

static inline void write_start(struct writer *writer)
{
    if (!writer->repeat)
        writer->repeat = 1;
    assert_int_equal(pthread_create(&writer->thread, NULL, write_all, writer), 0);
}

#endif
