/* What debugpy must not get, as it is or now. */
#include "cmocka_prelude.h"

#include "relay/debuggee/request_guards.h"

#include <string.h>

static const char *check(const struct stopped_threads *stopped, const char *json)
{
    struct envelope envelope;
    const char *problem;
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    return request_guards_refusal(stopped, json, &envelope);
}

#define REQUEST(name, arguments)                                                                   \
    "{\"seq\":1,\"type\":\"request\",\"command\":\"" name "\",\"arguments\":" arguments "}"

static void test_running_threads_are_left_alone(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    stopped_threads_add(&set, 4);
    assert_null(check(&set, REQUEST("next", "{\"threadId\":4}")));
    assert_null(check(&set, REQUEST("exceptionInfo", "{\"threadId\":4}")));
    assert_null(check(&set, REQUEST("stackTrace", "{\"threadId\":4}")));
    assert_null(check(&set, REQUEST("raydbg/stepIntoRemote", "{\"threadId\":4}")));
    assert_non_null(check(&set, REQUEST("raydbg/stepIntoRemote", "{\"threadId\":5}")));
    assert_non_null(check(&set, REQUEST("raydbg/stepOutToGet", "{}")));
    assert_non_null(check(&set, REQUEST("next", "{\"threadId\":5}")));
    assert_non_null(check(&set, REQUEST("stepIn", "{\"threadId\":null}")));
    assert_non_null(check(&set, REQUEST("stepOut", "{\"threadId\":\"4\"}")));
    assert_non_null(check(&set, REQUEST("stackTrace", "{}")));
    assert_non_null(check(&set, REQUEST("exceptionInfo", "null")));
    assert_non_null(check(&set, "{\"seq\":1,\"type\":\"request\",\"command\":\"next\"}"));
    stopped_threads_clear(&set);
}

static void test_breakpoints_that_end_pydevd(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    static const char *const bad[] = {
        REQUEST("setBreakpoints", "{}"),
        REQUEST("setBreakpoints", "null"),
        REQUEST("setBreakpoints", "{\"source\":null}"),
        REQUEST("setBreakpoints", "{\"source\":{\"sourceReference\":3,\"name\":\"x\"}}"),
        REQUEST("setBreakpoints", "{\"source\":{\"path\":7}}"),
        REQUEST("setBreakpoints", "{\"source\":{\"path\":\"\"}}"),
        REQUEST("setBreakpoints", "{\"source\":{\"path\":\"/a\"},\"breakpoints\":{}}"),
        REQUEST("setBreakpoints", "{\"source\":{\"path\":\"/a\"},\"breakpoints\":[{}]}"),
        REQUEST("setBreakpoints", "{\"source\":{\"path\":\"/a\"},\"breakpoints\":[7]}"),
        REQUEST("setBreakpoints",
                "{\"source\":{\"path\":\"/a\"},\"breakpoints\":[{\"line\":1},{\"line\":null}]}"),
        REQUEST("setBreakpoints",
                "{\"source\":{\"path\":\"/a\"},\"breakpoints\":[{\"line\":\"3\"}]}"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_non_null(check(&set, bad[i]));
    assert_null(check(&set, REQUEST("setBreakpoints", "{\"source\":{\"path\":\"/a\"}}")));
    assert_null(
        check(&set, REQUEST("setBreakpoints", "{\"source\":{\"path\":\"/a\"},\"breakpoints\":["
                                              "{\"line\":3,\"condition\":\"x\"}]}")));
}

/* debugpy's adapter reads nothing after a message above 0xFFFFFF bytes, and the relay's own `seq`
 * may be longer than the client's. */
static void test_the_largest_request(void **state)
{
    (void)state;
    enum { MOST = 0xFFFFFF, SEQ = 20 };
    assert_null(request_guards_size_refusal(0));
    assert_null(request_guards_size_refusal(MOST - 64));
    assert_non_null(request_guards_size_refusal(MOST - SEQ));
    assert_non_null(request_guards_size_refusal(MOST));
    assert_non_null(request_guards_size_refusal(MOST + 1));
}

static void test_the_rest_passes(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    assert_null(check(&set, REQUEST("evaluate", "{}")));
    assert_null(check(&set, REQUEST("pause", "{\"threadId\":1}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_threads_are_left_alone),
        cmocka_unit_test(test_breakpoints_that_end_pydevd),
        cmocka_unit_test(test_the_largest_request),
        cmocka_unit_test(test_the_rest_passes),
    };
    return cmocka_run_group_tests_name("guards", tests, NULL, NULL);
}
