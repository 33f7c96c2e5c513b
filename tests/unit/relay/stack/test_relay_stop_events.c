/* Which threads a late client is told of, and which of them it is told have stopped. */
#include "cmocka_prelude.h"

#include "relay/stack/stop_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT(name, body) "{\"seq\":7,\"type\":\"event\",\"event\":\"" name "\",\"body\":" body "}"
#define STOPPED(thread)                                                                            \
    EVENT("stopped", "{\"threadId\":" thread ",\"reason\":\"breakpoint\",\"x\":0.10}")
#define STARTED(thread)                                                                            \
    "{\"seq\":0,\"type\":\"event\",\"event\":\"thread\",\"body\":{\"reason\":"                     \
    "\"started\",\"threadId\":" thread "}}"
#define MOST "9223372036854775807"
#define LEAST "-9223372036854775808"
#define EXITED(thread) EVENT("thread", "{\"threadId\":" thread ",\"reason\":\"exited\"}")

/* Feeds a copy without a NUL behind it, which is gone right after: what is kept must be its own. */
static void feed(struct stop_events *stops, const char *json)
{
    struct envelope envelope;
    const char *problem = "none given";
    size_t len = strlen(json);
    char *copy = malloc(len);
    assert_non_null(copy);
    memcpy(copy, json, len);
    if (envelope_read(&envelope, copy, len, &problem) != 0)
        fail_msg("%s: %s", problem, json);
    stop_events_event(stops, copy, len, &envelope);
    free(copy);
}

static void check(const struct stop_events *stops, const char *expected)
{
    struct buf out = {0};
    stop_events_save(stops, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void nothing_at_first(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    assert_false(stop_events_any(&stops));
    assert_null(stop_events_last(&stops));
    check(&stops, "[]");
    stop_events_resume(&stops, 1, false);
    stop_events_resume(&stops, 0, true);
    stop_events_clear(&stops);
    check(&stops, "[]");
}

static void a_stop_is_kept_as_it_came(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    static const char stopped[] = STOPPED("1");
    feed(&stops, stopped);
    assert_true(stop_events_any(&stops));
    assert_int_equal(stop_events_last(&stops)->thread, 1);
    assert_int_equal(stop_events_last(&stops)->len, strlen(stopped));
    assert_memory_equal(stop_events_last(&stops)->json, stopped, strlen(stopped));
    check(&stops, "[" STARTED("1") "," STOPPED("1") "]");
    stop_events_clear(&stops);
    assert_false(stop_events_any(&stops));
    check(&stops, "[]");
}

static void the_latest_stop_is_last(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    feed(&stops, STOPPED("1"));
    feed(&stops, STOPPED("2"));
    assert_int_equal(stop_events_last(&stops)->thread, 2);
    feed(&stops, EVENT("stopped", "{\"threadId\":1,\"reason\":\"step\"}"));
    assert_int_equal(stops.count, 2);
    assert_int_equal(stop_events_last(&stops)->thread, 1);
    check(&stops, "[" STARTED("2") "," STARTED("1") "," STOPPED("2") "," EVENT(
                      "stopped", "{\"threadId\":1,\"reason\":\"step\"}") "]");
    stop_events_clear(&stops);
}

/* What runs again is still a thread. */
static void answers_resume(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    feed(&stops, STOPPED("1"));
    feed(&stops, STOPPED("2"));
    feed(&stops, STOPPED("3"));
    stop_events_resume(&stops, 9, false);
    assert_int_equal(stop_events_last(&stops)->thread, 3);
    stop_events_resume(&stops, 3, false);
    assert_int_equal(stop_events_last(&stops)->thread, 2);
    stop_events_resume(&stops, 1, false);
    check(&stops, "[" STARTED("1") "," STARTED("2") "," STARTED("3") "," STOPPED("2") "]");
    stop_events_resume(&stops, 0, true);
    assert_false(stop_events_any(&stops));
    check(&stops, "[" STARTED("1") "," STARTED("2") "," STARTED("3") "]");
    stop_events_clear(&stops);
}

/* The stops that a request is about to end are kept for the case that the debuggee refuses. */
static void stops_are_taken(void **state)
{
    (void)state;
    struct stop_events stops = {0}, taken = {0};
    feed(&stops, EVENT("thread", "{\"threadId\":4,\"reason\":\"started\"}"));
    feed(&stops, STOPPED("1"));
    feed(&stops, STOPPED("2"));
    feed(&stops, STOPPED("3"));
    assert_true(stop_events_runs(&stops, 4));
    assert_false(stop_events_runs(&stops, 2));
    assert_false(stop_events_runs(&stops, 9));
    stop_events_take(&stops, 9, false, &taken);
    stop_events_take(&stops, 4, false, &taken);
    assert_int_equal(taken.count, 0);
    stop_events_take(&stops, 2, false, &taken);
    assert_true(stop_events_runs(&stops, 2));
    check(&taken, "[" STARTED("2") "," STOPPED("2") "]");
    assert_int_equal(stop_events_last(&stops)->thread, 3);
    stop_events_take(&stops, 0, true, &taken);
    assert_false(stop_events_any(&stops));
    assert_int_equal(stops.count, 4);
    check(&taken, "[" STARTED("2") "," STARTED("1") "," STARTED("3") "," STOPPED("2") "," STOPPED(
                      "1") "," STOPPED("3") "]");
    feed(&stops, EXITED("1"));
    assert_false(stop_events_runs(&stops, 1));
    stop_events_clear(&stops);
    stop_events_clear(&taken);
}

static void continued_events(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int64_t last; /* 0: none */
    } cases[] = {
        {"{\"threadId\":2,\"allThreadsContinued\":false}", 1},
        {"{\"threadId\":1,\"allThreadsContinued\":false}", 2},
        {"{\"threadId\":9,\"allThreadsContinued\":false}", 2},
        {"{\"threadId\":2,\"allThreadsContinued\":true}", 0},
        {"{\"threadId\":9,\"allThreadsContinued\":true}", 0},
        {"{\"threadId\":1}", 0}, /* DAP: missing means all */
        {"{\"threadId\":1,\"allThreadsContinued\":null}", 0},
        {"{\"allThreadsContinued\":true}", 2}, /* DAP: threadId is required */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stop_events stops = {0};
        char event[200];
        snprintf(event, sizeof event, EVENT("continued", "%s"), cases[i].body);
        feed(&stops, STOPPED("1"));
        feed(&stops, STOPPED("2"));
        feed(&stops, event);
        const struct stop *last = stop_events_last(&stops);
        if ((last ? last->thread : 0) != cases[i].last)
            fail_msg("%s: the last stop is another", event);
        assert_int_equal(stops.count, 2);
        stop_events_clear(&stops);
    }
}

static void threads_start_and_exit(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    feed(&stops, EVENT("thread", "{\"threadId\":4,\"reason\":\"started\"}"));
    assert_false(stop_events_any(&stops));
    feed(&stops, STOPPED("5"));
    feed(&stops, EVENT("thread", "{\"threadId\":4,\"reason\":\"started\"}"));
    feed(&stops, EVENT("thread", "{\"threadId\":5}")); /* known: it stays stopped */
    check(&stops, "[" STARTED("4") "," STARTED("5") "," STOPPED("5") "]");
    feed(&stops, EXITED("6"));
    assert_int_equal(stops.count, 2);
    feed(&stops, EXITED("5"));
    assert_false(stop_events_any(&stops));
    check(&stops, "[" STARTED("4") "]");
    feed(&stops, EXITED("4"));
    check(&stops, "[]");
    stop_events_clear(&stops);
}

static void terminated_forgets_all(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    feed(&stops, STOPPED("1"));
    feed(&stops, "{\"seq\":1,\"type\":\"event\",\"event\":\"terminated\"}");
    assert_int_equal(stops.count, 0);
    check(&stops, "[]");
    feed(&stops, STOPPED("2"));
    check(&stops, "[" STARTED("2") "," STOPPED("2") "]");
    stop_events_clear(&stops);
}

static void other_events_change_nothing(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    feed(&stops, STOPPED("1"));
    static const char *const others[] = {
        EVENT("output", "{\"threadId\":1,\"output\":\"stopped\"}"),
        EVENT("exited", "{\"exitCode\":0}"),
        EVENT("Stopped", "{\"threadId\":2}"),
        EVENT("stopped", "{\"reason\":\"pause\"}"),
        EVENT("stopped", "{\"threadId\":\"2\"}"),
        EVENT("stopped", "{\"threadId\":2.5}"),
        EVENT("stopped", "[{\"threadId\":2}]"),
        EVENT("stopped", "null"),
        EVENT("continued", "{\"threadId\":null}"),
        EVENT("thread", "{\"reason\":\"exited\"}"),
        "{\"seq\":1,\"type\":\"event\",\"event\":\"stopped\"}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        feed(&stops, others[i]);
        check(&stops, "[" STARTED("1") "," STOPPED("1") "]");
    }
    stop_events_clear(&stops);
}

static void ids_of_64_bits(void **state)
{
    (void)state;
    struct stop_events stops = {0};
    feed(&stops, STOPPED(MOST));
    feed(&stops, STOPPED(LEAST));
    feed(&stops, EXITED("9223372036854775806"));
    check(&stops, "[" STARTED(MOST) "," STARTED(LEAST) "," STOPPED(MOST) "," STOPPED(LEAST) "]");
    stop_events_clear(&stops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_at_first),        cmocka_unit_test(a_stop_is_kept_as_it_came),
        cmocka_unit_test(the_latest_stop_is_last), cmocka_unit_test(answers_resume),
        cmocka_unit_test(continued_events),        cmocka_unit_test(threads_start_and_exit),
        cmocka_unit_test(terminated_forgets_all),  cmocka_unit_test(other_events_change_nothing),
        cmocka_unit_test(ids_of_64_bits),          cmocka_unit_test(stops_are_taken),
    };
    return cmocka_run_group_tests_name("stops", tests, NULL, NULL);
}
