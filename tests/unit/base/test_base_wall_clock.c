#include "cmocka_prelude.h"

#include "base/wall_clock.h"

#include <time.h>

static void test_it_is_the_systems(void **state)
{
    (void)state;
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME, &before);
    int64_t now_ms = wall_clock_ms();
    clock_gettime(CLOCK_REALTIME, &after);
    assert_in_range(now_ms / 1000, before.tv_sec, after.tv_sec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_is_the_systems)};
    return cmocka_run_group_tests_name("wall_clock", tests, NULL, NULL);
}
