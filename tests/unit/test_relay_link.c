/* The link: a taken-over connection, large messages in parts, and an adapter that is made to wait.
 */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "dap/frame.h"
#include "relay/link.h"
#include "relay/stream.h"
#include "tcp_peer.h"

#include <linux/sockios.h>
#include <malloc.h>
#include <sys/ioctl.h>

enum { FIRST_SEQ = 501, WAIT_MS = 10000 };

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
};

static void on_open(void *arg)
{
    struct fixture *it = arg;
    buf_add_string(&it->log, "open ");
}

static void on_event(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct fixture *it = arg;
    (void)json;
    buf_printf(&it->log, "%s:%zu ", envelope->name, len);
    if (it->stop_at_each)
        link_read_enable(it->link, false);
}

static void on_response(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct fixture *it = arg;
    (void)json, (void)envelope;
    buf_printf(&it->log, "%s@%d:%zu ", pending->command, (int)pending->client.value, len);
}

static void on_close(void *arg, const char *why)
{
    struct fixture *it = arg;
    buf_printf(&it->log, "close(%s) ", why);
    it->closed = true;
}

static bool large_begin(void *arg, const struct pending *pending, const char *head, size_t head_len,
                        size_t total, const struct envelope *envelope)
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

static void large_part(void *arg, const char *bytes, size_t len)
{
    struct fixture *it = arg;
    if (!it->discard)
        buf_add(&it->large, bytes, len);
    it->passed += len;
    if (it->destroy_at_part)
        link_destroy(&it->link);
}

static void large_end(void *arg, bool whole)
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
    .large_begin = large_begin,
    .large_part = large_part,
    .large_end = large_end,
};

static void on_answer(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct fixture *it = arg;
    (void)envelope;
    buf_printf(&it->log, "asked:%zu ", json ? len : 0);
}

static void set_up(struct fixture *it)
{
    int fds[2];
    *it = (struct fixture){0};
    tcp_peer_pair(fds);
    it->loop = loop_create(false, NULL);
    assert_non_null(it->loop);
    it->peer = fds[1];
    it->link = link_adopt(it->loop, fds[0], true, FIRST_SEQ, &ops, it);
    buf_add_string(&it->log, "");
}

static void tear_down(struct fixture *it)
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
static void assert_log(struct fixture *it, const char *expected)
{
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    while (strcmp(it->log.data, expected) != 0 && loop_now_us() < until)
        loop_run_once(it->loop, 20);
    assert_string_equal(it->log.data, expected);
}

static char owner; /* of the requests */

static void run(struct fixture *it, int64_t ms)
{
    int64_t until = loop_now_us() + ms * 1000;
    while (loop_now_us() < until)
        loop_run_once(it->loop, 5);
}

static void forward(struct fixture *it, int64_t client_seq, const char *command)
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
static void take_all(struct fixture *it)
{
    char bytes[4096];
    while (tcp_peer_read(it->peer, bytes, sizeof bytes, 100) > 0)
        continue;
}

/* A framed message: `start`, then a body of the right size to make it `len` bytes. */
static void add_message(struct buf *out, const char *start, size_t len)
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

static const char *response_start(int64_t request_seq)
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

static void *write_all(void *arg)
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

static void write_start(struct writer *writer)
{
    if (!writer->repeat)
        writer->repeat = 1;
    assert_int_equal(pthread_create(&writer->thread, NULL, write_all, writer), 0);
}

/* --- adoption --- */

static void test_an_adopted_link_goes_on(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    char got[512] = "";
    set_up(&it);
    assert_true(link_is_open(it.link));
    assert_true(link_fd(it.link) >= 0);
    /* The rest of a message, an answer to the earlier relay, then what concerns us. */
    buf_add_string(&out, "half of one\"}}");
    add_message(&out, response_start(FIRST_SEQ - 1), 200);
    add_message(&out, event_start, 100);
    add_message(&out, response_start(FIRST_SEQ), 201);
    forward(&it, 33, "next");
    assert_true(tcp_peer_read(it.peer, got, sizeof got - 1, 1000) > 0);
    assert_non_null(strstr(got, "\"seq\":501,"));
    assert_true(tcp_peer_write(it.peer, out.data, out.len));
    assert_log(&it, "output:100 next@33:201 ");
    buf_free(&out);
    tear_down(&it);
}

static void test_an_adopted_socket_that_is_at_its_end(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    forward(&it, 1, "next");
    take_all(&it);
    close(it.peer);
    it.peer = -1;
    assert_log(&it, "close(the debugger closed the connection) ");
    struct pending pending;
    assert_true(link_take_pending(it.link, &owner, &pending));
    assert_false(link_is_open(it.link));
    assert_int_equal(link_fd(it.link), -1);
    tear_down(&it);
}

static void test_a_reset_is_told_from_an_end(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    tcp_peer_reset(it.peer);
    it.peer = -1;
    assert_log(&it, "close(the connection was reset) ");
    tear_down(&it);
}

/* --- large messages --- */

static void test_large_messages_pass_in_order(void **state)
{
    (void)state;
    static const size_t pieces[] = {997, 16384, 65536, 10000000};
    struct buf out = {0};
    struct writer writer = {0};
    add_message(&out, event_start, LINK_LARGE); /* not large */
    add_message(&out, event_start, LINK_LARGE + 1);
    add_message(&out, event_start, 90);
    size_t start = out.len;
    add_message(&out, response_start(FIRST_SEQ), 3000000);
    size_t end = out.len;
    add_message(&out, event_start, 91);
    size_t skip = strlen("Content-Length: 3000000\r\n\r\n");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct fixture it;
        struct pending pending;
        set_up(&it);
        forward(&it, 7, "variables");
        writer =
            (struct writer){.fd = it.peer, .bytes = out.data, .len = out.len, .piece = pieces[i]};
        write_start(&writer);
        assert_log(&it, "output:262144 begin output@0:262145 end:whole output:90 "
                        "begin x@7:3000000 end:whole output:91 ");
        pthread_join(writer.thread, NULL);
        assert_int_equal(it.large.len, LINK_LARGE + 1 + 3000000);
        assert_memory_equal(it.large.data + LINK_LARGE + 1, out.data + start + skip,
                            end - start - skip);
        assert_false(link_take_pending(it.link, &owner, &pending));
        tear_down(&it);
    }
    buf_free(&out);
}

static void test_what_cannot_pass_comes_whole(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    struct writer writer;
    set_up(&it);
    forward(&it, 7, "variables");
    link_ask(it.link, "threads", NULL, 0, on_answer, &it);
    add_message(&out, response_start(FIRST_SEQ + 1), 400000);               /* an ask's */
    add_message(&out, "{\"type\":\"event\",\"event\":\"output\",", 400001); /* no seq */
    add_message(&out, "{\"x\":[{\"seq\":3}],\"type\":\"event\",\"event\":\"output\",", 400002);
    add_message(&out, response_start(FIRST_SEQ + 77), 400003); /* nobody's: dropped */
    it.refuse_large = true;
    add_message(&out, response_start(FIRST_SEQ), 400004);
    writer = (struct writer){.fd = it.peer, .bytes = out.data, .len = out.len, .piece = 5000};
    write_start(&writer);
    assert_log(&it, "asked:400000 output:400001 output:400002 "
                    "refused x@7:400004 variables@7:400004 ");
    pthread_join(writer.thread, NULL);
    buf_free(&out);
    tear_down(&it);
}

static void test_death_inside_a_large_message(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    struct pending pending;
    struct writer writer;
    set_up(&it);
    forward(&it, 7, "variables");
    forward(&it, 8, "scopes");
    take_all(&it);
    add_message(&out, response_start(FIRST_SEQ), 500000);
    writer = (struct writer){.fd = it.peer, .bytes = out.data, .len = 300000, .piece = 300000};
    write_start(&writer);
    pthread_join(writer.thread, NULL);
    close(it.peer);
    it.peer = -1;
    assert_log(&it, "begin x@7:500000 end:cut close(the debugger closed the connection) ");
    assert_true(link_take_pending(it.link, &owner, &pending)); /* only what was not begun */
    assert_int_equal(pending.client.value, 8);
    assert_false(link_take_pending(it.link, &owner, &pending));
    buf_free(&out);
    tear_down(&it);
}

static void test_a_link_may_be_destroyed_inside_a_large_message(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    struct writer writer;
    set_up(&it);
    it.destroy_at_part = true;
    add_message(&out, event_start, 500000);
    writer = (struct writer){.fd = it.peer, .bytes = out.data, .len = 400000, .piece = 400000};
    write_start(&writer);
    for (int64_t until = loop_now_us() + 5000000; it.link && loop_now_us() < until;)
        loop_run_once(it.loop, 20);
    run(&it, 30);
    pthread_join(writer.thread, NULL);
    assert_null(it.link);
    assert_string_equal(it.log.data, "begin output@0:500000 ");
    buf_free(&out);
    tear_down(&it);
}

/* 300 MiB, which is more than may be collected. */
static void test_a_body_of_any_size_costs_no_memory(void **state)
{
    (void)state;
    enum { MIB = 1024 * 1024, SIZE_MIB = 300 };
#ifdef __SANITIZE_ADDRESS__
    const size_t room = (size_t)32 * MIB;
#else
    const size_t room = (size_t)1 * MIB;
#endif
    struct fixture it;
    struct buf start = {0};
    char header[FRAME_HEADER_ROOM];
    struct writer writer;
    set_up(&it);
    it.discard = true;
    size_t len = (size_t)SIZE_MIB * MIB + strlen(event_start) + strlen("\"body\":\"");
    buf_add(&start, header, frame_header(header, len));
    buf_add_string(&start, event_start);
    buf_add_string(&start, "\"body\":\"");
    assert_true(tcp_peer_write(it.peer, start.data, start.len));
    char *block = mem_alloc(MIB);
    memset(block, 'x', MIB);
    run(&it, 20);
    size_t before = tcp_peer_rss(), most = 0;
    writer = (struct writer){
        .fd = it.peer, .bytes = block, .len = MIB, .piece = MIB, .repeat = SIZE_MIB};
    write_start(&writer);
    for (int64_t until = loop_now_us() + 60000000;
         it.passed < len && !it.closed && loop_now_us() < until;) {
        loop_run_once(it.loop, 20);
        size_t now = tcp_peer_rss();
        most = now > most ? now : most;
    }
    pthread_join(writer.thread, NULL);
    assert_non_null(strstr(it.log.data, "end:whole"));
    print_message("300 MiB through: RSS grew by %zu KiB\n",
                  most > before ? (most - before) / 1024 : 0);
    assert_true(most < before + room);
    free(block);
    buf_free(&start);
    tear_down(&it);
}

/* --- an adapter that is made to wait --- */

static void test_what_was_read_waits_in_order(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    set_up(&it);
    it.stop_at_each = true;
    for (size_t len = 100; len < 105; len++)
        add_message(&out, event_start, len);
    assert_true(tcp_peer_write(it.peer, out.data, out.len));
    assert_log(&it, "output:100 ");
    close(it.peer); /* its end comes last */
    it.peer = -1;
    run(&it, 50);
    assert_log(&it, "output:100 ");
    link_read_enable(it.link, true);
    assert_log(&it, "output:100 "); /* not from within */
    assert_log(&it, "output:100 output:101 ");
    run(&it, 30);
    link_read_enable(it.link, true);
    link_read_enable(it.link, false);
    run(&it, 30);
    assert_log(&it, "output:100 output:101 ");
    it.stop_at_each = false;
    link_read_enable(it.link, true);
    assert_log(&it, "output:100 output:101 output:102 output:103 output:104 "
                    "close(the debugger closed the connection) ");
    buf_free(&out);
    tear_down(&it);
}

/* libwebsockets closes a connection at once that is reset while it may not be read. */
static void test_a_reset_takes_nothing_that_had_come(void **state)
{
    (void)state;
    enum { MESSAGES = 900 }; /* more than one read's worth */
    struct fixture it;
    struct buf out = {0};
    set_up(&it);
    it.stop_at_each = true;
    for (size_t i = 0; i < MESSAGES; i++)
        add_message(&out, event_start, 100);
    assert_true(tcp_peer_write(it.peer, out.data, out.len));
    assert_log(&it, "output:100 ");
    int unsent = 1;
    while (unsent && ioctl(it.peer, SIOCOUTQ, &unsent) == 0)
        run(&it, 5); /* what has not left the peer goes with it */
    tcp_peer_reset(it.peer);
    it.peer = -1;
    run(&it, 50);
    assert_log(&it, "output:100 ");
    it.stop_at_each = false;
    link_read_enable(it.link, true);
    for (int64_t until = loop_now_us() + 5000000; !it.closed && loop_now_us() < until;)
        loop_run_once(it.loop, 20);
    assert_int_equal(it.log.len,
                     MESSAGES * strlen("output:100 ") + strlen("close(the connection was reset) "));
    buf_free(&out);
    tear_down(&it);
}

/* A stopped link fills the kernel's buffers, not ours. */
static void test_a_stopped_link_stops_the_adapter(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    set_up(&it);
    link_read_enable(it.link, false);
    add_message(&out, event_start, 200000);
    size_t sent = 0;
    for (int quiet = 0; quiet < 20;) {
        ssize_t len = send(it.peer, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += len > 0 ? (size_t)len : 0;
        quiet = len > 0 ? 0 : quiet + 1;
        run(&it, 5);
        assert_true(sent < 64 * 1024 * 1024);
    }
    assert_log(&it, "");
    buf_free(&out);
    tear_down(&it);
}

static void test_requests_queue_for_a_stopped_adapter(void **state)
{
    (void)state;
    struct fixture it;
    char *arguments = mem_alloc(1000003);
    set_up(&it);
    memset(arguments, 'x', 1000002);
    arguments[0] = arguments[1000001] = '"';
    for (size_t i = 0; i < 10; i++)
        link_ask(it.link, "evaluate", arguments, 0, on_answer, &it);
    assert_true(link_queued(it.link) > 1000000);
    size_t got = 0;
    char *bytes = mem_alloc(1000000);
    for (int64_t until = loop_now_us() + 10000000; link_queued(it.link) && loop_now_us() < until;) {
        ssize_t len = recv(it.peer, bytes, 1000000, MSG_DONTWAIT);
        got += len > 0 ? (size_t)len : 0;
        loop_run_once(it.loop, 1);
    }
    assert_int_equal(link_queued(it.link), 0);
    assert_true(got > 1000000);
    free(bytes);
    free(arguments);
    tear_down(&it);
}

/* --- memory --- */

/* 0 where a sanitizer has replaced malloc. */
static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static const struct stream_ops no_stream_ops = {0};

static void test_an_idle_link_is_small(void **state)
{
    (void)state;
    enum { LINKS = 200 };
    struct loop *loop = loop_create(false, NULL);
    struct fixture it[LINKS] = {0};
    struct stream *streams[LINKS];
    int fds[LINKS][2];
    struct buf out = {0};
    for (size_t i = 0; i < LINKS; i++)
        tcp_peer_pair(fds[i]);
    add_message(&out, event_start, 60000);
    add_message(&out, response_start(FIRST_SEQ), 60000);
    size_t empty = memory_in_use();
    for (size_t i = 0; i < LINKS; i++)
        streams[i] = stream_adopt(loop, fds[i][0], true, &no_stream_ops, NULL);
    size_t with_streams = memory_in_use() - empty;
    for (size_t i = 0; i < LINKS; i++) {
        stream_destroy(&streams[i]);
        loop_run_once(loop, 0);
        close(fds[i][1]);
        tcp_peer_pair(fds[i]);
        it[i].loop = loop;
        buf_add_string(&it[i].log, "");
    }
    size_t before = memory_in_use();
    for (size_t i = 0; i < LINKS; i++) {
        it[i].link = link_adopt(loop, fds[i][0], true, FIRST_SEQ, &ops, &it[i]);
        forward(&it[i], 1, "next");
        assert_true(tcp_peer_write(fds[i][1], out.data, out.len));
        assert_log(&it[i], "output:60000 next@1:60000 ");
    }
    size_t used = memory_in_use() - before;
    print_message("an idle stream with its wsi: %zu bytes, a link beside it: %zu\n",
                  with_streams / LINKS, used > with_streams ? (used - with_streams) / LINKS : 0);
    assert_true(used < with_streams + (size_t)LINKS * 1024);
    for (size_t i = 0; i < LINKS; i++) {
        link_destroy(&it[i].link);
        close(fds[i][1]);
        buf_free(&it[i].log);
    }
    loop_run_once(loop, 0);
    loop_destroy(&loop);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_adopted_link_goes_on),
        cmocka_unit_test(test_an_adopted_socket_that_is_at_its_end),
        cmocka_unit_test(test_a_reset_is_told_from_an_end),
        cmocka_unit_test(test_large_messages_pass_in_order),
        cmocka_unit_test(test_what_cannot_pass_comes_whole),
        cmocka_unit_test(test_death_inside_a_large_message),
        cmocka_unit_test(test_a_link_may_be_destroyed_inside_a_large_message),
        cmocka_unit_test(test_a_body_of_any_size_costs_no_memory),
        cmocka_unit_test(test_what_was_read_waits_in_order),
        cmocka_unit_test(test_a_reset_takes_nothing_that_had_come),
        cmocka_unit_test(test_a_stopped_link_stops_the_adapter),
        cmocka_unit_test(test_requests_queue_for_a_stopped_adapter),
        cmocka_unit_test(test_an_idle_link_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
