/* The operator's switch, given up before the cluster has answered. Its answers have conversations:
 * tests/conversations/test_stack.py. */
#include "cmocka_prelude.h"

#include "relay/evidence/profiling_switch.h"

static void on_switch(void *arg, const struct err *err)
{
    (void)err;
    *(bool *)arg = true;
}

/* With a sanitizer it is seen whether all memory is freed. */
static void test_freed_before_the_version_is_known(void **state)
{
    (void)state;
    struct err err;
    bool called = false, answered = false; /* nobody listens there: an answer may come at once */
    struct loop *loop = loop_create(false, &err);
    assert_non_null(loop);
    struct cluster_address address = {.kind = CLUSTER_ADDRESS_GCS, .text = "127.0.0.1:1"};
    struct cluster *cluster = cluster_create(loop, &address, &err);
    assert_non_null(cluster);
    struct profiling_switch *profiling = profiling_switch_ask(cluster, on_switch, &called);
    profiling_switch_free(&profiling);
    assert_null(profiling);
    profiling = profiling_switch_ask(cluster, on_switch, &answered);
    loop_run_once(loop, 0);
    profiling_switch_free(&profiling);
    cluster_destroy(&cluster);
    loop_destroy(&loop);
    assert_false(called);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freed_before_the_version_is_known),
    };
    return cmocka_run_group_tests_name("profiling_switch", tests, NULL, NULL);
}
