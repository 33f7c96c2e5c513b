/* Where a task is. */
#include "cmocka_prelude.h"

#include "relay/stack/stack_place.h"

#include <string.h>

#define RAYS "{\"id\":9,\"name\":\"main_loop\",\"line\":5,\"presentationHint\":\"subtle\"}"
#define USERS "{\"id\":1,\"name\":\"wait\",\"line\":41,\"source\":{\"path\":\"/a/train.py\"}}"

static bool top_of(const char *json, struct stack_place *place)
{
    struct scan scan;
    struct span whole;
    scan_init(&scan, json, strlen(json));
    assert_true(scan_value(&scan, &whole));
    return stack_place_top(json, whole, place);
}

static void test_the_users_innermost_frame(void **state)
{
    (void)state;
    struct stack_place place;
    assert_true(top_of("[" RAYS "," USERS "," RAYS "]", &place));
    assert_int_equal(place.frame, 1);
    assert_string_equal(place.name, "wait");
    assert_string_equal(place.file, "/a/train.py");
    assert_int_equal(place.line, 41);
    stack_place_clear(&place);
    assert_true(top_of("[" RAYS "]", &place)); /* better than nothing */
    assert_int_equal(place.frame, 9);
    assert_null(place.file);
    stack_place_clear(&place);
    assert_false(top_of("[]", &place));
    assert_false(top_of("{}", &place));
    assert_false(top_of("[1,{\"name\":\"no id\"}]", &place));
}

static void test_files_as_they_are_typed(void **state)
{
    (void)state;
    assert_true(stack_place_is("/a/train.py", "train.py"));
    assert_true(stack_place_is("/a/train.py", "./train.py"));
    assert_true(stack_place_is("/a/train.py", "a/train.py"));
    assert_true(stack_place_is("/a/train.py", "/a/train.py"));
    assert_false(stack_place_is("/a/train.py", "rain.py"));
    assert_false(stack_place_is("/b/a/train.py", "/a/train.py"));
    assert_false(stack_place_is(NULL, "train.py"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_users_innermost_frame),
        cmocka_unit_test(test_files_as_they_are_typed),
    };
    return cmocka_run_group_tests_name("stack_place", tests, NULL, NULL);
}
