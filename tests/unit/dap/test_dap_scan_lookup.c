/* Finding and reading the values whose spans the scanner gives. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "dap/scan.h"

#include <stdlib.h>
#include <string.h>

static struct span span_of(const char *text)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, text, strlen(text));
    assert_true(scan_value(&scan, &value));
    return value;
}

static void assert_span(const char *text, struct span span, const char *expected)
{
    char *got = mem_string_n(text + span.at, span.len);
    assert_string_equal(got, expected);
    free(got);
}

static void test_members(void **state)
{
    (void)state;
    static const char text[] = " x{ \"a\" : 1 , \"b,}\":[1,{\"c\":2}],\"\":\"}\" } tail";
    struct span object = {2, strlen(text) - 2 - 5}, key, value;
    size_t cursor = 0;
    assert_true(scan_member(text, object, &cursor, &key, &value));
    assert_span(text, key, "\"a\"");
    assert_span(text, value, "1");
    assert_true(scan_member(text, object, &cursor, &key, &value));
    assert_span(text, key, "\"b,}\"");
    assert_span(text, value, "[1,{\"c\":2}]");
    assert_true(scan_member(text, object, &cursor, &key, &value));
    assert_span(text, key, "\"\"");
    assert_span(text, value, "\"}\"");
    assert_false(scan_member(text, object, &cursor, &key, &value));
    assert_false(scan_member(text, object, &cursor, &key, &value));
}

static void test_elements(void **state)
{
    (void)state;
    static const char text[] = "[[1,2], \"]\" ,{}]";
    static const char *const expected[] = {"[1,2]", "\"]\"", "{}"};
    struct span value;
    size_t cursor = 0;
    for (size_t i = 0; i < 3; i++) {
        assert_true(scan_element(text, span_of(text), &cursor, &value));
        assert_span(text, value, expected[i]);
    }
    assert_false(scan_element(text, span_of(text), &cursor, &value));
    assert_false(scan_element(text, span_of(text), &cursor, &value));
}

static void test_iterating_what_is_no_container(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}", "[]", "1", "\"{\"", "null"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct span key, value;
        size_t cursor = 0;
        assert_false(scan_member(texts[i], span_of(texts[i]), &cursor, &key, &value));
        cursor = 0;
        assert_false(scan_element(texts[i], span_of(texts[i]), &cursor, &value));
    }
    struct span none = {0, 0}, key, value;
    size_t cursor = 0;
    assert_false(scan_member("{\"a\":1}", none, &cursor, &key, &value));
    cursor = 0;
    assert_false(scan_element("[1]", none, &cursor, &value));
    cursor = 0;
    assert_false(scan_element("{\"a\":1}", span_of("{\"a\":1}"), &cursor, &value));
    cursor = 0;
    assert_false(scan_member("[1]", span_of("[1]"), &cursor, &key, &value));
}

static void test_find(void **state)
{
    (void)state;
    static const char text[] =
        "{\"x\":{\"seq\":9},\"\\u0073eq\":1,\"y\":[{\"seq\":8}],\"s\\u0065q\":2,"
        "\"seq \":3,\"Seq\":4,\"se\":5,\"seq\\u0000\":6,\"z\":\"seq\"}";
    struct span value;
    assert_true(scan_find(text, span_of(text), "seq", &value));
    assert_span(text, value, "2");
    assert_true(scan_find(text, span_of(text), "seq ", &value));
    assert_span(text, value, "3");
    assert_false(scan_find(text, span_of(text), "", &value));
    assert_false(scan_find(text, span_of(text), "q", &value));
    assert_false(scan_find("[\"seq\",1]", span_of("[\"seq\",1]"), "seq", &value));
    assert_false(scan_find("\"seq\"", span_of("\"seq\""), "seq", &value));
}

static void test_path(void **state)
{
    (void)state;
    static const char text[] =
        "{\"body\":{\"threadId\":7,\"a\":{\"b\":{\"c\":[1]}}},\"threadId\":8}";
    struct span value;
    assert_true(scan_path(text, span_of(text), "body/threadId", &value));
    assert_span(text, value, "7");
    assert_true(scan_path(text, span_of(text), "body/a/b/c", &value));
    assert_span(text, value, "[1]");
    assert_true(scan_path(text, span_of(text), "threadId", &value));
    assert_span(text, value, "8");
    assert_false(scan_path(text, span_of(text), "body/nothing", &value));
    assert_false(scan_path(text, span_of(text), "body/threadId/x", &value));
    assert_false(scan_path(text, span_of(text), "nothing/threadId", &value));
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } ints[] = {
        {"0", 0},
        {"-0", 0},
        {"-1", -1},
        {"9007199254740993", 9007199254740993},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"1.0", 1},
        {"-12.00", -12},
        {"1e0", 1},
        {"1e2", 100},
        {"1.2e1", 12},
        {"1.20E+1", 12},
        {"120.0e-1", 12},
        {"0.012e3", 12},
        {"0.0", 0},
        {"-0.0e-7", 0},
        {"0e99999999999", 0},
        {"9.223372036854775807e18", INT64_MAX},
        {"-9223372036854775808.0", INT64_MIN},
    };
    static const char *const others[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
        "1.5",
        "1e-1",
        "12.01e1",
        "9223372036854775808.0",
        "1e19",
        "1e-99999999999",
        "\"1\"",
        "true",
        "null",
        "[1]",
        "{}",
        "NaN",
        "Infinity",
        "-Infinity",
        "1E400",
    };
    int64_t got;
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        assert_true(scan_integer(ints[i].text, span_of(ints[i].text), &got));
        assert_true(got == ints[i].value);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (scan_integer(others[i], span_of(others[i]), &got))
            fail_msg("an integer: %s", others[i]);
    static const char *const malformed[] = {"1.",   ".5",    "1e",    "1e+",
                                            "1.e1", "1.0.0", "1e1e1", "1x"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_false(scan_integer(malformed[i], (struct span){0, strlen(malformed[i])}, &got));
    assert_false(scan_integer("1", (struct span){0, 0}, &got));
    /* The span ends the number, not the text. */
    assert_true(scan_integer("1234", (struct span){1, 2}, &got));
    assert_int_equal(got, 23);
}

static void test_booleans(void **state)
{
    (void)state;
    bool got = false;
    assert_true(scan_boolean("true", span_of("true"), &got));
    assert_true(got);
    assert_true(scan_boolean("false", span_of("false"), &got));
    assert_false(got);
    got = true; /* a value of another type leaves it as it is */
    assert_false(scan_boolean("\"true\"", span_of("\"true\""), &got));
    assert_false(scan_boolean("1", span_of("1"), &got));
    assert_false(scan_boolean("null", span_of("null"), &got));
    assert_false(scan_boolean("true", (struct span){0, 0}, &got));
    assert_false(scan_boolean_at("{\"a\":null}", span_of("{\"a\":null}"), "a", &got));
    assert_true(got);
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xC3\xA9\xE2\x82\xAC"},
        {"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80"},
        {"\"\\udbff\\udfff\"", "\xF4\x8F\xBF\xBF"},
        {"\"x\\ud800y\"", "x\xEF\xBF\xBDy"},
        {"\"\\ud800\\ud800\\udc00\"", "\xEF\xBF\xBD\xF0\x90\x80\x80"},
        {"\"\\udc00\\ud800\"", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\"\\ud800\\n\"", "\xEF\xBF\xBD\n"},
        {"\"\\ud800\\u0041\"", "\xEF\xBF\xBD"
                               "A"},
        {"\"\\ud800u\"", "\xEF\xBF\xBDu"},
        {"\"a\\u0000b\"", "a\xEF\xBF\xBD"
                          "b"},
        {"\"\xff\\\\\"", "\xff\\"},
        {"\"\\\\u0041\"", "\\u0041"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = scan_string(cases[i].text, span_of(cases[i].text));
        assert_string_equal(got, cases[i].value);
        free(got);
        assert_true(scan_string_is(cases[i].text, span_of(cases[i].text), cases[i].value));
        assert_false(scan_string_is(cases[i].text, span_of(cases[i].text), "other"));
    }
    assert_null(scan_string("12", span_of("12")));
    assert_null(scan_string("null", span_of("null")));
    assert_null(scan_string("\"a\"", (struct span){0, 0}));
    assert_false(scan_string_is("12", span_of("12"), "12"));
    assert_false(scan_string_is("\"ab\"", span_of("\"ab\""), "a"));
    assert_false(scan_string_is("\"a\"", span_of("\"a\""), "ab"));
}

/* "continue" and a raw NUL is not "continue": C strings must not hide what follows. */
static void test_a_raw_nul_does_not_end_a_string(void **state)
{
    (void)state;
    static const char text[] = "\"continue\0x\"";
    struct span value = {0, sizeof text - 1};
    assert_false(scan_string_is(text, value, "continue"));
    char *got = scan_string(text, value);
    assert_string_equal(got, "continue\xEF\xBF\xBDx");
    free(got);
    static const char escaped[] = "\"\\u0063\0\"";
    got = scan_string(escaped, (struct span){0, sizeof escaped - 1});
    assert_string_equal(got, "c\xEF\xBF\xBD");
    free(got);
}

static void test_values_at_a_path(void **state)
{
    static const char text[] =
        "{\"a\":{\"b\":{\"n\":7,\"s\":\"\\u0041\",\"t\":true}},\"a/b\":1,\"n\":-3,\"s\":4}";
    struct span all = {0, strlen(text)}, none = {0, 0}, value;
    int64_t number = 99;
    bool truth = false;
    (void)state;
    assert_true(scan_integer_at(text, all, "a/b/n", &number));
    assert_int_equal(number, 7);
    assert_true(scan_integer_at(text, all, "n", &number));
    assert_int_equal(number, -3);
    assert_int_equal(scan_count_at(text, all, "a/b/n"), 7);
    assert_int_equal(scan_count_at(text, all, "n"), 0);
    assert_int_equal(scan_count_at(text, all, "a"), 0);
    assert_true(scan_boolean_at(text, all, "a/b/t", &truth));
    assert_true(truth);
    char *string = scan_string_at(text, all, "a/b/s");
    assert_string_equal(string, "A");
    free(string);
    static const char *const missing[] = {"", "a/c", "a/b/c", "b", "n/b", "a/b/n/x", "/a", "a/"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        assert_false(scan_path(text, all, missing[i], &value));
        assert_false(scan_integer_at(text, all, missing[i], &number));
        assert_null(scan_string_at(text, all, missing[i]));
    }
    assert_false(scan_integer_at(text, all, "s/x", &number));
    assert_false(scan_integer_at(text, all, "a", &number)); /* of another type */
    assert_null(scan_string_at(text, all, "s"));
    assert_false(scan_integer_at(text, none, "n", &number));
    assert_null(scan_string_at(text, none, "s"));
    assert_int_equal(number, -3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_iterating_what_is_no_container),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_booleans),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_a_raw_nul_does_not_end_a_string),
        cmocka_unit_test(test_values_at_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
