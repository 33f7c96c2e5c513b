/* Where a task is. */
#include "cmocka_prelude.h"

#include "relay/stack/frame_location.h"

#include <string.h>

#define RAYS "{\"id\":9,\"name\":\"main_loop\",\"line\":5,\"presentationHint\":\"subtle\"}"
#define USERS "{\"id\":1,\"name\":\"wait\",\"line\":41,\"source\":{\"path\":\"/a/train.py\"}}"

static bool top_of(const char *json, struct frame_location *location)
{
    struct scan scan;
    struct span whole;
    scan_init(&scan, json, strlen(json));
    assert_true(scan_value(&scan, &whole));
    return frame_location_top(json, whole, location);
}

static void test_the_users_innermost_frame(void **state)
{
    (void)state;
    struct frame_location location;
    assert_true(top_of("[" RAYS "," USERS "," RAYS "]", &location));
    assert_int_equal(location.frame, 1);
    assert_string_equal(location.name, "wait");
    assert_string_equal(location.file, "/a/train.py");
    assert_int_equal(location.line, 41);
    frame_location_clear(&location);
    assert_true(top_of("[" RAYS "]", &location)); /* better than nothing */
    assert_int_equal(location.frame, 9);
    assert_null(location.file);
    frame_location_clear(&location);
    assert_false(top_of("[]", &location));
    assert_false(top_of("{}", &location));
    assert_false(top_of("[1,{\"name\":\"no id\"}]", &location));
}

static void test_files_as_they_are_typed(void **state)
{
    (void)state;
    assert_true(frame_location_is("/a/train.py", "train.py"));
    assert_true(frame_location_is("/a/train.py", "./train.py"));
    assert_true(frame_location_is("/a/train.py", "a/train.py"));
    assert_true(frame_location_is("/a/train.py", "/a/train.py"));
    assert_false(frame_location_is("/a/train.py", "rain.py"));
    assert_false(frame_location_is("/b/a/train.py", "/a/train.py"));
    assert_false(frame_location_is(NULL, "train.py"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_users_innermost_frame),
        cmocka_unit_test(test_files_as_they_are_typed),
    };
    return cmocka_run_group_tests_name("frame_location", tests, NULL, NULL);
}
