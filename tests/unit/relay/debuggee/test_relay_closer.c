/* The closer says goodbye to an adapter that has nothing more to say, not before. */
#include "cmocka_prelude.h"

#include "keeper_fixture.h"
#include "relay/debuggee/closer.h"
#include "relay/io/loop.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SETTLE_MS = 200, TALK_MS = 700, EACH_MS = 20 };

static bool is_readable(int fd, int ms)
{
    struct pollfd it = {.fd = fd, .events = POLLIN};
    return poll(&it, 1, ms) == 1;
}

static int64_t ms_since(int64_t us)
{
    return (loop_now_us() - us) / 1000;
}

static void expect_goodbye(int peer)
{
    char bytes[1024];
    assert_true(is_readable(peer, 10000));
    ssize_t len = recv(peer, bytes, sizeof bytes - 1, 0);
    assert_true(len > 0);
    bytes[len] = '\0';
    assert_non_null(strstr(bytes, "\"disconnect\""));
    assert_non_null(strstr(bytes, "\"terminateDebuggee\":false"));
}

/* An adapter that is spoken to in the middle of what it says meets the end of its client when it
 * answers, and does not survive that. */
static void test_it_waits_for_silence(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    closer_start();
    int slot = closer_guard(pair[0], CLOSER_DEBUGPY);
    assert_true(slot >= 0);
    int64_t began = loop_now_us(), spoke = began;
    assert_int_equal(send(pair[1], "hello", 5, 0), 5);
    closer_close(&slot);
    close(pair[0]);
    while (ms_since(began) < TALK_MS && !is_readable(pair[1], EACH_MS)) {
        spoke = loop_now_us(); /* before: the closer may hear it at once */
        assert_int_equal(send(pair[1], "hello", 5, 0), 5);
    }
    expect_goodbye(pair[1]);
    assert_true(ms_since(spoke) >= SETTLE_MS);
    close(pair[1]);
    closer_stop();
}

/* Nor before it has answered what it was asked. */
static void test_it_waits_for_answers(void **state)
{
    (void)state;
    int pair[2];
    static const char answer[] = "{\"type\": \"response\"}";
    tcp_pair(pair);
    closer_start();
    int slot = closer_guard(pair[0], CLOSER_DEBUGPY);
    closer_note(slot, 2, false);
    closer_close(&slot);
    close(pair[0]);
    assert_int_equal(send(pair[1], answer, sizeof answer - 1, 0), sizeof answer - 1);
    assert_false(is_readable(pair[1], SETTLE_MS + 100)); /* it gives up at 500 */
    assert_int_equal(send(pair[1], answer, sizeof answer - 1, 0), sizeof answer - 1);
    expect_goodbye(pair[1]);
    close(pair[1]);
    closer_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_waits_for_silence),
        cmocka_unit_test(test_it_waits_for_answers),
    };
    return cmocka_run_group_tests_name("closer", tests, NULL, NULL);
}
