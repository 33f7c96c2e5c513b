/* The arguments of raydbg/objects. */
#include "cmocka_prelude.h"

#include "relay/variables/objects_body.h"

#include <string.h>

static struct object_list list_of(const char *arguments)
{
    return object_list_read(arguments, (struct span){0, strlen(arguments)});
}

static void test_arguments(void **state)
{
    (void)state;
    struct object_list list = list_of("{\"start\":5,\"count\":20,\"sort\":\"callSite\"}");
    assert_int_equal(list.start, 5);
    assert_int_equal(list.count, 20);
    assert_int_equal(list.sort, LIST_BY_CALL_SITE);
    assert_int_equal(list_of("{\"sort\":\"id\"}").sort, LIST_BY_ID);
    assert_int_equal(list_of("{\"sort\":\"size\"}").sort, LIST_BY_SIZE);
}

static void test_defaults(void **state)
{
    (void)state;
    static const char *const odd[] = {"",
                                      "{}",
                                      "{\"start\":-1,\"count\":-1,\"sort\":\"color\"}",
                                      "{\"start\":\"1\",\"count\":0,\"sort\":7}",
                                      "[]",
                                      "7"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct object_list list = list_of(odd[i]);
        assert_int_equal(list.start, 0);
        assert_int_equal(list.count, OBJECT_LIST_COUNT);
        assert_int_equal(list.sort, LIST_BY_SIZE);
    }
    assert_int_equal(list_of("{\"count\":1000000}").count, OBJECT_LIST_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
