#include "cmocka_prelude.h"

#include "base/hash.h"

#include <string.h>

enum { KEYS = 4096, SLOTS = 1 << 12 };

/* How full the fullest of SLOTS slots is when keys differ in the two bytes at `at` only. */
static size_t fullest(size_t len, size_t at)
{
    static size_t slots[SLOTS];
    uint8_t key[64] = {0};
    size_t most = 0;
    memset(slots, 0, sizeof slots);
    for (size_t i = 0; i < KEYS; i++) {
        key[at] = (uint8_t)i;
        key[at + 1] = (uint8_t)(i >> 8 << 4);
        size_t *slot = &slots[hash_bytes(key, len, 0) & (SLOTS - 1)];
        if (++*slot > most)
            most = *slot;
    }
    return most;
}

static void test_each_byte_counts_in_the_lowest_bits(void **state)
{
    (void)state;
    for (size_t len = 2; len <= 64; len++)
        for (size_t at = 0; at + 2 <= len; at++)
            assert_in_range(fullest(len, at), 1, 16);
}

static uint64_t hash_of_words(const uint8_t key[32])
{
    uint64_t words[4];
    memcpy(words, key, sizeof words);
    return hash_words(words[0], words[1], words[2], words[3]);
}

static void test_each_byte_of_four_words_counts(void **state)
{
    (void)state;
    uint8_t key[32] = {0};
    for (size_t at = 0; at + 2 <= sizeof key; at++)
        for (unsigned half = 0; half < 2; half++) {
            static size_t slots[SLOTS];
            memset(slots, 0, sizeof slots);
            memset(key, 0, sizeof key);
            for (size_t i = 0; i < KEYS; i++) {
                key[at] = (uint8_t)i;
                key[at + 1] = (uint8_t)(i >> 8 << 4);
                assert_in_range(++slots[hash_of_words(key) >> 32 * half & (SLOTS - 1)], 1, 16);
            }
        }
}

static void test_numbers_spread(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift <= 52; shift++) {
        static size_t slots[SLOTS];
        memset(slots, 0, sizeof slots);
        for (uint64_t i = 0; i < KEYS; i++)
            assert_in_range(++slots[hash_number(i << shift) & (SLOTS - 1)], 1, 16);
    }
}

static void test_the_length_counts(void **state)
{
    (void)state;
    static const char zeros[32];
    for (size_t one = 0; one < sizeof zeros; one++)
        for (size_t other = 0; other < one; other++)
            assert_true(hash_bytes(zeros, one, 0) != hash_bytes(zeros, other, 0));
    assert_int_equal(hash_bytes(NULL, 0, 7), hash_text("", 7));
}

static void test_equal_keys_are_equal_wherever_they_are(void **state)
{
    (void)state;
    char room[80];
    for (size_t at = 0; at < 16; at++) {
        strcpy(room + at, "train.py:12 in a_function_of_some_name");
        assert_int_equal(hash_text(room + at, 3),
                         hash_text("train.py:12 in a_function_of_some_name", 3));
    }
}

static void test_parts_have_an_order_and_ends(void **state)
{
    (void)state;
    assert_true(hash_text("b", hash_text("a", 0)) != hash_text("a", hash_text("b", 0)));
    assert_true(hash_text("c", hash_text("ab", 0)) != hash_text("bc", hash_text("a", 0)));
    assert_true(hash_text("a", 1) != hash_text("a", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_byte_counts_in_the_lowest_bits),
        cmocka_unit_test(test_each_byte_of_four_words_counts),
        cmocka_unit_test(test_numbers_spread),
        cmocka_unit_test(test_the_length_counts),
        cmocka_unit_test(test_equal_keys_are_equal_wherever_they_are),
        cmocka_unit_test(test_parts_have_an_order_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
