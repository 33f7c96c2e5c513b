/* The answers of a worker that is asked if threads outlive its task. */
#include "cmocka_prelude.h"

#include "relay/stack/user_threads.h"

#include <string.h>

static bool stand(const char *json)
{
    struct envelope response;
    const char *problem;
    assert_int_equal(envelope_read(&response, json, strlen(json), &problem), 0);
    return user_threads_stand(json, &response);
}

#define RESPONSE                                                                                   \
    "{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"command\":\"evaluate\",\"success\":"

static void answers(void **state)
{
    (void)state;
    assert_true(stand(RESPONSE
                      "false,\"message\":\"Traceback:\\nLookupError: raydbg: a thread runs "
                      "code of the user\\n\"}"));
    assert_false(stand(RESPONSE "true,\"body\":{\"result\":\"None\"}}"));
    assert_false(stand(RESPONSE "false,\"message\":\"another client drives\"}"));
    assert_false(stand(RESPONSE "false}"));
}

static void the_question_has_no_frame(void **state)
{
    (void)state;
    struct buf arguments = {0};
    user_threads_query(&arguments);
    struct span all = {0, arguments.len}, value;
    assert_true(scan_find(arguments.data, all, "expression", &value));
    assert_false(scan_find(arguments.data, all, "frameId", &value));
    assert_non_null(strstr(arguments.data, user_threads_mark));
    buf_free(&arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers),
                                       cmocka_unit_test(the_question_has_no_frame)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
