/* Whole numbers, written in plain digits. */
#include "cmocka_prelude.h"

#include "dap/plain_integers.h"

#include <string.h>

static void test_whole_numbers(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1.0", "1"},
        {"{\"seq\":11.0,\"a\":{\"threadId\":1e0,\"line\":1.2e1}}",
         "{\"seq\":11,\"a\":{\"threadId\":1,\"line\":12}}"},
        {" [ 1.0 , -2.0,3, -0.0 ] ", " [ 1 , -2,3, 0 ] "},
        {"{\"1.0\":\"2.0\",\"x\":5.0e0}", "{\"1.0\":\"2.0\",\"x\":5}"},
        {"[\"\\\"1.0\",1.0]", "[\"\\\"1.0\",1]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        assert_true(plain_integers_write(cases[i][0], strlen(cases[i][0]), &out));
        assert_string_equal(out.data, cases[i][1]);
        buf_free(&out);
    }
}

static void test_all_others_stay(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "{}",
        "[1,-2,0,123456789012345678901234567890]",
        "[1.5,1e-3,1e400,-1e19,NaN,Infinity,-Infinity]",
        "{\"1.0\":\"2.0 \\\" 3.0\",\"x\":true,\"y\":false,\"z\":null}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        assert_false(plain_integers_write(cases[i], strlen(cases[i]), &out));
        assert_int_equal(out.len, 0);
        buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_all_others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
