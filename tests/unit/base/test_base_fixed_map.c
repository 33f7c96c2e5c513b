/* A bounded map from ids to numbers. */
#include "cmocka_prelude.h"

#include "base/fixed_map.h"

#include <string.h>

static struct id_key key_of(uint64_t number)
{
    struct id_key key = {{0}};
    memcpy(key.bytes, &number, sizeof number);
    key.bytes[FIXED_MAP_KEY - 1] = (uint8_t)(number % 3);
    return key;
}

static void test_what_is_set_is_there(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct fixed_map map = {0};
    for (uint64_t i = 0; i < COUNT; i++) {
        struct id_key key = key_of(i);
        assert_null(fixed_map_get(&map, &key));
        assert_true(fixed_map_set(&map, &key, i * 7, COUNT));
    }
    assert_int_equal(map.count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct id_key key = key_of(i);
        assert_non_null(fixed_map_get(&map, &key));
        assert_int_equal(*fixed_map_get(&map, &key), i * 7);
    }
    fixed_map_clear(&map);
    assert_int_equal(map.count, 0);
}

/* In order, in reverse, with keys that are absent, and while the map grows. */
static void test_what_is_looked_up_next(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    struct fixed_map map = {0};
    struct id_key key = key_of(0);
    assert_null(fixed_map_find_next(&map, &key, fixed_map_hash(&key)));
    for (uint64_t i = 0; i < COUNT; i++) {
        key = key_of(i);
        assert_null(fixed_map_find_next(&map, &key, fixed_map_hash(&key)));
        fixed_map_set(&map, &key, i, COUNT);
        assert_int_equal(*fixed_map_find_next(&map, &key, fixed_map_hash(&key)), i);
        key = key_of(i / 2);
        assert_int_equal(*fixed_map_find_next(&map, &key, fixed_map_hash(&key)), i / 2);
    }
    for (uint64_t i = 0; i < 3 * COUNT; i++) {
        uint64_t number = i < COUNT ? i : i < 2 * COUNT ? 2 * COUNT - 1 - i : i - 2 * COUNT;
        struct id_key absent = key_of(COUNT + i);
        key = key_of(number);
        assert_null(fixed_map_find_next(&map, &absent, fixed_map_hash(&absent)));
        assert_int_equal(*fixed_map_find_next(&map, &key, fixed_map_hash(&key)), number);
    }
    fixed_map_clear(&map);
}

/* Objects of few tasks, whose numbers count up, and the same of many tasks. */
static void test_ids_that_are_near(void **state)
{
    (void)state;
    enum { TASKS = 300, EACH = 20 };
    struct fixed_map map = {0};
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < TASKS * EACH; i++) {
            struct id_key key = {{0}};
            key.bytes[0] = (uint8_t)(i / EACH);
            key.bytes[1] = (uint8_t)(i / EACH >> 8);
            key.bytes[24] = (uint8_t)(i % EACH + 1);
            if (round == 0)
                assert_true(fixed_map_set(&map, &key, i, SIZE_MAX));
            assert_int_equal(*fixed_map_get(&map, &key), i);
            assert_int_equal(*fixed_map_find(&map, &key, fixed_map_hash(&key)), i);
            key.bytes[24] = EACH + 1;
            assert_null(fixed_map_get(&map, &key));
        }
    assert_int_equal(map.count, TASKS * EACH);
    fixed_map_clear(&map);
}

/* Made up by the factors in base/hash.c: what one word adds to the sum, another takes away. */
static void test_keys_with_one_hash_are_told_apart(void **state)
{
    (void)state;
    const uint64_t factors[] = {UINT64_C(0x9E3779B97F4A7C15), UINT64_C(0xC2B2AE3D27D4EB4F),
                                UINT64_C(0x165667B19E3779F9), UINT64_C(0xD6E8FEB86659FD93)};
    for (size_t word = 1; word < 4; word++) {
        struct fixed_map map = {0};
        uint64_t words[4] = {8 * factors[word]};
        struct id_key zero = {{0}}, other;
        words[word] = 0 - 8 * factors[0];
        memcpy(other.bytes, words, sizeof words);
        assert_int_equal(fixed_map_hash(&zero), fixed_map_hash(&other));
        assert_true(fixed_map_set(&map, &zero, 1, 10));
        assert_null(fixed_map_get(&map, &other));
        assert_true(fixed_map_set(&map, &other, 2, 10));
        assert_int_equal(*fixed_map_get(&map, &zero), 1);
        assert_int_equal(*fixed_map_get(&map, &other), 2);
        fixed_map_clear(&map);
    }
}

static void test_the_last_byte_counts(void **state)
{
    (void)state;
    struct fixed_map map = {0};
    struct id_key one = {{0}}, other = {{0}};
    other.bytes[FIXED_MAP_KEY - 1] = 1;
    assert_true(fixed_map_set(&map, &one, 1, 10));
    assert_null(fixed_map_get(&map, &other));
    fixed_map_clear(&map);
}

static void test_it_is_bounded(void **state)
{
    (void)state;
    struct fixed_map map = {0};
    struct id_key first = key_of(0), second = key_of(1), third = key_of(2);
    assert_true(fixed_map_set(&map, &first, 1, 2));
    assert_true(fixed_map_set(&map, &second, 2, 2));
    assert_false(fixed_map_set(&map, &third, 3, 2));
    assert_null(fixed_map_get(&map, &third));
    assert_true(fixed_map_set(&map, &second, 4, 2));
    assert_int_equal(*fixed_map_get(&map, &second), 4);
    fixed_map_clear(&map);
}

static void test_steps_through_all(void **state)
{
    (void)state;
    struct fixed_map map = {0};
    const struct id_entry *entry;
    size_t cursor = 0;
    uint64_t sum = 0;
    assert_null(fixed_map_next(&map, &cursor));
    for (uint64_t i = 0; i < 100; i++) {
        struct id_key key = key_of(i);
        fixed_map_set(&map, &key, i, 100);
    }
    for (cursor = 0; (entry = fixed_map_next(&map, &cursor));)
        sum += entry->value;
    assert_int_equal(sum, 4950);
    fixed_map_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_set_is_there),
        cmocka_unit_test(test_what_is_looked_up_next),
        cmocka_unit_test(test_ids_that_are_near),
        cmocka_unit_test(test_keys_with_one_hash_are_told_apart),
        cmocka_unit_test(test_the_last_byte_counts),
        cmocka_unit_test(test_it_is_bounded),
        cmocka_unit_test(test_steps_through_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
