/* Sorting by numbers: like a stable sort by comparison. */
#include "cmocka_prelude.h"

#include "base/radix.h"

#include <stdbool.h>
#include <stdlib.h>

enum { MANY = 3000 };

static void check(struct radix_item *items, size_t count)
{
    bool seen[MANY] = {false};
    radix_sort(items, count);
    for (size_t i = 0; i < count; i++) {
        assert_false(seen[items[i].index]);
        seen[items[i].index] = true;
        if (!i)
            continue;
        assert_true(items[i - 1].key <= items[i].key);
        if (items[i - 1].key == items[i].key)
            assert_true(items[i - 1].index < items[i].index);
    }
}

/* Keys that differ in some bytes only: an even and an odd number of passes. */
static void sorted_and_stable(void **state)
{
    (void)state;
    static const uint64_t masks[] = {0,        0xFF,       0xFF00,     0xFFFF,
                                     0xF0000F, UINT64_MAX, 0xFF000000, UINT64_C(1) << 63};
    static struct radix_item items[MANY];
    srand(7);
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        for (uint32_t k = 0; k < MANY; k++) {
            uint64_t key = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
            items[k] = (struct radix_item){(key & masks[i]) | (~masks[i] & 0x5A5A5A), k};
        }
        check(items, MANY);
    }
}

static void few(void **state)
{
    (void)state;
    struct radix_item items[2] = {{2, 0}, {1, 1}};
    check(items, 0);
    check(items, 1);
    check(items, 2);
    assert_int_equal(items[0].key, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_and_stable),
        cmocka_unit_test(few),
    };
    return cmocka_run_group_tests_name("radix", tests, NULL, NULL);
}
