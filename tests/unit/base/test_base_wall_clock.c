#include "cmocka_prelude.h"

#include "base/wall_clock.h"

#include <time.h>

static void test_it_is_the_systems(void **state)
{
    (void)state;
    time_t before = time(NULL);
    int64_t now_ms = wall_clock_ms();
    time_t after = time(NULL);
    /* time() may be of the last tick. */
    assert_in_range(now_ms / 1000, before, after + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_is_the_systems)};
    return cmocka_run_group_tests_name("wall_clock", tests, NULL, NULL);
}
