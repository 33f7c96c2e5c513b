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

static void expect(int peer, const char *a, const char *b)
{
    char bytes[1024];
    assert_true(is_readable(peer, (int)wait_limit_ms()));
    ssize_t len = recv(peer, bytes, sizeof bytes - 1, 0);
    assert_true(len > 0);
    bytes[len] = '\0';
    assert_non_null(strstr(bytes, a));
    assert_non_null(strstr(bytes, b));
}

static void expect_goodbye(int peer)
{
    expect(peer, "\"disconnect\"", "\"terminateDebuggee\":false");
}

static void say(int peer, const char *json)
{
    assert_int_equal(send(peer, json, strlen(json), MSG_NOSIGNAL), strlen(json));
}

/* The adapter's end of a connection to which it has said this when its client goes. */
static int leave(size_t owed, bool greeted, const char *json)
{
    int pair[2];
    tcp_pair(pair);
    closer_start();
    int slot = closer_guard(pair[0], CLOSER_DEBUGPY);
    assert_true(slot >= 0);
    closer_note(slot, owed, false, greeted);
    say(pair[1], json);
    closer_close(&slot);
    close(pair[0]);
    return pair[1];
}

static void end(int peer)
{
    close(peer);
    closer_stop();
}

/* An adapter that is spoken to in the middle of what it says meets the end of its client when it
 * answers, and does not survive that. */
static void test_it_waits_for_silence(void **state)
{
    (void)state;
    int64_t began = loop_now_us(), spoke = began;
    int peer = leave(0, true, "hello");
    while (ms_since(began) < TALK_MS && !is_readable(peer, EACH_MS)) {
        spoke = loop_now_us(); /* before: the closer may hear it at once */
        say(peer, "hello");
    }
    expect_goodbye(peer);
    assert_true(ms_since(spoke) >= SETTLE_MS);
    end(peer);
}

static const char answer[] = "{\"type\": \"response\"}";

/* Nor before it has answered what it was asked. */
static void test_it_waits_for_answers(void **state)
{
    (void)state;
    int peer = leave(2, true, answer);
    assert_false(is_readable(peer, SETTLE_MS + 100)); /* it gives up at 500 */
    say(peer, answer);
    expect_goodbye(peer);
    end(peer);
}

/* The end of a client whose greeting is not out would be that of the thread which accepts. For
 * debugpy 1.8.0, which greets with less: tests/agent/test_leaving.py. */
static void test_it_waits_for_the_greeting(void **state)
{
    (void)state;
    int peer = leave(1, false, answer);
    assert_false(is_readable(peer, SETTLE_MS + 100));
    say(peer, "{\"output\": \"debugpy\", \"data\": {\"packageVersion\": \"1.8.22\"}}");
    assert_false(is_readable(peer, SETTLE_MS + 100));
    say(peer, "{\"event\": \"debugpySockets\"}");
    expect_goodbye(peer);
    end(peer);
}

/* On a busy machine an `attach` takes longer than the closer waits before it gives up what is
 * evaluated; the adapter ends if the answer to that meets the end of its client. */
static void test_it_waits_for_what_was_given_up(void **state)
{
    (void)state;
    int peer = leave(1, true, "{\"event\": \"output\"}");
    expect(peer, "\"evaluate\"", "give up");
    say(peer, "{\"event\": \"initialized\"}");
    assert_false(is_readable(peer, SETTLE_MS + 100));
    say(peer, answer);
    expect_goodbye(peer);
    say(peer, answer); /* to anything else */
    assert_false(is_readable(peer, SETTLE_MS + 100));
    say(peer, "{\"type\": \"response\", \"request_seq\": 2147483647}");
    assert_true(closes(peer));
    end(peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_waits_for_silence),
        cmocka_unit_test(test_it_waits_for_answers),
        cmocka_unit_test(test_it_waits_for_the_greeting),
        cmocka_unit_test(test_it_waits_for_what_was_given_up),
    };
    return cmocka_run_group_tests_name("closer", tests, NULL, NULL);
}
