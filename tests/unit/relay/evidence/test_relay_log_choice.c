/* Which logs are read, and around which moment. */
#include "cmocka_prelude.h"

#include "base/err.h"
#include "base/text.h"
#include "relay/evidence/log_choice.h"
#include "relay/why_records/why_records.h"
#include "relay/why_records/why_subject.h"

#include <string.h>

/* A GCS says of the workers of a node that has died that they live, until it notices. */
static void a_worker_ends_with_its_node(void **state)
{
    (void)state;
    struct ray_node node = {
        .node_id = "aa", .ip = (char *)"10.0.0.7", .is_alive = false, .end_ms = 1700000002000};
    struct ray_worker workers[] = {
        {.worker_id = "bb", .node_id = "aa", .pid = 811, .is_alive = true, .start_ms = 1},
        {.worker_id = "cc",
         .node_id = "aa",
         .pid = 812,
         .is_alive = false,
         .start_ms = 1,
         .end_ms = 1700000001000},
        {.worker_id = "dd",
         .node_id = "aa",
         .pid = 813,
         .is_alive = false,
         .start_ms = 1,
         .end_ms = 1600000000000},
    };
    const struct why_records records = {
        .workers = workers, .worker_count = 3, .nodes = &node, .node_count = 1};
    const struct why_subject subject = {.kind = WHY_WORKER, .worker = &workers[0]};
    struct log_choice choice;
    struct err err = {0};
    int64_t at_ms;
    assert_int_equal(log_choice_around(&records, &subject, 5000, &choice, &at_ms, &err), 0);
    assert_int_equal(at_ms, node.end_ms);
    assert_int_equal(choice.count, 3); /* the raylet, too, and not the one that ended long before */
    assert_string_equal(choice.sources[0].name, "811");
    assert_int_equal(choice.sources[0].died_ms, node.end_ms);
    assert_string_equal(choice.sources[1].name, "812");
    assert_int_equal(choice.sources[1].died_ms, workers[1].end_ms);
    log_choice_clear(&choice);

    node.is_alive = true;
    assert_int_equal(log_choice_around(&records, &subject, 5000, &choice, &at_ms, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    log_choice_clear(&choice);
}

static void files_that_are_taken(void **state)
{
    (void)state;
    assert_true(log_choice_takes("raylet.out") && log_choice_takes("worker-bb-ff-811.err"));
    assert_true(log_choice_takes("old/worker-bb-ff-811.err"));
    assert_false(log_choice_takes("old/raylet.out") || log_choice_takes("worker-bb-ff-811.log"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_ends_with_its_node),
        cmocka_unit_test(files_that_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
