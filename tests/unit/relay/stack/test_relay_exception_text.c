/* pydevd's note is cut from exception names; every other byte stays. */
#include "cmocka_prelude.h"

#include "relay/stack/exception_text.h"

#include <string.h>

static bool clean(const char *json, struct buf *out)
{
    struct envelope envelope;
    const char *problem;
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    return exception_text_clean(json, strlen(json), &envelope, out);
}

#define NOTE "       (note: full exception trace is shown but execution is paused at: <module>)"

static void test_a_stopped_event(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_true(
        clean("{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"reason\": \"exception\","
              "\"text\":\"ValueError" NOTE "\",\"threadId\":1}}",
              &out));
    assert_string_equal(out.data, "{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"reason\": "
                                  "\"exception\",\"text\":\"ValueError\",\"threadId\":1}}");
    buf_free(&out);
}

#define INFO(name, type)                                                                           \
    "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"exceptionInfo\","     \
    "\"body\":{\"details\":{\"message\":\"x" NOTE "\",\"typeName\":\"" type                        \
    "\"},\"exceptionId\":\"" name "\"}}"

static void test_an_exception_info_in_any_order(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_true(clean(INFO("KeyError" NOTE, "KeyError" NOTE), &out));
    assert_string_equal(out.data, INFO("KeyError", "KeyError"));
    buf_free(&out);
}

#define TEXT(description, message)                                                                 \
    "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"exceptionInfo\","     \
    "\"body\":{\"exceptionId\":\"AssertionError\",\"details\":{\"message\":\"" message             \
    "\"},\"description\":\"" description "\"}}"
#define NONE "exception: no description"

static void test_an_exception_without_text(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_true(clean(TEXT(NONE, NONE), &out));
    assert_string_equal(out.data, TEXT("", ""));
    buf_free(&out);
    assert_true(
        clean("{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"reason\":\"exception\","
              "\"description\":\"" NONE "\",\"text\":\"AssertionError" NOTE "\"}}",
              &out));
    assert_string_equal(
        out.data, "{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"reason\":\"exception\","
                  "\"description\":\"\",\"text\":\"AssertionError\"}}");
    buf_free(&out);
    assert_false(clean(TEXT("an " NONE, NONE "s"), &out));
}

static void test_nothing_to_clean(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_false(clean(INFO("KeyError", "KeyError"), &out));
    assert_false(
        clean("{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"text\":null}}", &out));
    assert_false(clean("{\"type\":\"event\",\"event\":\"stopped\"}", &out));
    assert_int_equal(out.len, 0);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stopped_event),
        cmocka_unit_test(test_an_exception_info_in_any_order),
        cmocka_unit_test(test_an_exception_without_text),
        cmocka_unit_test(test_nothing_to_clean),
    };
    return cmocka_run_group_tests_name("exceptions", tests, NULL, NULL);
}
