/* A client that asks for a part of a stack gets these frames, and is told how many there are. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "relay/stack/stack_slice.h"

#include <stdlib.h>
#include <string.h>

static struct envelope read_envelope(const char *json)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, strlen(json), &problem) != 0)
        fail_msg("%s: %s", problem, json);
    return envelope;
}

static char *message(const char *body)
{
    return mem_format("{\"seq\": 9, \"type\": \"response\", \"request_seq\": 8, \"success\": true, "
                      "\"command\": \"stackTrace\", \"body\": %s, \"x\": [1, 2]}",
                      body);
}

/* The expected body: NULL if the same, "" if frames are missing. */
static void expect(const char *body, int64_t start, int64_t levels, const char *expected)
{
    struct buf out = {0};
    char *json = message(body), *wanted = expected ? message(expected) : NULL;
    struct envelope response = read_envelope(json);
    enum stack_slice how =
        stack_slice(json, strlen(json), &response, (struct stack_range){start, levels}, &out);
    if (!expected) {
        assert_int_equal(how, STACK_SLICE_SAME);
    } else if (!*expected) {
        assert_int_equal(how, STACK_SLICE_MISSING);
    } else {
        assert_int_equal(how, STACK_SLICE_CUT);
        assert_string_equal(out.data, wanted);
        read_envelope(out.data);
    }
    assert_true(how == STACK_SLICE_CUT || !out.len);
    buf_free(&out);
    free(json);
    free(wanted);
}

static const char three[] = "{\"stackFrames\": [ {\"id\": 1, \"x\": 1e400}, {\"id\": 2},\n[3] ], "
                            "\"totalFrames\": 3}";

static void test_parts(void **state)
{
    (void)state;
    expect(three, 0, 1, "{\"stackFrames\": [{\"id\": 1, \"x\": 1e400}], \"totalFrames\": 3}");
    expect(three, 1, 1, "{\"stackFrames\": [{\"id\": 2}], \"totalFrames\": 3}");
    expect(three, 1, 19, "{\"stackFrames\": [{\"id\": 2},\n[3]], \"totalFrames\": 3}");
    expect(three, 1, 0, "{\"stackFrames\": [{\"id\": 2},\n[3]], \"totalFrames\": 3}");
    expect(three, 0, 2,
           "{\"stackFrames\": [{\"id\": 1, \"x\": 1e400}, {\"id\": 2}], \"totalFrames\": 3}");
    expect(three, 3, 0, "{\"stackFrames\": [], \"totalFrames\": 3}");
    expect(three, INT64_MAX, INT64_MAX, "{\"stackFrames\": [], \"totalFrames\": 3}");
}

static void test_the_whole(void **state)
{
    (void)state;
    expect(three, 0, 0, NULL);
    expect(three, 0, 3, NULL);
    expect(three, 0, INT64_MAX, NULL);
    expect("{\"stackFrames\":[],\"totalFrames\":0}", 0, 20, NULL);
}

static void test_the_total_is_told_always(void **state)
{
    (void)state;
    expect("{\"stackFrames\":[1,2]}", 0, 0, "{\"totalFrames\":2,\"stackFrames\":[1,2]}");
    expect("{\"stackFrames\":[1,2]}", 1, 1, "{\"totalFrames\":2,\"stackFrames\":[2]}");
    expect("{\"totalFrames\":1,\"stackFrames\":[1,2]}", 0, 1,
           "{\"totalFrames\":2,\"stackFrames\":[1]}");
    expect("{\"totalFrames\":\"7\",\"stackFrames\":[1,2]}", 0, 1,
           "{\"totalFrames\":2,\"stackFrames\":[1]}");
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    static const char part[] = "{\"stackFrames\":[1,2],\"totalFrames\":5}";
    expect(part, 0, 1, "{\"stackFrames\":[1],\"totalFrames\":5}");
    expect(part, 0, 2, "{\"stackFrames\":[1,2],\"totalFrames\":5}");
    expect(part, 0, 3, "");
    expect(part, 0, 0, "");
    expect(part, 1, 2, "");
    expect(part, 2, 1, "");
    expect(part, INT64_MAX, 1, "");
    expect("{\"stackFrames\":{}}", 0, 1, "");
    expect("{\"totalFrames\":1}", 0, 1, "");
    expect("null", 0, 1, "");
    static const char failed[] = "{\"seq\":1,\"type\":\"response\",\"request_seq\":1,"
                                 "\"success\":false,\"command\":\"stackTrace\","
                                 "\"body\":{\"stackFrames\":[1,2],\"totalFrames\":2}}";
    struct buf out = {0};
    struct envelope response = read_envelope(failed);
    assert_int_equal(
        stack_slice(failed, sizeof failed - 1, &response, (struct stack_range){0, 1}, &out),
        STACK_SLICE_MISSING);
}

static void expect_range(const char *rest, int64_t start, int64_t levels)
{
    char *json = mem_format("{\"seq\":1,\"type\":\"request\",\"command\":\"stackTrace\"%s}", rest);
    struct envelope request = read_envelope(json);
    struct stack_range range = stack_range_read(json, &request);
    assert_int_equal(range.start, start);
    assert_int_equal(range.levels, levels);
    free(json);
}

static void test_what_is_asked(void **state)
{
    (void)state;
    expect_range("", 0, 0);
    expect_range(",\"arguments\":{\"threadId\":1}", 0, 0);
    expect_range(",\"arguments\":{\"threadId\":1,\"startFrame\":1,\"levels\":19}", 1, 19);
    expect_range(",\"arguments\":{\"startFrame\":-1,\"levels\":-19}", 0, 0);
    expect_range(",\"arguments\":{\"startFrame\":1.5,\"levels\":\"19\"}", 0, 0);
    expect_range(",\"arguments\":[1]", 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_the_whole),
        cmocka_unit_test(test_the_total_is_told_always),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_what_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
