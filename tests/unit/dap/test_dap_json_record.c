/* Members of JSON objects that are written one by one; sweep_json's tests have whole records. */
#include "cmocka_prelude.h"

#include "dap/json_record.h"

static void check(struct buf *out, const char *expected)
{
    assert_string_equal(out->data, expected);
    buf_free(out);
}

static void members(void **state)
{
    (void)state;
    struct buf out = {0};
    buf_add_string(&out, "{");
    json_member_text(&out, "a", "x\"y");
    json_member_text(&out, "b", "");
    json_member_text(&out, "c", NULL);
    json_member_number(&out, "d", 0);
    json_member_number(&out, "e", -1);
    buf_add_string(&out, ",\"f\":{");
    json_member_number(&out, "g", INT64_MAX);
    buf_add_string(&out, "}}");
    check(&out, "{\"a\":\"x\\\"y\",\"b\":null,\"c\":null,\"d\":0,\"e\":null,"
                "\"f\":{\"g\":9223372036854775807}}");
}

static void seconds(void **state)
{
    (void)state;
    struct buf out = {0};
    json_put_seconds(&out, 1700000000007);
    check(&out, "1700000000.007");
    json_put_seconds(&out, 999);
    check(&out, "0.999");
    json_put_seconds(&out, 0);
    check(&out, "null");
    json_put_seconds(&out, -5);
    check(&out, "null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members),
        cmocka_unit_test(seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
