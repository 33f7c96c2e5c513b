/* A stream whose peer has gone, with bytes that nothing has read. */
#include "cmocka_prelude.h"

#include "relay/io/stream.h"
#include "tcp_fixture.h"

enum { WAIT_MS = 60000 };

struct fixture {
    struct tcp_fixture at;
    struct stream *stream;
    bool closed;
};

/* Answers all that comes. */
static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct fixture *it = arg;
    buf_printf(&it->at.log, "%.*s ", (int)len, bytes);
    stream_write(it->stream, "an", 2, "swer", 4);
    stream_write(it->stream, "", 0, "another", 7);
}

static void on_close(void *arg, const char *why)
{
    struct fixture *it = arg;
    buf_printf(&it->at.log, "close(%s)", why ? why : "");
    it->closed = true;
}

static const struct stream_ops ops = {.on_bytes = on_bytes, .on_close = on_close};

static void an_answer_to_a_peer_that_was_reset_is_dropped(void **state)
{
    (void)state;
    struct fixture it = {0};
    tcp_fixture_set_up(&it.at);
    int peer = tcp_peer_connect(it.at.port);
    it.stream = stream_adopt(it.at.loop, accept(it.at.listener, NULL, NULL), true, &ops, &it);
    stream_read_enable(it.stream, false);
    assert_true(tcp_peer_write(peer, "question", 8));
    tcp_peer_reset(peer);
    loop_run_until(it.at.loop, &it.closed, WAIT_MS);
    assert_string_equal(it.at.log.data, "question close(the connection was reset)");
    stream_destroy(&it.stream);
    tcp_fixture_tear_down(&it.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_to_a_peer_that_was_reset_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
