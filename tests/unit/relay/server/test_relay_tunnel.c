/* The tunnel, with real sockets on both sides: what goes in comes out, in order and to its end. */
#include "cmocka_prelude.h"
#include "tunnel_fixture.h"

/* --- bytes --- */

static void test_both_ways_at_once(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    struct way ways[2];
    way_init(&ways[0], pair.client, pair.adapter, 3000000, 1);
    way_init(&ways[1], pair.adapter, pair.client, 3000000, 2);
    pass(&it, ways, 2);
    close_pair(&pair);
    tear_down(&it);
}

static void test_an_adapter_that_talks_first(void **state)
{
    (void)state;
    struct fixture it;
    char got[64] = "";
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    assert_true(tcp_peer_write(pair.adapter, "login: ", 7));
    run(&it, 30);
    assert_int_equal(recv(pair.client, got, sizeof got, 0), 7);
    assert_string_equal(got, "login: ");
    close_pair(&pair);
    tear_down(&it);
}

/* What a client sends before the adapter is there waits for it. */
static void test_a_client_that_talks_first(void **state)
{
    (void)state;
    struct fixture it;
    char got[64] = "";
    set_up(&it, false);
    int client = tcp_peer_connect(it.port);
    assert_true(tcp_peer_write(client, "hello", 5));
    shutdown(client, SHUT_WR);
    int adapter = accept_one(&it);
    run(&it, 30);
    assert_int_equal(recv(adapter, got, sizeof got, 0), 5);
    assert_string_equal(got, "hello");
    assert_int_equal(recv(adapter, got, sizeof got, 0), 0);
    close(client);
    close(adapter);
    tear_down(&it);
}

static void test_many_at_once_and_in_turn(void **state)
{
    (void)state;
    enum { PAIRS = 20, ROUNDS = 3 };
    struct fixture it;
    set_up(&it, true);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct pair pairs[PAIRS];
        struct way ways[PAIRS * 2];
        for (unsigned i = 0; i < PAIRS; i++) {
            pairs[i] = connect_pair(&it);
            way_init(&ways[2 * i], pairs[i].client, pairs[i].adapter, 30000 + i, i + 1);
            way_init(&ways[2 * i + 1], pairs[i].adapter, pairs[i].client, 40000 + i, i + 100);
        }
        pass(&it, ways, (size_t)PAIRS * 2);
        for (unsigned i = 0; i < PAIRS; i++)
            close_pair(&pairs[i]);
    }
    tear_down(&it);
}

static void wait_bytes(struct fixture *it, int fd, size_t count)
{
    char bytes[8];
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    while (count && loop_now_us() < until) {
        loop_run_once(it->loop, 0);
        ssize_t len = recv(fd, bytes, count, MSG_DONTWAIT);
        count -= len > 0 ? (size_t)len : 0;
    }
    assert_int_equal(count, 0);
}

static void test_bytes_leave_at_once(void **state)
{
    (void)state;
    enum { ROUNDS = 100, HELD_US = 20000 };
    struct fixture it;
    int held = 0;
    set_up(&it, false);
    struct pair pair = connect_pair(&it);
    int on = 1;
    setsockopt(pair.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(pair.adapter, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* Two sends to an answer: Nagle's algorithm would hold the second for 40 ms each time. */
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = loop_now_us();
        assert_true(tcp_peer_write(pair.client, "a", 1));
        turn(&it);
        assert_true(tcp_peer_write(pair.client, "b", 1));
        wait_bytes(&it, pair.adapter, 2);
        assert_true(tcp_peer_write(pair.adapter, "c", 1));
        turn(&it);
        assert_true(tcp_peer_write(pair.adapter, "d", 1));
        wait_bytes(&it, pair.client, 2);
        held += loop_now_us() - start >= HELD_US;
    }
    assert_true(held < ROUNDS / 2); /* a busy machine may hold some */
    close_pair(&pair);
    tear_down(&it);
}

/* --- ends --- */

static void test_each_side_sees_the_others_end(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    close(pair.adapter);
    assert_end(&it, pair.client);
    close(pair.client);
    pair = connect_pair(&it);
    close(pair.client);
    assert_end(&it, pair.adapter);
    close(pair.adapter);
    run(&it, 20);
    assert_false(it.ended);
    tear_down(&it);
}

/* A client that has said all it wants, and an answer that it reads slowly. */
static void test_half_closed_is_not_closed(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; slow++) {
        struct fixture it;
        struct way question, answer;
        set_up(&it, true);
        struct pair pair = connect_pair(&it);
        way_init(&question, pair.client, pair.adapter, 100000, 3);
        question.shut = true;
        pass(&it, &question, 1);
        assert_end(&it, pair.adapter);
        way_init(&answer, pair.adapter, pair.client, 9000000, 4);
        answer.shut = true;
        while (slow && answer.sent < answer.len) {
            ssize_t len = send(pair.adapter, answer.bytes + answer.sent, answer.len - answer.sent,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
            if (len <= 0)
                break;
            answer.sent += (size_t)len;
            run(&it, 5);
        }
        pass(&it, &answer, 1);
        if (!answer.ended)
            assert_end(&it, pair.client);
        close_pair(&pair);
        tear_down(&it);
    }
}

/* The last bytes of an adapter that goes while the client does not read. */
static void test_a_reset_takes_nothing_that_had_come(void **state)
{
    (void)state;
    struct fixture it;
    struct way way;
    size_t last = 0;
    set_up(&it, false);
    struct pair pair = connect_pair(&it);
    way_init(&way, pair.adapter, pair.client, 40 * (size_t)MIB, 5);
    for (int quiet = 0; quiet < 20;) { /* until everything is full */
        ssize_t len = send(pair.adapter, way.bytes + way.sent, way.len - way.sent,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
        way.sent += len > 0 ? (size_t)len : 0;
        run(&it, 5);
        quiet = way.sent == last ? quiet + 1 : 0;
        last = way.sent;
    }
    assert_true(way.sent < way.len);
    int unsent = 0;
    assert_int_equal(ioctl(pair.adapter, SIOCOUTQ, &unsent), 0);
    size_t arrived = way.sent - (size_t)unsent;
    tcp_peer_reset(pair.adapter);
    run(&it, 50);
    way.sent = way.len = arrived; /* what was acknowledged before */
    pass(&it, &way, 1);
    if (!way.ended)
        assert_end(&it, pair.client);
    close(pair.client);
    tear_down(&it);
}

static void test_a_client_that_vanishes(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    tcp_peer_reset(pair.client);
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; loop_now_us() < until; turn(&it)) {
        char byte;
        if (recv(pair.adapter, &byte, 1, 0) == 0 || errno == ECONNRESET)
            break;
    }
    close(pair.adapter);
    /* and one that does not wait for the adapter */
    int client = tcp_peer_connect(it.port);
    tcp_peer_reset(client);
    close(accept_one(&it));
    run(&it, 20);
    pair = connect_pair(&it);
    close_pair(&pair);
    tear_down(&it);
}

static void test_an_adapter_that_refuses(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    close(it.listener);
    int client = tcp_peer_connect(it.port);
    assert_end(&it, client);
    close(client);
    run(&it, 20);
    assert_false(it.ended); /* it may be about to start */
    tear_down(&it);

    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    close(it.listener);
    it.listener = -1;
    client = tcp_peer_connect(it.port);
    assert_end(&it, client);
    close(client);
    run(&it, 20);
    assert_false(it.ended); /* somebody still uses it */
    close_pair(&pair);
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; !it.ended && loop_now_us() < until;)
        turn(&it);
    assert_true(it.ended);
    tear_down(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways_at_once),
        cmocka_unit_test(test_an_adapter_that_talks_first),
        cmocka_unit_test(test_a_client_that_talks_first),
        cmocka_unit_test(test_many_at_once_and_in_turn),
        cmocka_unit_test(test_bytes_leave_at_once),
        cmocka_unit_test(test_each_side_sees_the_others_end),
        cmocka_unit_test(test_half_closed_is_not_closed),
        cmocka_unit_test(test_a_reset_takes_nothing_that_had_come),
        cmocka_unit_test(test_a_client_that_vanishes),
        cmocka_unit_test(test_an_adapter_that_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
