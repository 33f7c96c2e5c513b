/* What a session promises is what it can do. */
#include "cmocka_prelude.h"

#include "dap/capabilities.h"
#include "dap/rules.h"

#include <string.h>

static void assert_filters(const char *before, const char *after)
{
    struct buf out = {0};
    capabilities_filter(before, (struct span){0, strlen(before)}, &out);
    assert_string_equal(out.data, after);
    buf_free(&out);
}

static void test_the_default(void **state)
{
    (void)state;
    const char *text = capabilities_default();
    const char *problem;
    struct span value, filter, whole = {0, strlen(text)};
    assert_true(scan_strict(text, whole.len, &problem));
    static const char *const expected[] = {
        "supportsConfigurationDoneRequest", "supportsConditionalBreakpoints",
        "supportsEvaluateForHovers",        "supportsSetVariable",
        "supportsCompletionsRequest",       "supportsExceptionInfoRequest",
        "supportsTerminateRequest",         "supportsLogPoints",
        "supportsGotoTargetsRequest",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        bool on = false;
        assert_true(scan_find(text, whole, expected[i], &value));
        assert_true(scan_boolean(text, value, &on) && on);
    }
    static const char *const names[] = {"raised", "uncaught", "userUnhandled"};
    size_t cursor = 0;
    assert_true(scan_find(text, whole, "exceptionBreakpointFilters", &value));
    for (size_t i = 0; i < 3; i++) {
        struct span name;
        assert_true(scan_element(text, value, &cursor, &filter));
        assert_true(scan_find(text, filter, "filter", &name));
        assert_true(scan_string_is(text, name, names[i]));
    }
    assert_false(scan_element(text, value, &cursor, &filter));
    /* Nothing in it needs a command that is held back. */
    assert_filters(text, text);
}

static void test_what_an_adapter_has_not_is_withdrawn(void **state)
{
    (void)state;
    struct buf same = {0}, less = {0};
    struct span value;
    bool on = true;
    buf_add_string(&same, capabilities_default());
    capabilities_withdraw(&same);
    assert_string_equal(same.data, capabilities_default());
    buf_add_string(&less, "{\"supportsLogPoints\": true, \"supportsSetVariable\": false}");
    capabilities_withdraw(&less);
    struct span whole = {0, less.len};
    assert_true(scan_find(less.data, whole, "supportsTerminateDebuggee", &value));
    assert_true(scan_boolean(less.data, value, &on) && !on);
    assert_true(scan_find(less.data, whole, "supportsLogPoints", &value));
    assert_true(scan_boolean(less.data, value, &on) && on);
    assert_false(scan_find(less.data, whole, "exceptionBreakpointFilters", &value));
    assert_false(scan_find(less.data, whole, "supportsConfigurationDoneRequest", &value));
    assert_int_equal(less.data[less.len - 1], '}');
    buf_free(&same);
    buf_free(&less);
}

static void test_all_is_withdrawn_from_an_adapter_without_any(void **state)
{
    (void)state;
    static const char *const empty[] = {"{}", "{ }", "{\r\n}"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct buf object = {0};
        struct scan scan;
        struct span whole, value;
        bool on = true;
        buf_add_string(&object, empty[i]);
        capabilities_withdraw(&object);
        scan_init(&scan, object.data, object.len);
        assert_true(scan_value(&scan, &whole));
        assert_int_equal(whole.len, object.len);
        assert_true(scan_find(object.data, whole, "supportsTerminateDebuggee", &value));
        assert_true(scan_boolean(object.data, value, &on) && !on);
        buf_free(&object);
    }
}

/* By the names that DAP gives: supports<Command>Request, and those that break the pattern. */
static void test_refused_commands_are_not_promised(void **state)
{
    (void)state;
    assert_filters("{\"supportsRestartFrame\":true}", "{\"supportsRestartFrame\":false}");
    assert_filters("{\"supportsDelayedStackTraceLoading\":true}",
                   "{\"supportsDelayedStackTraceLoading\":false}");
    static const char *const names[] = {
        "supportsBreakpointLocationsRequest",
        "supportsCancelRequest",
        "supportsDataBreakpoints",
        "supportsDataBreakpointBytes",
        "supportsDisassembleRequest",
        "supportsInstructionBreakpoints",
        "supportsLoadedSourcesRequest",
        "supportsReadMemoryRequest",
        "supportsRestartFrame",
        "supportsStepBack",
        "supportsTerminateThreadsRequest",
        "supportsWriteMemoryRequest",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf before = {0}, after = {0};
        buf_printf(&before, "{ \"a\":1, \"%s\" : true , \"b\":[true]}", names[i]);
        buf_printf(&after, "{ \"a\":1, \"%s\" : false , \"b\":[true]}", names[i]);
        assert_filters(before.data, after.data);
        assert_null(strstr(capabilities_default(), names[i]));
        buf_free(&before);
        buf_free(&after);
    }
}

static void test_the_rest_stays_as_it_is(void **state)
{
    (void)state;
    static const char text[] = "{\"new\":{\"supportsStepBack\":true},\"big\":9007199254740993,"
                               "\"supportsSetVariable\":true,\"s\":\"\\ud800\",\"x\":NaN }";
    assert_filters(text, text);
    assert_filters("{}", "{}");
}

static void test_duplicates_and_escapes_do_not_get_through(void **state)
{
    (void)state;
    assert_filters("{\"supportsStepBack\":false,\"supportsStep\\u0042ack\":true,"
                   "\"supportsStepBack\":1}",
                   "{\"supportsStepBack\":false,\"supportsStep\\u0042ack\":false,"
                   "\"supportsStepBack\":false}");
}

static void test_no_object_promises_nothing(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_filters("null", "{}");
    assert_filters("[]", "{}");
    capabilities_filter("{\"a\":1}", (struct span){0, 0}, &out);
    assert_string_equal(out.data, "{}");
    buf_free(&out);
}

static void test_a_span_within_a_message(void **state)
{
    (void)state;
    static const char text[] = "{\"body\":{\"supportsStepBack\":true,\"a\":1},\"seq\":1}";
    struct buf out = {0};
    capabilities_filter(text, (struct span){8, 31}, &out);
    assert_string_equal(out.data, "{\"supportsStepBack\":false,\"a\":1}");
    buf_free(&out);
}

static bool will_launch(const char *json)
{
    return capabilities_will_launch(json, (struct span){0, strlen(json)});
}

static void test_who_launches_has_one_filter_more(void **state)
{
    (void)state;
    static const char rest[] = ", \"supportsStepInTargetsRequest\": true";
    const char *text = capabilities_default(), *problem;
    const char *filter = capabilities_launch_filter();
    struct buf out = {0};
    capabilities_for_launch(&out);
    assert_int_equal(out.len, strlen(text) - 1 + strlen(", ") + strlen(filter));
    assert_string_equal(out.data + out.len - strlen(rest), rest);
    assert_non_null(strstr(out.data, filter));
    buf_add_string(&out, "}");
    assert_true(scan_strict(out.data, out.len, &problem));
    assert_true(scan_strict(filter, strlen(filter), &problem));
    buf_free(&out);
    assert_true(will_launch("{\"supportsRaydbgLaunch\":true}"));
    assert_false(will_launch("{\"supportsRaydbgLaunch\":false}"));
    assert_false(will_launch("{\"supportsRaydbgLaunch\":1}"));
    assert_false(will_launch("{}"));
    assert_false(will_launch(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_default),
        cmocka_unit_test(test_who_launches_has_one_filter_more),
        cmocka_unit_test(test_what_an_adapter_has_not_is_withdrawn),
        cmocka_unit_test(test_all_is_withdrawn_from_an_adapter_without_any),
        cmocka_unit_test(test_refused_commands_are_not_promised),
        cmocka_unit_test(test_the_rest_stays_as_it_is),
        cmocka_unit_test(test_duplicates_and_escapes_do_not_get_through),
        cmocka_unit_test(test_no_object_promises_nothing),
        cmocka_unit_test(test_a_span_within_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
