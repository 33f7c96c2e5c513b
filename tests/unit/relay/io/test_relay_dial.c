/* A connection that is being made: told before it is, to each address in turn, or not at all. */
#include "cmocka_prelude.h"

#include "relay/io/dial.h"
#include "tcp_fixture.h"

enum { WAIT_MS = 60000, DIAL_MS = 5000, SHORT_MS = 100 };

struct fixture {
    struct tcp_fixture at;
    struct dial *dial;
};

static void on_socket(void *arg, int fd)
{
    struct fixture *it = arg;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    bool connected = getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
    buf_add_string(&it->at.log, connected ? "late " : "socket ");
}

static void on_done(void *arg, int fd, const char *why)
{
    struct fixture *it = arg;
    it->dial = NULL;
    it->at.fd = fd;
    buf_printf(&it->at.log, "%s", why ? why : "connected");
}

static const struct dial_ops ops = {on_socket, on_done};

static void set_up(struct fixture *it)
{
    *it = (struct fixture){0};
    tcp_fixture_set_up(&it->at);
}

static void tear_down(struct fixture *it)
{
    dial_cancel(&it->dial);
    tcp_fixture_tear_down(&it->at);
}

static void run(struct fixture *it, int64_t ms)
{
    for (int64_t until = loop_now_us() + ms * 1000; it->dial && loop_now_us() < until;)
        loop_run_once(it->at.loop, 20);
}

static void dial(struct fixture *it, const char *host, int64_t ms)
{
    it->dial = dial_start(it->at.loop, host, it->at.port, ms, &ops, it);
    assert_string_equal(it->at.log.data, "");
}

static void the_socket_is_told_before_it_is_connected(void **state)
{
    struct fixture it;
    char byte;
    (void)state;
    set_up(&it);
    dial(&it, "127.0.0.1", DIAL_MS);
    run(&it, WAIT_MS);
    assert_string_equal(it.at.log.data, "socket connected");
    int peer = accept(it.at.listener, NULL, NULL);
    assert_true(tcp_peer_write(peer, "x", 1));
    loop_run_once(it.at.loop, 20); /* the loop has let go of it, both ways */
    assert_int_equal(tcp_peer_read(it.at.fd, &byte, 1, WAIT_MS), 1);
    assert_true(tcp_peer_write(it.at.fd, "y", 1));
    assert_int_equal(tcp_peer_read(peer, &byte, 1, WAIT_MS), 1);
    close(peer);
    tear_down(&it);
}

static void a_name_will_do(void **state)
{
    struct fixture it;
    (void)state;
    set_up(&it);
    dial(&it, "localhost", DIAL_MS);
    run(&it, WAIT_MS);
    assert_true(it.at.fd >= 0);
    tear_down(&it);
}

static void a_refusal_is_told(void **state)
{
    struct fixture it;
    (void)state;
    set_up(&it);
    close(it.at.listener);
    it.at.listener = -1;
    dial(&it, "127.0.0.1", DIAL_MS);
    run(&it, WAIT_MS);
    assert_string_equal(it.at.log.data, "socket Connection refused");
    tear_down(&it);
}

static void an_unknown_name_is_told(void **state)
{
    struct fixture it;
    (void)state;
    set_up(&it);
    dial(&it, "256.0.0.1.invalid", DIAL_MS);
    run(&it, WAIT_MS);
    assert_int_equal(it.at.fd, -1);
    assert_null(strstr(it.at.log.data, "socket"));
    assert_true(it.at.log.len > 0);
    tear_down(&it);
}

/* A queue of 0 that is full: further connections get no answer. */
static void no_answer_is_told(void **state)
{
    struct fixture it;
    int waiting[8];
    (void)state;
    set_up(&it);
    assert_int_equal(listen(it.at.listener, 0), 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(it.at.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (size_t i = 0; i < 8; i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(connect(waiting[i], (struct sockaddr *)&at, sizeof at) != 0);
    }
    dial(&it, "127.0.0.1", SHORT_MS);
    run(&it, WAIT_MS);
    assert_string_equal(it.at.log.data, "socket no answer to the connection");
    for (size_t i = 0; i < 8; i++)
        close(waiting[i]);
    tear_down(&it);
}

static void nothing_is_told_once_cancelled(void **state)
{
    struct fixture it;
    (void)state;
    set_up(&it);
    dial(&it, "127.0.0.1", DIAL_MS);
    dial_cancel(&it.dial);
    for (int i = 0; i < 5; i++)
        loop_run_once(it.at.loop, 10);
    assert_string_equal(it.at.log.data, "");
    tear_down(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_socket_is_told_before_it_is_connected),
        cmocka_unit_test(a_name_will_do),
        cmocka_unit_test(a_refusal_is_told),
        cmocka_unit_test(an_unknown_name_is_told),
        cmocka_unit_test(no_answer_is_told),
        cmocka_unit_test(nothing_is_told_once_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
