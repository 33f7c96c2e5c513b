/* Members that are added to a request's arguments. */
#include "cmocka_prelude.h"

#include "cli/dap/dap_arguments.h"

#include <string.h>

static void check(const char *before, const char *after)
{
    struct envelope envelope;
    const char *problem;
    struct buf members = {0}, out = {0};
    assert_int_equal(envelope_read(&envelope, before, strlen(before), &problem), 0);
    dap_arguments_member(before, &envelope, "a", "true", &members);
    dap_arguments_member(before, &envelope, "b", "2", &members);
    dap_arguments_member(before, &envelope, "c", NULL, &members);
    assert_int_equal(dap_arguments_request(before, strlen(before), &envelope, &members, &out),
                     after != NULL);
    if (after)
        assert_string_equal(out.data, after);
    buf_free(&members);
    buf_free(&out);
}

#define HEAD "{\"seq\":1,\"type\":\"request\",\"command\":\"x\""

static void test_members(void **state)
{
    (void)state;
    check(HEAD "}", HEAD ",\"arguments\":{\"a\":true,\"b\":2}}");
    check(HEAD ",\"arguments\":{}}", HEAD ",\"arguments\":{\"a\":true,\"b\":2}}");
    check(HEAD ",\"arguments\":{\"z\":1}}", HEAD ",\"arguments\":{\"a\":true,\"b\":2,\"z\":1}}");
    check(HEAD ",\"arguments\":{\"a\":null}}", HEAD ",\"arguments\":{\"b\":2,\"a\":null}}");
    check(HEAD ",\"arguments\":{\"b\":0,\"a\":1}}", NULL);
    check(HEAD ",\"arguments\":[1]}", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
