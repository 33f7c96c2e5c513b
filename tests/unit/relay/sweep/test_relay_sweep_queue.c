/* Questions about objects: when they end, who gets the sweep, and what is remembered of tasks. */
#include "cmocka_prelude.h"
#include "object_sample.h"

#include "relay/sweep/sweep_queue.h"

#include <stdlib.h>

struct heard {
    int calls, code;
    struct object_sweep *sweep;
};

static int concluded, cleared;

static void conclude(struct sweep_request *request)
{
    assert_int_equal(request->outstanding, 0);
    concluded++;
}

static void clear(struct sweep_request *request)
{
    (void)request;
    cleared++;
}

static void hear(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct heard *heard = arg;
    heard->calls++;
    heard->code = err ? (int)err->code : 0;
    heard->sweep = sweep;
}

static struct loop *loop;
static struct sweep_queue *sweeper;

static int set_up(void **state)
{
    struct err err;
    (void)state;
    loop = loop_create(false, &err);
    sweeper = sweep_queue_create(loop, NULL);
    concluded = cleared = 0;
    return loop ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sweep_queue_destroy(&sweeper);
    loop_destroy(&loop);
    return 0;
}

static struct sweep_request *begin(struct heard *heard, struct object_sweep *sweep, bool own)
{
    struct sweep_request *request = sweep_request_create(sweeper, sizeof *request, hear, heard);
    request->sweep = sweep;
    request->own_sweep = own;
    request->conclude = conclude;
    request->clear = clear;
    return request;
}

static void run_loop(void)
{
    const bool never = false;
    loop_run_until(loop, &never, 20);
}

static void never_from_within(void **state)
{
    (void)state;
    struct heard heard = {0};
    struct object_sweep *sweep = sample_sweep(1);
    sweep_request_sent(begin(&heard, sweep, true));
    assert_int_equal(heard.calls, 0);
    run_loop();
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.code, 0);
    assert_ptr_equal(heard.sweep, sweep);
    assert_int_equal(concluded, 1);
    assert_int_equal(cleared, 1);
    object_sweep_free(&heard.sweep);
}

/* Answers come before or after the asker's own. */
static void concluded_by_whoever_is_last(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        struct heard heard = {0};
        struct object_sweep *sweep = sample_sweep(1);
        struct sweep_request *request = begin(&heard, sweep, false);
        request->outstanding++;
        sweep_request_sent(request);
        if (early)
            sweep_request_answered(request);
        run_loop();
        assert_int_equal(heard.calls, early);
        if (!early)
            sweep_request_answered(request);
        assert_int_equal(heard.calls, 1);
        assert_int_equal(concluded, early + 1);
        object_sweep_free(&sweep);
    }
}

static void an_error_is_told_without_the_sweep(void **state)
{
    (void)state;
    struct heard heard = {0};
    struct err first, second;
    struct sweep_request *request = begin(&heard, sample_sweep(1), true);
    err_set(&first, ERR_UNREACHABLE, "first");
    err_set(&second, ERR_DENIED, "second");
    sweep_request_fail(request, &first);
    sweep_request_fail(request, &second);
    sweep_request_answered(request);
    assert_int_equal(heard.code, ERR_UNREACHABLE);
    assert_null(heard.sweep);
}

static void cancelled(void **state)
{
    (void)state;
    struct heard mine = {0}, other = {0};
    struct object_sweep *callers = sample_sweep(1);
    struct sweep_request *details = begin(&mine, callers, false);
    struct sweep_request *sweep = begin(&mine, sample_sweep(1), true);
    struct sweep_request *kept = begin(&other, NULL, false);
    sweep_queue_cancel(sweeper, &mine);
    object_sweep_free(&callers); /* the caller may */
    sweep_request_answered(details);
    sweep_request_answered(sweep);
    sweep_request_answered(kept);
    assert_int_equal(mine.calls, 0);
    assert_int_equal(other.calls, 1);
    assert_int_equal(concluded, 1); /* the others have no sweep to put anything into */
    assert_int_equal(cleared, 3);
}

static void what_is_under_way_ends_with_it(void **state)
{
    (void)state;
    struct heard heard = {0};
    begin(&heard, sample_sweep(1), true);
    sweep_request_sent(begin(&heard, sample_sweep(1), true));
    sweep_queue_destroy(&sweeper);
    assert_int_equal(heard.calls, 0);
    assert_int_equal(cleared, 2);
}

/* --- tasks --- */

static struct ray_task task_of(unsigned number, int64_t running_ms, const char *name)
{
    struct ray_task task = {.running_ms = running_ms, .func_or_class = (char *)(uintptr_t) ""};
    snprintf(task.task_id, sizeof task.task_id, "%0*x", 2 * ID_TASK_BYTES, number);
    task.name = (char *)(uintptr_t)name;
    return task;
}

static void only_what_is_final_is_kept(void **state)
{
    (void)state;
    struct ray_task begun = task_of(1, 5, "a"), waiting = task_of(2, 0, "b"),
                    nameless = task_of(3, 5, ""), again = task_of(1, 7, "other");
    sweep_queue_keep_task(sweeper, &begun);
    sweep_queue_keep_task(sweeper, &waiting);
    sweep_queue_keep_task(sweeper, &nameless);
    sweep_queue_keep_task(sweeper, &again);
    assert_string_equal(sweep_queue_task(sweeper, begun.task_id)->name, "a");
    assert_null(sweep_queue_task(sweeper, waiting.task_id));
    assert_null(sweep_queue_task(sweeper, nameless.task_id));
}

static void not_too_many_are_kept(void **state)
{
    (void)state;
    enum { MANY = 25000 };
    size_t kept = 0;
    for (unsigned i = 0; i < MANY; i++) {
        struct ray_task task = task_of(i, 5, "a");
        sweep_queue_keep_task(sweeper, &task);
        assert_non_null(sweep_queue_task(sweeper, task.task_id));
    }
    for (unsigned i = 0; i < MANY; i++) {
        struct ray_task task = task_of(i, 5, "a");
        kept += sweep_queue_task(sweeper, task.task_id) != NULL;
    }
    assert_in_range(kept, 1000, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(never_from_within, set_up, tear_down),
        cmocka_unit_test_setup_teardown(concluded_by_whoever_is_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_error_is_told_without_the_sweep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_under_way_ends_with_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_what_is_final_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_too_many_are_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("sweeper", tests, NULL, NULL);
}
