/* Records come into a view beside those that are there, and those that nothing is about go. */
#include "cmocka_prelude.h"
#include "view_fixture.h"

#include <stdio.h>

static struct ray_worker *one_worker(const char *id, int64_t pid, int64_t paused_threads)
{
    struct ray_worker *worker = mem_array(1, sizeof *worker);
    *worker = (struct ray_worker){
        .pid = pid, .is_alive = true, .debugger_port = 40001, .paused_threads = paused_threads};
    worker->ip = mem_string("10.0.0.7");
    text_copy(worker->worker_id, sizeof worker->worker_id, id);
    return worker;
}

static void what_a_worker_runs_stays_known(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    add_worker(&view, WORKER, "10.0.0.7", 1);
    add_running(last_stats(&view), TASK);
    add_worker(&view, OTHER_WORKER, "10.0.0.7", 2);
    add_running(last_stats(&view), OTHER_TASK);
    assert_non_null(cluster_view_worker(&view, WORKER));
    cluster_view_set_workers(&view, one_worker(OTHER_WORKER, 3, 1), 1);
    assert_null(cluster_view_worker(&view, WORKER));
    assert_int_equal(cluster_view_worker(&view, OTHER_WORKER)->pid, 3);
    assert_true(view.running[0].known);
    assert_string_equal(view.running[0].stats.running_task_ids[0], OTHER_TASK);
    cluster_view_set_workers(&view, one_worker(WORKER, 4, 1), 1);
    assert_false(view.running[0].known);
    assert_int_equal(view.running[0].stats.running_task_id_count, 0);
    cluster_view_clear(&view);
}

static void workers_are_put_beside_others(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    add_worker(&view, WORKER, "10.0.0.7", 1);
    add_running(last_stats(&view), TASK);
    cluster_view_put_workers(&view, one_worker(WORKER, 5, 0), 1);
    cluster_view_put_workers(&view, one_worker(OTHER_WORKER, 6, 1), 1);
    cluster_view_put_workers(&view, NULL, 0);
    assert_int_equal(view.worker_count, 2);
    assert_int_equal(cluster_view_worker(&view, WORKER)->pid, 5);
    assert_true(view.running[0].known);
    assert_int_equal(cluster_view_worker(&view, OTHER_WORKER)->pid, 6);
    assert_false(view.running[1].known);
    cluster_view_clear(&view);
}

struct left {
    char text[200];
};

static void note_left(void *arg, const char *worker_id)
{
    struct left *left = arg;
    size_t used = strlen(left->text);
    snprintf(left->text + used, sizeof left->text - used, "%.2s ", worker_id);
}

static void who_does_not_wait_any_more_is_told(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct left left = {0};
    add_worker(&view, UNIQUE_ID("a1"), "10.0.0.7", 1);
    add_worker(&view, UNIQUE_ID("a2"), "10.0.0.7", 2);
    add_worker(&view, UNIQUE_ID("a3"), "10.0.0.7", 3)->paused_threads = 0;
    add_worker(&view, UNIQUE_ID("a4"), "10.0.0.7", 4)->is_alive = false;
    cluster_view_put_waiting(&view, one_worker(UNIQUE_ID("a2"), 2, 3), 1, note_left, &left);
    assert_string_equal(left.text, "a1 ");
    assert_int_equal(cluster_view_worker(&view, UNIQUE_ID("a1"))->paused_threads, 0);
    assert_int_equal(cluster_view_worker(&view, UNIQUE_ID("a2"))->paused_threads, 3);
    cluster_view_put_waiting(&view, one_worker(UNIQUE_ID("a5"), 5, 1), 1, note_left, &left);
    assert_string_equal(left.text, "a1 a2 ");
    assert_int_equal(view.worker_count, 5);
    cluster_view_put_waiting(&view, NULL, 0, note_left, &left);
    assert_string_equal(left.text, "a1 a2 a5 ");
    cluster_view_clear(&view);
}

static void actors_of_no_pause_are_dropped(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct ray_actor *actors = mem_array(2, sizeof *actors);
    add_worker(&view, WORKER, "10.0.0.7", 1);
    text_copy(last_stats(&view)->actor_id, sizeof view.running->stats.actor_id, ACTOR);
    text_copy(actors[0].actor_id, sizeof actors[0].actor_id, ACTOR_ID("d2"));
    text_copy(actors[1].actor_id, sizeof actors[1].actor_id, ACTOR);
    cluster_view_set_actors(&view, actors, 2);
    assert_non_null(cluster_view_actor(&view, ACTOR_ID("d2")));
    cluster_view_drop_actors(&view);
    assert_int_equal(view.actor_count, 1);
    assert_ptr_equal(cluster_view_actor(&view, ACTOR), view.actors);
    assert_null(cluster_view_actor(&view, ACTOR_ID("d2")));
    actors = mem_array(1, sizeof *actors);
    text_copy(actors->actor_id, sizeof actors->actor_id, ACTOR_ID("d3"));
    cluster_view_put_actors(&view, actors, 1);
    assert_non_null(cluster_view_actor(&view, ACTOR_ID("d3")));
    assert_non_null(cluster_view_actor(&view, ACTOR));
    cluster_view_clear(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_worker_runs_stays_known),
        cmocka_unit_test(workers_are_put_beside_others),
        cmocka_unit_test(who_does_not_wait_any_more_is_told),
        cmocka_unit_test(actors_of_no_pause_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
