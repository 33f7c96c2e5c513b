/* Frames of Ray's machinery get a hint; every other byte stays. */
#include "cmocka_prelude.h"

#include "relay/stack/ray_frames.h"

#include <string.h>

static bool mark(const char *json, struct buf *out)
{
    struct envelope envelope;
    const char *problem;
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    return ray_frames_mark(json, strlen(json), &envelope, out);
}

#define HEAD                                                                                       \
    "{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,"                         \
    "\"command\":\"stackTrace\",\"body\":{\"stackFrames\":["
#define USER "{\"id\":9007199254740993,\"name\":\"square\",\"source\":{\"path\":\"/a/app.py\"}}"
#define RAY_TAIL                                                                                   \
    "\"id\":4,\"name\":\"main_loop\","                                                             \
    "\"source\":{\"path\":\"/x/site-packages/ray/_private/worker.py\"}}"
#define CYTHON_TAIL "\"id\":5,\"name\":\"ray._raylet.execute_task\",\"source\":{\"path\":\"\"}}"
#define TAIL "],\"totalFrames\":3}}"

static void test_only_rays_frames_are_marked(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_true(mark(HEAD USER ",{" RAY_TAIL ",{" CYTHON_TAIL TAIL, &out));
    assert_string_equal(out.data, HEAD USER ",{\"presentationHint\":\"subtle\"," RAY_TAIL
                                            ",{\"presentationHint\":\"subtle\"," CYTHON_TAIL TAIL);
    buf_free(&out);
}

static void test_a_hint_that_is_there_stays(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_false(mark(HEAD USER ",{\"presentationHint\":\"label\"," RAY_TAIL TAIL, &out));
    assert_int_equal(out.len, 0);
    buf_free(&out);
}

static void test_nothing_to_mark(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_false(mark(HEAD USER TAIL, &out));
    assert_false(mark(HEAD TAIL, &out));
    assert_false(mark(HEAD "1,null,\"x\"" TAIL, &out));
    assert_false(mark("{\"type\":\"response\",\"request_seq\":2,\"command\":\"stackTrace\","
                      "\"body\":{\"stackFrames\":7}}",
                      &out));
    assert_false(
        mark("{\"type\":\"response\",\"request_seq\":2,\"command\":\"stackTrace\"}", &out));
    assert_int_equal(out.len, 0);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_rays_frames_are_marked),
        cmocka_unit_test(test_a_hint_that_is_there_stays),
        cmocka_unit_test(test_nothing_to_mark),
    };
    return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
