/* Numbers that the client has and the relay has not, and requests that wait. */
#include "cmocka_prelude.h"

#include "cli/dap/dap_pending.h"
#include "cli/dap/dap_renumber.h"

#include <stdlib.h>
#include <string.h>

static const char answer[] =
    "{\"seq\":8,\"type\":\"response\",\"command\":\"startDebugging\",\"success\":true,"
    "\"request_seq\":41}";

static void test_an_answer_finds_its_request(void **state)
{
    (void)state;
    struct renumber renumber = {0};
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    assert_int_equal(envelope_read(&envelope, answer, strlen(answer), &problem), 0);
    assert_false(renumber_restore(&renumber, answer, strlen(answer), &envelope, &out));
    renumber_note(&renumber, 40, 1);
    renumber_note(&renumber, 41, 2);
    renumber_note(&renumber, 42, 3);
    assert_true(renumber_restore(&renumber, answer, strlen(answer), &envelope, &out));
    assert_string_equal(out.data, "{\"seq\":8,\"type\":\"response\",\"command\":"
                                  "\"startDebugging\",\"success\":true,\"request_seq\":2}");
    assert_false(renumber_restore(&renumber, answer, strlen(answer), &envelope, &out)); /* once */
    renumber_clear(&renumber);
    buf_free(&out);
}

static void test_who_waits_is_answered_in_order(void **state)
{
    (void)state;
    struct pending_requests pending = {0};
    struct envelope request = {.kind = DAP_REQUEST, .name = "threads"};
    for (request.seq = 1; request.seq <= 4; request.seq++)
        pending_add(&pending, &request);
    pending_remove(&pending, 3);
    pending_remove(&pending, 3);
    struct pending_request *at = pending_take(&pending);
    for (int64_t seq = 1; seq <= 4; seq++) {
        if (seq == 3)
            continue;
        struct pending_request *next = at->next;
        assert_int_equal(at->seq, seq);
        assert_string_equal(at->command, "threads");
        free(at);
        at = next;
    }
    assert_null(at);
    assert_null(pending_take(&pending));
    pending_add(&pending, &request);
    pending_clear(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_finds_its_request),
        cmocka_unit_test(test_who_waits_is_answered_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
