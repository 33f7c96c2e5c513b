/* The link: a taken-over connection, an adapter that is made to wait, and memory. */
#include "cmocka_prelude.h"
#include "link_fixture.h"

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

/* --- an adapter that is made to wait --- */

static void test_what_was_read_waits_in_order(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    set_up(&it);
    it.stop_at_each = true;
    add_message(&out, event_start, 100);
    size_t first = out.len;
    for (size_t len = 101; len < 105; len++)
        add_message(&out, event_start, len);
    assert_true(tcp_peer_write(it.peer, out.data, out.len));
    assert_log(&it, "output:100 ");
    assert_int_equal(it.unread, out.len - first);
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
    assert_int_equal(it.unread, 0);
    buf_free(&out);
    tear_down(&it);
}

/* It may begin and end within a message: the rest is in the socket. */
static void test_what_an_earlier_relay_had_read_comes_first(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    set_up(&it);
    buf_add_string(&out, "half of one\"}}");
    for (size_t len = 101; len < 104; len++)
        add_message(&out, event_start, len);
    size_t read = out.len - 60;
    assert_true(tcp_peer_write(it.peer, out.data + read, out.len - read));
    link_put_back(it.link, out.data, read);
    assert_log(&it, ""); /* not from within */
    link_read_enable(it.link, false);
    run(&it, 30);
    assert_string_equal(it.log.data, "");
    link_read_enable(it.link, true);
    assert_log(&it, "output:101 output:102 output:103 ");
    assert_int_equal(it.unread, 0);
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

/* An answer is found by its request_seq: neither its own number nor its command is needed. */
static void test_an_answer_that_names_no_command(void **state)
{
    (void)state;
    static const char text[] = "{\"seq\":\"5\",\"type\":\"response\",\"request_seq\":501}";
    struct fixture it;
    char header[FRAME_HEADER_ROOM], log[64];
    set_up(&it);
    forward(&it, 7, "threads");
    take_all(&it);
    assert_true(tcp_peer_write(it.peer, header, frame_header(header, sizeof text - 1)));
    assert_true(tcp_peer_write(it.peer, text, sizeof text - 1));
    snprintf(log, sizeof log, "threads=threads@7:%zu ", sizeof text - 1);
    assert_log(&it, log);
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
        it[i].link = link_adopt(loop, fds[i][0], true, FIRST_SEQ, NULL, 0, &ops, &it[i]);
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
        cmocka_unit_test(test_what_was_read_waits_in_order),
        cmocka_unit_test(test_what_an_earlier_relay_had_read_comes_first),
        cmocka_unit_test(test_a_reset_takes_nothing_that_had_come),
        cmocka_unit_test(test_an_answer_that_names_no_command),
        cmocka_unit_test(test_a_stopped_link_stops_the_adapter),
        cmocka_unit_test(test_requests_queue_for_a_stopped_adapter),
        cmocka_unit_test(test_an_idle_link_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
