/* Who has come, who is missing. */
#include "cmocka_prelude.h"

#include "relay/verbs/barrier.h"

#include <stdio.h>

static struct barrier *make(int64_t count)
{
    struct barrier *barrier = barrier_create("train.py:41");
    for (int64_t rank = 0; rank < count; rank++) {
        char name[64];
        snprintf(name, sizeof name, "rank %lld Trainer.step", (long long)rank);
        const struct task_list_item who = {rank + 1, rank, name};
        barrier_expect(barrier, &who);
    }
    return barrier;
}

static void check(const struct barrier *barrier, const char *expected)
{
    struct buf out = {0};
    barrier_text(barrier, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void test_the_last_one_is_named(void **state)
{
    (void)state;
    struct barrier *barrier = make(24);
    for (int64_t thread = 1; thread <= 24; thread++)
        if (thread != 8)
            assert_true(barrier_arrive(barrier, thread));
    assert_false(barrier_complete(barrier));
    barrier_note(barrier, 8, "running");
    check(barrier, "barrier train.py:41: 23 of 24, missing: rank 7 Trainer.step (running)");
    assert_true(barrier_expects(barrier, 8));
    assert_true(barrier_arrive(barrier, 8));
    assert_true(barrier_complete(barrier));
    check(barrier, "barrier train.py:41: 24 of 24");
    barrier_destroy(&barrier);
}

static void test_many_that_are_missing_are_a_range(void **state)
{
    (void)state;
    struct barrier *barrier = make(10);
    assert_true(barrier_arrive(barrier, 3));
    check(barrier, "barrier train.py:41: 1 of 10, missing: rank 0, 1, 3-9");
    barrier_destroy(&barrier);
}

static void test_one_that_dies_is_not_waited_for(void **state)
{
    (void)state;
    struct barrier *barrier = make(3);
    struct buf out = {0};
    assert_true(barrier_arrive(barrier, 1));
    assert_false(barrier_arrive(barrier, 1));
    assert_false(barrier_arrive(barrier, 99));
    assert_true(barrier_leave(barrier, 2, "its worker died"));
    assert_false(barrier_leave(barrier, 2, "again"));
    assert_false(barrier_arrive(barrier, 2));
    check(barrier, "barrier train.py:41: 1 of 2, missing: rank 2 Trainer.step; "
                   "no longer waited for: rank 1 Trainer.step (its worker died)");
    assert_true(barrier_leave(barrier, 1, "it ended")); /* it had come */
    assert_int_equal(barrier_arrived(barrier), 0);
    assert_true(barrier_arrive(barrier, 3));
    assert_true(barrier_complete(barrier));
    assert_true(barrier_holds(barrier, 3));
    barrier_json(barrier, &out);
    assert_string_equal(
        out.data, "{\"place\":\"train.py:41\",\"arrived\":[3],\"missing\":[],\"gone\":["
                  "{\"threadId\":1,\"name\":\"rank 0 Trainer.step\",\"what\":\"it ended\"},"
                  "{\"threadId\":2,\"name\":\"rank 1 Trainer.step\",\"what\":\"its worker died\"}],"
                  "\"complete\":true}");
    buf_free(&out);
    barrier_destroy(&barrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_one_is_named),
        cmocka_unit_test(test_many_that_are_missing_are_a_range),
        cmocka_unit_test(test_one_that_dies_is_not_waited_for),
    };
    return cmocka_run_group_tests_name("barrier", tests, NULL, NULL);
}
