/* JSON values that are the same, whatever their bytes. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "dap/same.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
    struct scan left, right;
    struct span at_a = {0}, at_b = {0};
    scan_init(&left, a, strlen(a));
    scan_init(&right, b, strlen(b));
    assert_true(scan_value(&left, &at_a) && scan_value(&right, &at_b));
    bool is = same_value(a, at_a, b, at_b);
    assert_int_equal(is, same_value(b, at_b, a, at_a));
    return is;
}

static void test_the_same(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"{\"a\":1,\"b\":[2,{}]}", " { \"b\" : [ 2 , { } ] , \"a\" : 1 } "},
        {"\"a\\u0062\"", "\"a\\u0062\""},
        {"\"a\\/b\"", "\"a/b\""},
        {"{\"a\\/b\":null}", "{\"a/b\":null}"},
        {"true", "true"},
        {"-7", " -7"},
        {"1.50", "1.50"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"[]", "[ ]"},
        {"{\"x\":{\"y\":{\"z\":[1,[2,[3]]]}}}", "{\"x\":{\"y\":{\"z\":[1, [2, [3]]]}}}"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!same(pairs[i][0], pairs[i][1]))
            fail_msg("%s and %s are the same", pairs[i][0], pairs[i][1]);
}

static void test_not_the_same(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"{\"a\":1}", "{\"a\":2}"},
        {"{\"a\":1}", "{\"b\":1}"},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2,\"b\":1}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}"},
        {"{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":1}"},
        {"[1,2]", "[2,1]"},
        {"[1,2]", "[1]"},
        {"[]", "{}"},
        {"1", "\"1\""},
        {"1", "true"},
        {"null", "false"},
        {"9007199254740993", "9007199254740992"},
        {"123456789012345678901234567890", "123456789012345678901234567891"},
        {"\"a\"", "\"A\""},
        {"\"\\ud800\"", "\"\\ufffd\""},
        {"\"\\ud800\"", "\"\\ud801\""},
        {"\"a\\u0000\"", "\"a\""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (same(pairs[i][0], pairs[i][1]))
            fail_msg("%s and %s are not the same", pairs[i][0], pairs[i][1]);
}

/* Objects of 64 members, each within the last member of another, around this number. */
static void nest(struct buf *out, int levels, const char *number)
{
    for (int level = 0; level < levels; level++) {
        buf_add_string(out, "{");
        for (int i = 0; i < 63; i++)
            buf_printf(out, "\"m%d\":0,", i);
        buf_add_string(out, "\"in\":");
    }
    buf_add_string(out, number);
    for (int level = 0; level < levels; level++)
        buf_add_string(out, "}");
}

static void test_much_work_is_given_up(void **state)
{
    (void)state;
    struct buf few = {0}, few_spaced = {0}, many = {0}, many_spaced = {0};
    nest(&few, 2, "1");
    nest(&few_spaced, 2, " 1");
    nest(&many, 20, "1");
    nest(&many_spaced, 20, " 1");
    assert_true(same(few.data, few_spaced.data));
    assert_true(same(many.data, many.data));
    assert_false(same(many.data, many_spaced.data));
    buf_free(&few);
    buf_free(&few_spaced);
    buf_free(&many);
    buf_free(&many_spaced);
}

/* A debuggee reads the same bytes in one way only. */
static void test_the_same_bytes(void **state)
{
    (void)state;
    static const char twice[] = "{\"a\":1,\"a\":2}";
    assert_true(same(twice, twice));
}

static void test_what_is_absent(void **state)
{
    (void)state;
    struct span none = {0, 0}, some = {0, 2};
    assert_true(same_value("", none, "", none));
    assert_false(same_value("", none, "{}", some));
    assert_false(same_value("{}", some, "", none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same),
        cmocka_unit_test(test_not_the_same),
        cmocka_unit_test(test_much_work_is_given_up),
        cmocka_unit_test(test_the_same_bytes),
        cmocka_unit_test(test_what_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
