/* An index keeps each item findable through growth and removals, whatever their hashes are. */
#include "cmocka_prelude.h"

#include "base/hash.h"
#include "base/hash_index.h"

#include <stdlib.h>

static size_t count_of(const struct hash_index *index, uint64_t hash, uintptr_t wanted)
{
    size_t cursor = 0, count = 0;
    uintptr_t item;
    while (hash_index_next(index, hash, &cursor, &item))
        count += item == wanted;
    return count;
}

static void an_empty_index_has_nothing(void **state)
{
    (void)state;
    struct hash_index index = {0};
    assert_int_equal(count_of(&index, 0, 0), 0);
    hash_index_remove(&index, 0, 0);
    hash_index_clear(&index);
}

static void items_of_one_hash_are_all_found(void **state)
{
    (void)state;
    struct hash_index index = {0};
    for (uintptr_t item = 0; item < 40; item++)
        hash_index_add(&index, 7, item);
    for (uintptr_t item = 0; item < 40; item++)
        assert_int_equal(count_of(&index, 7, item), 1);
    assert_int_equal(count_of(&index, 8, 3), 0);
    hash_index_remove(&index, 7, 3);
    hash_index_remove(&index, 7, 3);
    assert_int_equal(index.count, 39);
    assert_int_equal(count_of(&index, 7, 3), 0);
    assert_int_equal(count_of(&index, 7, 4), 1);
    hash_index_clear(&index);
}

/* Hashes that lie close together, so that runs of slots merge, wrap around the end, and are torn
 * apart again. */
static void removals_hide_nothing(void **state)
{
    (void)state;
    enum { ITEMS = 300, ROUNDS = 20000 };
    struct hash_index index = {0};
    bool in[ITEMS] = {0};
    uint64_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        random = hash_number(random);
        size_t item = random % ITEMS;
        uint64_t hash = item % 37 + (item % 2 ? UINT64_MAX - 20 : 0);
        if (in[item])
            hash_index_remove(&index, hash, item);
        else
            hash_index_add(&index, hash, item);
        in[item] = !in[item];
        if (round % 100)
            continue;
        size_t count = 0;
        for (size_t i = 0; i < ITEMS; i++) {
            count += in[i];
            assert_int_equal(count_of(&index, i % 37 + (i % 2 ? UINT64_MAX - 20 : 0), i), in[i]);
        }
        assert_int_equal(index.count, count);
    }
    hash_index_clear(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_index_has_nothing),
        cmocka_unit_test(items_of_one_hash_are_all_found),
        cmocka_unit_test(removals_hide_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
