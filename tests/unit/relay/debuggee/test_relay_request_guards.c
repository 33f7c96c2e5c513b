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

/* tests/agent/test_requests.py tries each of them with a real debugpy. */
static void test_what_pydevd_cannot_digest(void **state)
{
    (void)state;
    struct stopped_threads set = {0};
    stopped_threads_add(&set, 4);
#define MAP "{\"line\":1,\"endLine\":1,\"runtimeLine\":1,\"runtimeSource\":{\"path\":\"<x>\"}}"
#define FILE_A "\"source\":{\"path\":\"/a\"}"
    static const char *const bad[] = {
        REQUEST("completions", "{\"text\":null,\"column\":1}"),
        REQUEST("completions", "{\"text\":\"\",\"column\":1.5}"),
        REQUEST("completions", "{\"text\":\"\",\"column\":null}"),
        REQUEST("completions", "{\"text\":\"\",\"column\":1,\"line\":\"1\"}"),
        REQUEST("evaluate", "{\"expression\":null}"),
        REQUEST("evaluate", "{\"expression\":\"1\",\"expression\":[]}"),
        REQUEST("goto", "{\"threadId\":4,\"targetId\":\"x\"}"),
        REQUEST("gotoTargets", "{\"source\":{\"path\":[]},\"line\":1}"),
        REQUEST("gotoTargets", "{\"source\":{\"path\":\"/a\"},\"line\":[]}"),
        REQUEST("setBreakpoints", "{" FILE_A ",\"breakpoints\":[{\"line\":1,\"hitCondition\":1}]}"),
        REQUEST("setBreakpoints", "{" FILE_A ",\"breakpoints\":[{\"line\":1,\"logMessage\":1}]}"),
        REQUEST("setBreakpoints", "{" FILE_A ",\"breakpoints\":[{\"line\":1,\"condition\":1}]}"),
        REQUEST("setBreakpoints", "{\"source\":{\"path\":\"/\\u0000\"}}"),
        REQUEST("setBreakpoints", "{\"source\":{\"path\":\"/\\ud800\"}}"),
        REQUEST("setDebuggerProperty", "{\"ideOS\":\"unix\"}"),
        REQUEST("setDebuggerProperty", "{\"dontTraceStartPatterns\":[\"\"]}"),
        REQUEST("setDebuggerProperty", "{\"dontTraceEndPatterns\":[7]}"),
        REQUEST("setDebuggerProperty", "{\"skipSuspendOnBreakpointException\":[\"x\"]}"),
        REQUEST("setDebuggerProperty", "{\"skipPrintBreakpointException\":\"ValueError\"}"),
        REQUEST("setExceptionBreakpoints", "{\"exceptionOptions\":[{}]}"),
        REQUEST("setExceptionBreakpoints",
                "{\"exceptionOptions\":[{\"breakMode\":\"never\",\"path\":[{}]}]}"),
        REQUEST("setExpression", "{\"expression\":7,\"value\":\"1\"}"),
        REQUEST("setExpression", "{\"expression\":\"a\",\"value\":null}"),
        REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[{}]}"),
        REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[{\"name\":[]}]}"),
        REQUEST("setPydevdSourceMap", "{" FILE_A "}"),
        REQUEST("setPydevdSourceMap", "{\"pydevdSourceMaps\":[]}"),
        REQUEST("setPydevdSourceMap", "{" FILE_A ",\"pydevdSourceMaps\":[{}]}"),
        REQUEST("setVariable", "{\"name\":null,\"value\":\"1\"}"),
        REQUEST("setVariable", "{\"name\":\"a\",\"value\":1}"),
        REQUEST("scopes", "{\"frameId\":null}"),
        REQUEST("source", "{\"sourceReference\":null}"),
        REQUEST("stackTrace", "{\"threadId\":4,\"startFrame\":\"x\"}"),
        REQUEST("stackTrace", "{\"threadId\":4,\"levels\":[]}"),
        REQUEST("stepIn", "{\"threadId\":4,\"targetId\":[]}"),
    };
    static const char *const good[] = {
        REQUEST("completions", "{\"text\":\"\",\"column\":1,\"line\":null,\"frameId\":null}"),
        REQUEST("completions", "{}"),
        REQUEST("evaluate", "{\"expression\":\"1\",\"context\":7}"),
        REQUEST("goto", "{\"threadId\":4,\"targetId\":1}"),
        REQUEST("setBreakpoints", "{" FILE_A ",\"breakpoints\":null}"),
        REQUEST("setBreakpoints",
                "{" FILE_A ",\"breakpoints\":[{\"line\":1,\"condition\":null,\"x\":[]}]}"),
        REQUEST("setDebuggerProperty",
                "{\"ideOS\":\"UNIX\",\"skipPrintBreakpointException\":[\"NameError\"]}"),
        REQUEST("setExceptionBreakpoints",
                "{\"filters\":[],\"exceptionOptions\":[{\"breakMode\":\"never\",\"path\":["
                "{\"names\":[\"x\"]}]}]}"),
        REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[{\"name\":\"f\"}]}"),
        REQUEST("setPydevdSourceMap", "{" FILE_A ",\"pydevdSourceMaps\":[" MAP "]}"),
        REQUEST("source", "{\"sourceReference\":0}"),
        REQUEST("stackTrace", "{\"threadId\":4,\"startFrame\":null,\"levels\":0}"),
        REQUEST("stepIn", "{\"threadId\":4,\"targetId\":null}"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!check(&set, bad[i]))
            fail_msg("%s", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (check(&set, good[i]))
            fail_msg("%s: %s", good[i], check(&set, good[i]));
    stopped_threads_clear(&set);
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
        cmocka_unit_test(test_what_pydevd_cannot_digest),
        cmocka_unit_test(test_the_largest_request),
        cmocka_unit_test(test_the_rest_passes),
    };
    return cmocka_run_group_tests_name("guards", tests, NULL, NULL);
}
