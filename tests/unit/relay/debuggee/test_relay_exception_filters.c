/* `uncaught` is among the exception filters, every other byte stays. */
#include "cmocka_prelude.h"

#include "relay/debuggee/exception_filters.h"

#include <string.h>

static const char *add(const char *json, struct buf *out)
{
    struct envelope envelope;
    const char *problem;
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    return exception_filters_add_uncaught(json, strlen(json), &envelope, out);
}

#define REQUEST(arguments)                                                                         \
    "{\"seq\":1,\"type\":\"request\",\"command\":\"setExceptionBreakpoints\","                     \
    "\"arguments\":" arguments "}"

static void test_uncaught_is_added(void **state)
{
    (void)state;
    static const struct {
        const char *given, *expected;
    } cases[] = {
        {REQUEST("{\"filters\":[]}"), REQUEST("{\"filters\":[\"uncaught\"]}")},
        {REQUEST("{\"filters\":[ ]}"), REQUEST("{\"filters\":[\"uncaught\" ]}")},
        {REQUEST("{ \"filters\": [\"raised\" ] }"),
         REQUEST("{ \"filters\": [\"uncaught\",\"raised\" ] }")},
        {REQUEST("{\"filters\":[\"raised\",\"uncaught\"]}"),
         REQUEST("{\"filters\":[\"raised\",\"uncaught\"]}")},
        {REQUEST("{}"), REQUEST("{\"filters\":[\"uncaught\"]}")},
        {REQUEST("{\"exceptionOptions\":[1e400]}"),
         REQUEST("{\"filters\":[\"uncaught\"],\"exceptionOptions\":[1e400]}")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        assert_null(add(cases[i].given, &out));
        assert_string_equal(out.data, cases[i].expected);
        buf_free(&out);
    }
}

static void test_what_ends_pydevd_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        REQUEST("null"),
        REQUEST("[]"),
        REQUEST("{\"filters\":null}"),
        REQUEST("{\"filters\":\"uncaught\"}"),
        REQUEST("{\"filters\":[],\"filters\":7}"),
        "{\"seq\":1,\"type\":\"request\",\"command\":\"setExceptionBreakpoints\"}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        assert_non_null(add(cases[i], &out));
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uncaught_is_added),
        cmocka_unit_test(test_what_ends_pydevd_is_refused),
    };
    return cmocka_run_group_tests_name("filters", tests, NULL, NULL);
}
