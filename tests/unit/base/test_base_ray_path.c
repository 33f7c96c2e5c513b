/* Which frames are Ray's own. */
#include "cmocka_prelude.h"

#include "base/ray_path.h"

#include <string.h>

static void test_paths(void **state)
{
    (void)state;
    static const char *const rays[] = {
        "/v/lib/python3.11/site-packages/ray/_private/worker.py",
        "/usr/lib/python3/dist-packages/ray/actor.py",
        "/home/me/ray/python/ray/util/rpdb.py",
        "/x/site-packages/python/ray/_raylet.pyx",
        "python/ray/_raylet.pyx",
        "/v/site-packages/ray/train/loop.py:step:7",
    };
    static const char *const others[] = {
        "",
        "/home/ray/app.py",
        "/home/ray/python/app.py",
        "/v/site-packages/numpy/core.py",
        "/v/site-packages/raydp/x.py",
        "python/rayon.py",
        "app/python/ray.py",
    };
    for (size_t i = 0; i < sizeof rays / sizeof *rays; i++)
        assert_true(ray_path_is(rays[i], strlen(rays[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(ray_path_is(others[i], strlen(others[i])));
    assert_false(ray_path_is("/site-packages/ray/", 18)); /* no more than it is given */
}

static void test_frames(void **state)
{
    (void)state;
    assert_true(ray_path_is_frame("/v/site-packages/ray/actor.py", "remote"));
    assert_true(ray_path_is_frame(NULL, "ray._raylet.execute_task (Current frame)"));
    assert_true(ray_path_is_frame("", "ray._raylet.execute_task"));
    assert_false(ray_path_is_frame("/app.py", "ray_main"));
    assert_false(ray_path_is_frame(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
