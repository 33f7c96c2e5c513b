/* The JSON scanner: what it takes, what it refuses, and what it says of values. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "base/text.h"
#include "dap/scan.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One value and nothing behind it. Scans a copy that ends where the text does, so that the
 * sanitizers see a read beyond it. */
static bool accepts(const char *text, size_t len)
{
    struct scan scan;
    struct span value;
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    scan_init(&scan, copy, len);
    bool good = scan_value(&scan, &value) && scan_end(&scan);
    assert_true(scan.at <= len);
    free(copy);
    return good;
}

static const char *const good[] = {
    "{}",
    "[]",
    " { } ",
    "[ ]",
    "\t\r\n[1 , 2]\n",
    "{\"a\":1}",
    "{ \"a\" : [ { \"b\" : [ ] } , null ] , \"c\" : { } }",
    "[[[[]]],[]]",
    "{\"a\":{\"a\":{\"a\":1}},\"a\":2}",
    "true",
    "false",
    "null",
    "0",
    "-0",
    "-1",
    "10",
    "1.5",
    "1e400",
    "-1.25E+7",
    "1e-7",
    "0.0",
    "123456789012345678901234567890",
    "NaN",
    "Infinity",
    "-Infinity",
    "[NaN,-Infinity,Infinity]",
    "\"\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD800\"",
    "\"\\ud83d\\ude00\"",
    "\"\x01\x1f\t\n\x7f\"",
    "\"\xff\xfe\x80\"",
    "\"]}\"",
    "\"aaaaaaa\\\"bbbbbbbb\\\\\"",
};

static const char *const bad[] = {
    "",
    " ",
    "{",
    "[",
    "}",
    "]",
    "{]",
    "[}",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,\"a\":1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\" 1}",
    "{a:1}",
    "{1:1}",
    "{'a':1}",
    "{\"a\"::1}",
    "{}{}",
    "[] x",
    "1 1",
    "[1]]",
    "tru",
    "truE",
    "nul",
    "falsey",
    "None",
    "nan",
    "-NaN",
    "+1",
    "-",
    "01",
    "-01",
    "1.",
    ".5",
    "1e",
    "1e+",
    "1.e1",
    "0x10",
    "1_000",
    "--1",
    "+Infinity",
    "Infinit",
    "\"",
    "\"a",
    "\"a\\",
    "\"a\\\"",
    "\"\\x41\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u12g4\"",
    "\"\\u123",
    "\"\\U0041\"",
    "\xef\xbb\xbf{}",
    "// a\n{}",
    "\f{}",
};

static void test_what_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!accepts(good[i], strlen(good[i])))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (accepts(bad[i], strlen(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    assert_true(accepts("\"\0\"", 3));
    assert_true(accepts("\"\\\\\0\"", 5));
    assert_false(accepts("{}\0", 3));
    assert_false(accepts("\0", 1));
    assert_false(accepts("\"\\\0\"", 4));
}

/* Whatever ends early is refused, whatever is where in the eight bytes of a step. */
static void test_every_prefix_is_refused(void **state)
{
    (void)state;
    static const char text[] =
        "{\"seq\":1,\"b\\u00e9\":[true,{\"c\":\"x\\\"yyyyyyyyyyyyy\\\\\"},-1.5e3],"
        "\"longer than eight bytes\":null}";
    assert_true(accepts(text, sizeof text - 1));
    for (size_t len = 0; len < sizeof text - 1; len++)
        if (accepts(text, len))
            fail_msg("accepted: %.*s", (int)len, text);
}

static void test_problem_and_position(void **state)
{
    (void)state;
    struct scan scan;
    struct span value;
    scan_init(&scan, "[1,x]", 5);
    assert_false(scan_value(&scan, &value));
    assert_int_equal(scan.at, 3);
    assert_non_null(scan.problem);
    scan_init(&scan, "  12 ,", 6);
    assert_true(scan_value(&scan, &value));
    assert_int_equal(value.at, 2);
    assert_int_equal(value.len, 2);
    assert_false(scan_end(&scan));
}

static bool nested(size_t depth, char open, char close)
{
    struct buf text = {0};
    for (size_t i = 0; i < depth; i++)
        buf_add_string(&text, open == '{' && i + 1 < depth ? "{\"a\":" : open == '{' ? "{" : "[");
    for (size_t i = 0; i < depth; i++)
        buf_add(&text, &close, 1);
    bool accepted = accepts(text.data, text.len);
    buf_free(&text);
    return accepted;
}

static void test_depth_is_limited(void **state)
{
    (void)state;
    assert_true(nested(SCAN_DEPTH_LIMIT, '[', ']'));
    assert_true(nested(SCAN_DEPTH_LIMIT, '{', '}'));
    assert_false(nested(SCAN_DEPTH_LIMIT + 1, '[', ']'));
    assert_false(nested(SCAN_DEPTH_LIMIT + 1, '{', '}'));
    assert_false(nested(1000000, '[', ']'));
    /* Stepping into an object is one level too. */
    struct buf stepped = {0};
    struct span key, value;
    bool begun = false;
    buf_add_string(&stepped, "{\"a\":");
    for (int i = 0; i < SCAN_DEPTH_LIMIT; i++)
        buf_add_string(&stepped, "[");
    for (int i = 0; i < SCAN_DEPTH_LIMIT; i++)
        buf_add_string(&stepped, "]");
    struct scan scan;
    scan_init(&scan, stepped.data, stepped.len);
    assert_false(scan_step(&scan, &begun, &key, &value));
    assert_non_null(scan.problem);
    buf_free(&stepped);
    /* Width is not depth. */
    struct buf text = {0};
    buf_add_string(&text, "[[]");
    for (int i = 0; i < 2000; i++)
        buf_add_string(&text, ",[],{}");
    buf_add_string(&text, "]");
    assert_true(accepts(text.data, text.len));
    buf_free(&text);
}

static void test_step_reports_what_is_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",          "[]",         "1",           "{",         "{\"a\"", "{\"a\":",   "{\"a\":1",
        "{\"a\":1,", "{\"a\":1,}", "{\"a\":1 2}", "{\"a\":1]", "{1:2}",  "{\"a\":[}", "{,}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct scan scan;
        struct span key, value;
        bool begun = false;
        scan_init(&scan, texts[i], strlen(texts[i]));
        while (scan_step(&scan, &begun, &key, &value))
            continue;
        if (!scan.problem)
            fail_msg("no problem: %s", texts[i]);
    }
    struct scan scan;
    struct span key, value;
    bool begun = false;
    scan_init(&scan, " {\"a\":1} x", 10);
    assert_true(scan_step(&scan, &begun, &key, &value));
    assert_false(scan_step(&scan, &begun, &key, &value));
    assert_null(scan.problem);
    assert_int_equal(scan.at, 8);
}

static bool strict(const char *text)
{
    const char *problem;
    bool good_text = scan_strict(text, strlen(text), &problem);
    assert_true(good_text == (problem == NULL));
    return good_text;
}

static void test_what_python_reads(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "{\"a\":\"\\u0000\\ud800 \x7f \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\",\"b\":[NaN,1e400]}",
        "\"\xEF\xBF\xBF\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\xF0\x90\x80\x80\xE0\xA0\x80\"",
        "{\"a\":1}\r\n",
    };
    static const char *const wrong[] = {
        "\"a\tb\"",
        "\"a\nb\"",
        "\"\x01\"",
        "{\"\x1f\":1}",
        "\"\xff\"",
        "\"\x80\"",
        "\"\xC3\"",
        "\"\xC0\x80\"",
        "\"\xE0\x9F\x80\"",
        "\"\xED\xA0\x80\"",
        "\"\xF4\x90\x80\x80\"",
        "\"\xF0\x8F\x80\x80\"",
        "\"\xE2\x82\"",
        "\"\xC3\\u00e9\"",
        "\"\xF5\x80\x80\x80\"",
        "{} x",
        "{",
        "",
        "\"a\\\"\x01\"",
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (!strict(fine[i]))
            fail_msg("refused: %zu", i);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (strict(wrong[i]))
            fail_msg("accepted: %zu", i);
}

static void test_python_has_a_limit_for_integers(void **state)
{
    (void)state;
    char digits[SCAN_DIGITS_LIMIT + 16];
    memset(digits, '9', sizeof digits);
    digits[SCAN_DIGITS_LIMIT] = '\0';
    assert_true(strict(digits));
    digits[SCAN_DIGITS_LIMIT] = '9';
    digits[SCAN_DIGITS_LIMIT + 1] = '\0';
    assert_false(strict(digits));
    /* A float has none, and who only passes text on has none either. */
    digits[SCAN_DIGITS_LIMIT + 1] = '.';
    digits[SCAN_DIGITS_LIMIT + 3] = '\0';
    assert_true(strict(digits));
    assert_true(accepts(digits, SCAN_DIGITS_LIMIT + 1));
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t left, length;
    } cases[] = {
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\x7f", 1, 1},
        {"\xC3\xA9", 2, 2},
        {"\xC3\xA9", 1, 0},
        {"\xE2\x82\xAC", 3, 3},
        {"\xE2\x82\xAC", 2, 0},
        {"\xF0\x9F\x98\x80", 4, 4},
        {"\xF0\x9F\x98\x80", 3, 0},
        {"\x80", 1, 0},
        {"\xC1\xBF", 2, 0},
        {"\xC3\x28", 2, 0},
        {"\xE2\x82\x28", 3, 0},
        {"\xFE", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(text_utf8(cases[i].bytes, cases[i].left), cases[i].length);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void scan_20_mb(const char *name, const char *unit)
{
    enum { SIZE = 20 * 1024 * 1024 };
    struct buf text = {0};
    struct span value;
    buf_add_string(&text, "[\"");
    while (text.len < SIZE)
        buf_add_string(&text, unit);
    buf_add_string(&text, "\"]");
    double start = cpu_seconds();
    struct scan scan;
    scan_init(&scan, text.data, text.len);
    assert_true(scan_value(&scan, &value));
    double spent = cpu_seconds() - start;
    assert_int_equal(value.len, text.len);
    print_message("%s: %.0f MB/s\n", name, (double)text.len / 1e6 / spent);
    /* Processor time: a quadratic scan takes hours, a linear one a second under a sanitizer. */
    assert_true(spent < 60);
    buf_free(&text);
}

static void test_20_mb_take_linear_time(void **state)
{
    (void)state;
    scan_20_mb("plain string", "abcdefghijklmnopqrstuvwxyz0123456789");
    scan_20_mb("escapes only", "\\\\\\\"\\u00e9");
    scan_20_mb("bytes as debugpy shows them", "\\\\x00\\\\x01abc");
    scan_20_mb("short strings", "name\",\"value\",\"");
    scan_20_mb("objects", "a\",{\"name\":\"x\",\"value\":\"12\",\"variablesReference\":0},\"");
    scan_20_mb("nesting", "\",[[[[[[[[1]]]]]]]],\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_accepted),
        cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_problem_and_position),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_step_reports_what_is_malformed),
        cmocka_unit_test(test_what_python_reads),
        cmocka_unit_test(test_python_has_a_limit_for_integers),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_20_mb_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
