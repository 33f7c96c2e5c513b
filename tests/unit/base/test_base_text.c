#include "cmocka_prelude.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void test_comparisons(void **state)
{
    (void)state;
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal(NULL, ""));
    assert_false(text_equal("", NULL));
    assert_true(text_equal("ab", "ab"));
    assert_false(text_equal("ab", "abc"));
    assert_true(text_starts("abc", "ab"));
    assert_true(text_starts("abc", ""));
    assert_false(text_starts("ab", "abc"));
    assert_false(text_starts(NULL, ""));
    assert_true(text_ends("abc", "bc"));
    assert_true(text_ends("abc", "abc"));
    assert_true(text_ends("abc", ""));
    assert_false(text_ends("bc", "abc"));
    assert_false(text_ends("abc", "ab"));
    assert_false(text_ends(NULL, ""));
    assert_true(text_empty(NULL));
    assert_true(text_empty(""));
    assert_false(text_empty(" "));
}

static void test_basename(void **state)
{
    (void)state;
    assert_string_equal(text_basename("/usr/bin/python"), "python");
    assert_string_equal(text_basename("python"), "python");
    assert_string_equal(text_basename("/usr/bin/"), "");
    assert_null(text_basename(NULL));
}

static void test_copy(void **state)
{
    (void)state;
    char out[5] = "zzzz";
    assert_true(text_copy(out, 4, "abc"));
    assert_string_equal(out, "abc");
    assert_int_equal(out[4], '\0');
    memset(out, 'z', sizeof out);
    assert_false(text_copy(out, 4, "abcd"));
    assert_string_equal(out, "abc");
    assert_int_equal(out[4], 'z');
    assert_false(text_copy(out, 1, "a"));
    assert_string_equal(out, "");
    assert_true(text_copy(out, 1, ""));
}

static void test_to_int(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t min, max, value;
    } fine[] = {
        {"0", 0, 0, 0},
        {"-5", -5, 5, -5},
        {"007", 0, 7, 7},
        {"65535", 1, 65535, 65535},
        {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN},
    };
    static const struct {
        const char *text;
        int64_t min, max;
    } wrong[] = {
        {NULL, 0, 9},
        {"", 0, 9},
        {" 1", 0, 9},
        {"1 ", 0, 9},
        {"+1", 0, 9},
        {"1x", 0, 9},
        {"0x1", 0, 9},
        {"1.0", 0, 9},
        {"-", -9, 9},
        {"--1", -9, 9},
        {"6", 0, 5},
        {"-1", 0, 5},
        {"1e1", 0, 100},
        {"- 1", -9, 9},
        {"9223372036854775808", INT64_MIN, INT64_MAX},
        {"-9223372036854775809", INT64_MIN, INT64_MAX},
    };
    int64_t got;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        assert_true(text_to_int(fine[i].text, fine[i].min, fine[i].max, &got));
        assert_true(got == fine[i].value);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        got = 1234;
        if (text_to_int(wrong[i].text, wrong[i].min, wrong[i].max, &got))
            fail_msg("an integer: %s", wrong[i].text);
        assert_int_equal(got, 1234);
    }
}

static void test_hex(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x00, 0x0f, 0xa5, 0xff};
    char hex[9];
    uint8_t back[4];
    text_hex(bytes, 4, hex);
    assert_string_equal(hex, "000fa5ff");
    assert_true(text_unhex(hex, back, 4));
    assert_memory_equal(back, bytes, 4);
    assert_true(text_unhex("000FA5Ff", back, 4));
    assert_memory_equal(back, bytes, 4);
    text_hex(bytes, 0, hex);
    assert_string_equal(hex, "");
    assert_true(text_unhex("", back, 0));
    /* The wrong length is what kills a GCS. */
    assert_false(text_unhex("000fa5f", back, 4));
    assert_false(text_unhex("000fa5ff0", back, 4));
    assert_false(text_unhex("000fa5ff00", back, 4));
    assert_false(text_unhex("000fa5", back, 4));
    assert_false(text_unhex("", back, 4));
    assert_false(text_unhex(NULL, back, 4));
    assert_false(text_unhex("000fa5fg", back, 4));
    assert_false(text_unhex("000fa5f ", back, 4));
    assert_false(text_unhex("0x0fa5ff", back, 4));
    assert_false(text_unhex("000fa5f`", back, 4));
    assert_false(text_unhex("000fa5f:", back, 4));
    assert_false(text_unhex("000fa5f/", back, 4));
    assert_false(text_unhex("000fa5f@", back, 4));
}

static void test_host_port(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        uint16_t port;
    } fine[] = {
        {"10.0.0.1:6379", "10.0.0.1", 6379}, {"head:1", "head", 1},
        {"[::1]:65535", "::1", 65535},       {"[fe80::1%eth0]:80", "fe80::1%eth0", 80},
        {"exactly:7", "exactly", 7},
    };
    static const char *const wrong[] = {
        "head",    "head:",  ":80",        "head:0",        "head:65536",   "head:-1",
        "head:8x", "::1",    "::1:80",     "[::1]",         "[]:80",        "[::1:80",
        "[::1]80", "",       "head:80:90", "toolonghost:1", "head: 80",     "[::1]x:80",
        "a b:80",  "h\n:80", "h\x7F:80",   "h\xC2\x9B:80",  "[::1\xFF]:80",
    };
    char host[13];
    uint16_t port;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        assert_true(text_split_host_port(fine[i].text, host, sizeof host, &port));
        assert_string_equal(host, fine[i].host);
        assert_int_equal(port, fine[i].port);
        char *joined = text_join_host_port(host, port);
        assert_string_equal(joined, fine[i].text);
        free(joined);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (text_split_host_port(wrong[i], host, 11, &port))
            fail_msg("an address: %s", wrong[i]);
    assert_false(text_split_host_port(NULL, host, sizeof host, &port));
    assert_true(text_split_host_port("abc:1", host, 4, &port));
    assert_false(text_split_host_port("abcd:1", host, 4, &port));
    assert_true(text_split_host_port("[abc]:1", host, 4, &port));
    assert_false(text_split_host_port("[abcd]:1", host, 4, &port));
}

static void assert_printable(const char *text, size_t len, const char *keep, const char *expected)
{
    char *got = text_printable(text, len, keep);
    assert_string_equal(got, expected);
    free(got);
}

static void test_printable(void **state)
{
    (void)state;
    static const struct {
        const char *text, *keep, *expected;
    } cases[] = {
        {"", "", ""},
        {"plain ~", "", "plain ~"},
        {"\x1b[31mred\x1b]0;t\x07", "", "?[31mred?]0;t?"},
        {"a\nb\tc\rd", "\n\t", "a\nb\tc?d"},
        {"\x7f\x1f\x01", "", "???"},
        {"é€\xF0\x9F\x98\x80", "", "é€\xF0\x9F\x98\x80"},
        {"\xC2\x9B"
         "31m\xC2\x80\xC2\x9F\xC2\xA0",
         "", "?31m??\xC2\xA0"},
        {"a\xE2\x80\xAE"
         "b\xE2\x81\xA6\xD8\x9C\xE2\x80\x8B\xE2\x80\xA8\xEF\xBB\xBF\xF3\xA0\x81\xA1",
         "", "a?b??????"},
        {"\xE2\x80\x8D\xE2\x80\x8C\xE2\x80\x94\xF3\xA0\x84\x80", "\n",
         "\xE2\x80\x8D\xE2\x80\x8C\xE2\x80\x94\xF3\xA0\x84\x80"},
        {"\x9b\xff\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80", "",
         "???????"
         "????"},
        {"\xE2\x82", "", "??"},
        {"\xF5\x80", "", "??"},
        {"\xC3", "", "?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_printable(cases[i].text, strlen(cases[i].text), cases[i].keep, cases[i].expected);
    assert_printable("a\0b", 3, "\n", "a?b");
    assert_printable("abc", 2, "", "ab");
    assert_printable("\xE2\x82\xAC", 2, "", "??");
}

static void in_brackets(struct buf *out, const char *at, size_t size, const void *arg)
{
    buf_printf(out, "%s%zu:%.*s]", (const char *)arg, size, size ? (int)size : 1, at);
}

static void test_rewriting(void **state)
{
    (void)state;
    static const struct {
        const char *text, *special, *expected;
    } cases[] = {
        {"", "x", ""},
        {" az~", "", " az~"},
        {"axxb", "xy", "a[1:x][1:x]b"},
        {"\x1F!\x7F", "", "[1:\x1F]![1:\x7F]"},
        {"\xC2\xB7\xE2\x82\xAC", "", "[2:\xC2\xB7][3:\xE2\x82\xAC]"},
        {"a\xFF\xC3", "", "a[0:\xFF][0:\xC3]"},
        {"\xC3\"", "\"", "[0:\xC3][1:\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        buf_add_string(&out, "");
        text_rewrite(&out, cases[i].text, strlen(cases[i].text), cases[i].special, in_brackets,
                     "[");
        assert_string_equal(out.data, cases[i].expected);
        buf_free(&out);
    }
    struct buf out = {0};
    text_rewrite(&out, "a\0b\xC2\xB7", 4, "", in_brackets, "[");
    assert_int_equal(out.len, strlen("a[1:]b[0:\xC2]"));
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons), cmocka_unit_test(test_basename),
        cmocka_unit_test(test_copy),        cmocka_unit_test(test_to_int),
        cmocka_unit_test(test_hex),         cmocka_unit_test(test_host_port),
        cmocka_unit_test(test_printable),   cmocka_unit_test(test_rewriting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
