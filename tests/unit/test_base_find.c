/* find_bytes() gives what memmem() gives, wherever the needle is and whatever looks like it. */
#include "cmocka_prelude.h"

#include "base/find.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 100, ROUNDS = 200000 };

static void test_like_memmem(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        char text[LONGEST], needle[24];
        size_t len = (seed = seed * 1664525 + 1013904223) >> 8 & 0xFFFF;
        len %= LONGEST + 1;
        size_t needle_len = 2 + (seed >> 24) % (sizeof needle - 2);
        /* Two letters only: there are hits, and many near ones. */
        for (size_t i = 0; i < len; i++)
            text[i] = (char)('a' + ((seed = seed * 1664525 + 1013904223) >> 30 & 1));
        for (size_t i = 0; i < needle_len; i++)
            needle[i] = (char)('a' + ((seed = seed * 1664525 + 1013904223) >> 30 & 1));
        /* On the heap, so that a sanitizer sees what is read behind the end. */
        char *exact = malloc(len ? len : 1);
        memcpy(exact, text, len);
        const char *expected = memmem(exact, len, needle, needle_len);
        assert_ptr_equal(find_bytes(exact, len, needle, needle_len), expected);
        free(exact);
    }
}

static void test_at_every_place(void **state)
{
    (void)state;
    static const char needle[] = "\"variablesReference\":";
    for (size_t at = 0; at + sizeof needle - 1 <= LONGEST; at++) {
        char text[LONGEST];
        memset(text, '"', sizeof text);
        memcpy(text + at, needle, sizeof needle - 1);
        assert_ptr_equal(find_bytes(text, sizeof text, needle, sizeof needle - 1), text + at);
        assert_null(find_bytes(text, at + sizeof needle - 2, needle, sizeof needle - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_memmem),
        cmocka_unit_test(test_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
