/* Which threads are stopped, as events tell. */
#include "cmocka_prelude.h"

#include "relay/stack/stopped_threads.h"

#include <string.h>

static void apply(struct stopped_threads *set, const char *json)
{
    struct envelope envelope;
    const char *problem;
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    stopped_threads_event(set, json, &envelope);
}

#define EVENT(name, body) "{\"type\":\"event\",\"event\":\"" name "\",\"body\":" body "}"

static void test_stopped_and_continued(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    apply(&set, EVENT("stopped", "{\"threadId\":1,\"allThreadsStopped\":false}"));
    apply(&set, EVENT("stopped", "{\"threadId\":4}"));
    apply(&set, EVENT("stopped", "{\"threadId\":4}"));
    assert_int_equal(set.count, 2);
    assert_true(stopped_threads_has(&set, 1));
    apply(&set, EVENT("continued", "{\"threadId\":1,\"allThreadsContinued\":false}"));
    assert_false(stopped_threads_has(&set, 1));
    assert_true(stopped_threads_has(&set, 4));
    apply(&set, EVENT("continued", "{\"threadId\":9}"));
    assert_int_equal(set.count, 0);
    stopped_threads_clear(&set);
}

static void test_all_stopped_means_the_unnamed_too(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    assert_true(stopped_threads_empty(&set));
    apply(&set, EVENT("stopped", "{\"threadId\":1,\"allThreadsStopped\":true}"));
    assert_true(stopped_threads_has(&set, 77));
    assert_false(stopped_threads_empty(&set));
    apply(&set, EVENT("continued", "{\"threadId\":1,\"allThreadsContinued\":false}"));
    assert_false(stopped_threads_has(&set, 77));
    assert_false(stopped_threads_has(&set, 1));
    apply(&set, EVENT("stopped", "{\"threadId\":1,\"allThreadsStopped\":true}"));
    apply(&set, EVENT("continued", "{\"threadId\":1,\"allThreadsContinued\":true}"));
    assert_true(stopped_threads_empty(&set));
    apply(&set, EVENT("stopped", "{\"threadId\":1,\"allThreadsStopped\":true}"));
    apply(&set, EVENT("continued", "{\"threadId\":2,\"allThreadsContinued\":null}"));
    assert_true(stopped_threads_empty(&set));
    stopped_threads_clear(&set);
}

static void test_a_thread_that_ends_is_not_stopped(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    apply(&set, EVENT("stopped", "{\"threadId\":4}"));
    apply(&set, EVENT("thread", "{\"threadId\":4,\"reason\":\"started\"}"));
    assert_true(stopped_threads_has(&set, 4));
    apply(&set, EVENT("thread", "{\"threadId\":4,\"reason\":\"exited\"}"));
    assert_false(stopped_threads_has(&set, 4));
    stopped_threads_clear(&set);
}

static void test_terminated_and_odd_events(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    for (int i = 0; i < 100; i++)
        stopped_threads_add(&set, i);
    apply(&set, EVENT("stopped", "{\"threadId\":\"4\"}"));
    apply(&set, EVENT("stopped", "null"));
    apply(&set, "{\"type\":\"event\",\"event\":\"stopped\"}");
    apply(&set, EVENT("output", "{\"threadId\":7}"));
    assert_int_equal(set.count, 100);
    apply(&set, "{\"type\":\"event\",\"event\":\"terminated\"}");
    assert_int_equal(set.count, 0);
    stopped_threads_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopped_and_continued),
        cmocka_unit_test(test_all_stopped_means_the_unnamed_too),
        cmocka_unit_test(test_a_thread_that_ends_is_not_stopped),
        cmocka_unit_test(test_terminated_and_odd_events),
    };
    return cmocka_run_group_tests_name("stopped_threads", tests, NULL, NULL);
}
