/* Which frame of a stack a stopped task is said to stand in. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "relay/stack/user_frame.h"

#include <stdlib.h>
#include <string.h>

#define RESPONSE(success, body)                                                                    \
    "{\"seq\":3,\"type\":\"response\",\"request_seq\":2,\"command\":\"stackTrace\","               \
    "\"success\":" success ",\"body\":" body "}"
#define STACK(frames) RESPONSE("true", "{\"stackFrames\":[" frames "],\"totalFrames\":9}")
#define FRAME(path, line)                                                                          \
    "{\"id\":1,\"name\":\"f\",\"source\":{\"path\":\"" path                                        \
    "\",\"sourceReference\":0},\"line\":" line ",\"column\":1}"
#define SUBTLE(path, line)                                                                         \
    "{\"presentationHint\":\"subtle\",\"source\":{\"path\":\"" path "\"},\"line\":" line "}"

static bool read_location(const char *json, char **file, int64_t *line)
{
    struct envelope envelope;
    const char *problem = "none given";
    if (envelope_read(&envelope, json, strlen(json), &problem) != 0)
        fail_msg("%s: %s", problem, json);
    return user_frame_read(json, &envelope, file, line);
}

static void check(const char *json, const char *file, int64_t line)
{
    char *got = NULL;
    int64_t at = -7;
    if (!read_location(json, &got, &at))
        fail_msg("no location in %s", json);
    assert_string_equal(got, file);
    assert_int_equal(at, line);
    free(got);
}

/* The outputs stay as they were. */
static void check_none(const char *json)
{
    char untouched[] = "untouched", *got = untouched;
    int64_t at = -7;
    if (read_location(json, &got, &at))
        fail_msg("a location in %s", json);
    assert_ptr_equal(got, untouched);
    assert_int_equal(at, -7);
}

static void the_top_frame(void **state)
{
    (void)state;
    check(STACK(FRAME("/w/a.py", "12")), "/w/a.py", 12);
    check(STACK(FRAME("/w/a.py", "12") "," FRAME("/w/b.py", "5")), "/w/a.py", 12);
    check(STACK(FRAME("/w/\\u00e4 \\\"b\\\".py", "1")), "/w/\xC3\xA4 \"b\".py", 1);
    check(STACK(FRAME("/w/a.py", "9223372036854775807")), "/w/a.py", INT64_MAX);
    check(
        STACK(
            "{\"presentationHint\":\"normal\",\"line\":3,\"source\":{\"path\":\"/w/a.py\"}}," FRAME(
                "/w/b.py", "5")),
        "/w/a.py", 3);
}

static void rays_own_frames_are_passed_over(void **state)
{
    (void)state;
    static const char *const rays[] = {
        "/v/lib/python3.11/site-packages/ray/util/debugpy.py",
        "/v/lib/python3.11/site-packages/ray/_private/worker.py",
        "/v/lib/python3.11/site-packages/ray/actor.py",
        "/usr/lib/python3/dist-packages/ray/util/rpdb.py",
        "/src/ray/python/ray/_private/worker.py",
        "/src/ray/python/ray/util/rpdb.py",
    };
    for (size_t i = 0; i < sizeof rays / sizeof *rays; i++) {
        char *json = mem_format(STACK(FRAME("%s", "1") "," FRAME("/w/a.py", "12")), rays[i]);
        check(json, "/w/a.py", 12);
        free(json);
    }
    check(STACK(SUBTLE("/usr/lib/python3.11/threading.py",
                       "1") "," FRAME("/v/site-packages/ray/actor.py",
                                      "2") "," FRAME("/w/a.py", "12") "," FRAME("/w/b.py", "13")),
          "/w/a.py", 12);
}

/* Ray's images have the user's files in the home of a user "ray". */
static void users_files_that_look_like_rays(void **state)
{
    (void)state;
    static const char *const users[] = {
        "/home/ray/util/train.py", "/home/ray/_private/train.py",
        "/home/ray/train.py",      "/v/lib/python3.11/site-packages/raydp/x.py",
        "/w/my-site-packages.py",
    };
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        char *json = mem_format(STACK(FRAME("%s", "12") "," FRAME("/w/a.py", "1")), users[i]);
        check(json, users[i], 12);
        free(json);
    }
}

static void the_topmost_of_all_if_none_is_the_users(void **state)
{
    (void)state;
    check(STACK(SUBTLE("/usr/lib/python3.11/threading.py",
                       "7") "," FRAME("/v/site-packages/ray/actor.py", "8")),
          "/usr/lib/python3.11/threading.py", 7);
    check(STACK(FRAME("/v/site-packages/ray/actor.py", "8") "," SUBTLE("/x.py", "9")),
          "/v/site-packages/ray/actor.py", 8);
}

static void frames_without_a_file_are_passed_over(void **state)
{
    (void)state;
    static const char *const frames[] = {
        "1",
        "null",
        "[]",
        "{}",
        "{\"line\":1}",
        "{\"line\":1,\"source\":null}",
        "{\"line\":1,\"source\":{}}",
        "{\"line\":1,\"source\":{\"path\":null}}",
        "{\"line\":1,\"source\":{\"path\":5}}",
        "{\"line\":1,\"source\":\"path\"}",
        "{\"source\":{\"path\":\"/w/no.py\"}}",
        "{\"line\":\"1\",\"source\":{\"path\":\"/w/no.py\"}}",
        "{\"line\":1.5,\"source\":{\"path\":\"/w/no.py\"}}",
        "{\"line\":null,\"source\":{\"path\":\"/w/no.py\"}}",
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        char *json = mem_format(STACK("%s," FRAME("/w/a.py", "12")), frames[i]);
        check(json, "/w/a.py", 12);
        free(json);
        json = mem_format(STACK(FRAME("/v/site-packages/ray/actor.py", "8") ",%s"), frames[i]);
        check(json, "/v/site-packages/ray/actor.py", 8);
        free(json);
        json = mem_format(STACK("%s"), frames[i]);
        check_none(json);
        free(json);
    }
}

static void no_stack(void **state)
{
    (void)state;
    check_none(STACK(""));
    check_none(RESPONSE("true", "{}"));
    check_none(RESPONSE("true", "null"));
    check_none(RESPONSE("true", "[" FRAME("/w/a.py", "1") "]"));
    check_none(RESPONSE("true", "{\"stackFrames\":null}"));
    check_none(RESPONSE("true", "{\"stackFrames\":" FRAME("/w/a.py", "1") "}"));
    check_none(RESPONSE("false", "{\"stackFrames\":[" FRAME("/w/a.py", "1") "]}"));
    check_none("{\"type\":\"response\",\"request_seq\":2,\"command\":\"stackTrace\","
               "\"success\":true}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_top_frame),
        cmocka_unit_test(rays_own_frames_are_passed_over),
        cmocka_unit_test(users_files_that_look_like_rays),
        cmocka_unit_test(the_topmost_of_all_if_none_is_the_users),
        cmocka_unit_test(frames_without_a_file_are_passed_over),
        cmocka_unit_test(no_stack),
    };
    return cmocka_run_group_tests_name("user_frame", tests, NULL, NULL);
}
