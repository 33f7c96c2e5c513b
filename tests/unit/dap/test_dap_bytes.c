/* The fast ways to find bytes give what one byte at a time gives, and read nothing beyond the end:
 * each text is a block of its own for the sanitizer to watch. */
#include "cmocka_prelude.h"

#include "dap/bytes.h"

#include <stdlib.h>
#include <string.h>

/* Made of what is looked for and what is nearly that: one bit apart, one off, above 0x7f. */
static const char letters[] =
    "\"\\{}[]:;,<|~^_Zz \t\n\x01\xa2\xdc\xfb\xfd\xdb\xff\"type\"ObjectRef(";

static uint32_t state = 1;

static uint32_t next_random(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static bool ends_plain(char c)
{
    return c == '"' || c == '\\';
}

static bool is_structure(char c)
{
    return c == '"' || c == '{' || c == '}' || c == '[' || c == ']';
}

static size_t slow_until(bool (*test)(char c), const char *text, size_t at, size_t len)
{
    while (at < len && !test(text[at]))
        at++;
    return at;
}

static size_t slow_find(const char *text, size_t at, size_t len, const char *needle, size_t n)
{
    for (; at + n <= len; at++)
        if (memcmp(text + at, needle, n) == 0)
            return at;
    return len;
}

static void compare(const char *text, size_t len)
{
    static const char *const needles[] = {"\"type\"", "ObjectRef(", "{}", "\"\"", "aaab"};
    for (size_t at = 0; at <= len; at++) {
        size_t plain = slow_until(ends_plain, text, at, len);
        size_t structure = slow_until(is_structure, text, at, len);
        assert_int_equal(bytes_plain_end(text, at, len), plain);
        assert_int_equal(bytes_plain_end_portable(text, at, len), plain);
        assert_int_equal(bytes_structure(text, at, len), structure);
        assert_int_equal(bytes_structure_portable(text, at, len), structure);
        for (size_t i = 0; i < sizeof needles / sizeof *needles; i++) {
            const char *needle = needles[i];
            size_t n = strlen(needle), found = slow_find(text, at, len, needle, n);
            assert_int_equal(bytes_find(text, at, len, needle, n), found);
            assert_int_equal(bytes_find_portable(text, at, len, needle, n), found);
        }
    }
}

/* Of `len` bytes, each of which is filler in `plain` of 100 cases. */
static void compare_random(size_t len, uint32_t plain)
{
    char *text = malloc(len ? len : 1);
    assert_non_null(text);
    for (size_t i = 0; i < len; i++) {
        if (next_random() % 100 < plain)
            text[i] = 'a';
        else
            text[i] = letters[next_random() % (sizeof letters - 1)];
    }
    compare(text, len);
    free(text);
}

static void test_random_texts(void **unused)
{
    (void)unused;
    for (size_t len = 0; len < 70; len++)
        for (uint32_t plain = 0; plain <= 100; plain += 10)
            compare_random(len, plain);
    compare_random(500, 97);
}

/* Each byte alone, at each position: in front of, at and behind where 8 and 16 end. */
static void test_each_byte(void **unused)
{
    (void)unused;
    enum { LEN = 40 };
    for (int c = 0; c < 256; c++) {
        for (size_t at = 0; at < LEN; at++) {
            char *text = malloc(LEN);
            assert_non_null(text);
            memset(text, 'a', LEN);
            text[at] = (char)c;
            bool plain = !ends_plain((char)c), structure = is_structure((char)c);
            assert_int_equal(bytes_plain_end(text, 0, LEN), plain ? LEN : at);
            assert_int_equal(bytes_plain_end_portable(text, 0, LEN), plain ? LEN : at);
            assert_int_equal(bytes_structure(text, 0, LEN), structure ? at : LEN);
            assert_int_equal(bytes_structure_portable(text, 0, LEN), structure ? at : LEN);
            free(text);
        }
    }
}

static void test_needles_at_each_position(void **unused)
{
    (void)unused;
    static const char needle[] = "\"type\"";
    enum { LEN = 48, NEEDLE = sizeof needle - 1 };
    for (size_t at = 0; at + NEEDLE <= LEN; at++) {
        char *text = malloc(LEN);
        assert_non_null(text);
        memset(text, '"', LEN); /* a first letter everywhere */
        memcpy(text + at, needle, NEEDLE);
        assert_int_equal(bytes_find(text, 0, LEN, needle, NEEDLE), at);
        assert_int_equal(bytes_find(text, 0, at + NEEDLE - 1, needle, NEEDLE), at + NEEDLE - 1);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_each_byte),
        cmocka_unit_test(test_needles_at_each_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
