/* The counters of a stopped worker's node: which stop's they are. */
#include "cmocka_prelude.h"
#include "objects_world.h"
#include "waits.h"

enum { STORE_MS = 1000 }; /* so long does an answer count */

#define RUN_UNTIL(condition) WAIT_UNTIL((loop_run_once(world.loop, 1), condition))

static void answer_from_node(void)
{
    for (struct question *at = world.questions; at; at = at->next)
        if (at->what == NODE)
            at->timer = timer_start(world.loop, 0, answer, at);
}

/* Lets the worker go on for `ms`, and stop again. */
static void stop_again_after(int64_t ms)
{
    worker_objects_forget(objects);
    loop_skip(world.loop, ms);
    worker_objects_ask(objects);
}

/* A worker that stops while its node has yet to answer for the stop before. */
static void stop_twice_before_the_answer(int64_t ms)
{
    world.mute[NODE] = true;
    ask_with(NULL, 0);
    RUN_UNTIL(world.asked[NODE] == 1);
    stop_again_after(ms);
    run_until(WORKER_OBJECTS_KNOWN);
    assert_int_equal(world.asked[NODE], 1);
    assert_null(worker_objects_store(objects));
}

static void a_late_answer_is_not_this_stops(void **state)
{
    (void)state;
    stop_twice_before_the_answer(STORE_MS);
    answer_from_node();
    RUN_UNTIL(world.asked[NODE] == 2);
    assert_null(worker_objects_store(objects));
    answer_from_node();
    RUN_UNTIL(worker_objects_store(objects));
    assert_int_equal(world.asked[NODE], 2);
}

/* An answer that is not old yet counts, until the next one. */
static void a_quick_steps_counters_are_asked_for_later(void **state)
{
    (void)state;
    stop_twice_before_the_answer(0);
    answer_from_node();
    RUN_UNTIL((loop_skip(world.loop, 100), world.asked[NODE] == 2));
    assert_null(worker_objects_store(objects));
    answer_from_node();
    RUN_UNTIL(worker_objects_store(objects));
}

static void old_counters_are_not_shown_at_a_new_stop(void **state)
{
    (void)state;
    ask_with(NULL, 0);
    RUN_UNTIL(worker_objects_store(objects));
    stop_again_after(STORE_MS);
    assert_null(worker_objects_store(objects));
    RUN_UNTIL(worker_objects_store(objects));
    assert_int_equal(world.asked[NODE], 2);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(a_late_answer_is_not_this_stops),
        WITH(a_quick_steps_counters_are_asked_for_later),
        WITH(old_counters_are_not_shown_at_a_new_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
