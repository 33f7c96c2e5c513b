/* What a view knows of tasks, and of workers that are gone. */
#include "cmocka_prelude.h"
#include "view_fixture.h"

#include <stdio.h>

/* --- look-ups, tasks --- */

static void an_empty_id_is_nobodys(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    add_worker(&view, "", "10.0.0.7", 1);
    add_worker(&view, WORKER, "10.0.0.7", 2);
    add_actor(&view);
    add_node(&view);
    add_job(&view, false);
    assert_null(cluster_view_worker(&view, ""));
    assert_ptr_equal(cluster_view_worker(&view, WORKER), &view.workers[1]);
    assert_null(cluster_view_worker(&view, OTHER_WORKER));
    assert_ptr_equal(cluster_view_actor(&view, ACTOR), view.actors);
    assert_null(cluster_view_actor(&view, ""));
    assert_ptr_equal(cluster_view_node(&view, NODE), view.nodes);
    assert_null(cluster_view_node(&view, OTHER_NODE));
    assert_ptr_equal(cluster_view_job(&view, JOB), view.jobs);
    assert_null(cluster_view_job(&view, "02000000"));
    cluster_view_clear(&view);
}

static void a_known_task_is_replaced(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    add_task(&view, TASK, "square", 0);
    add_task(&view, OTHER_TASK, "cube", 0);
    add_task(&view, TASK, "square", 1700000000000);
    cluster_view_add_tasks(&view, NULL, 0);
    assert_int_equal(view.task_count, 2);
    assert_true(cluster_view_task(&view, TASK)->running_ms == 1700000000000);
    assert_string_equal(cluster_view_task(&view, OTHER_TASK)->name, "cube");
    cluster_view_clear(&view);
}

static void tasks_that_nobody_runs_are_dropped(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    add_task(&view, TASK, "square", 0);
    add_task(&view, OTHER_TASK, "cube", 0);
    add_task(&view, THIRD_TASK, "halve", 0);
    add_worker(&view, WORKER, "10.0.0.7", 1);
    add_running(last_stats(&view), OTHER_TASK);
    struct ray_pdb *pdb = add_pdb(&view);
    text_copy(pdb->task_id, sizeof pdb->task_id, THIRD_TASK);
    cluster_view_drop_tasks(&view);
    assert_int_equal(view.task_count, 2);
    assert_null(cluster_view_task(&view, TASK));
    assert_string_equal(cluster_view_task(&view, OTHER_TASK)->name, "cube");
    assert_string_equal(cluster_view_task(&view, THIRD_TASK)->name, "halve");
    view.running->stats.running_task_id_count = 0;
    pdb->task_id[0] = '\0';
    cluster_view_drop_tasks(&view);
    assert_int_equal(view.task_count, 0);
    cluster_view_clear(&view);
}

struct mentions {
    char text[400];
};

static void note_mention(void *arg, const char *task_id)
{
    struct mentions *mentions = arg;
    size_t used = strlen(mentions->text);
    snprintf(mentions->text + used, sizeof mentions->text - used, "%.2s ", task_id);
}

static void each_mention_of_a_task(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct mentions mentions = {""};
    add_worker(&view, WORKER, "10.0.0.7", 1);
    add_worker(&view, OTHER_WORKER, "10.0.0.7", 2);
    struct ray_worker_stats *stats = last_stats(&view);
    add_running(stats, TASK);
    add_running(stats, OTHER_TASK);
    add_pdb(&view);
    text_copy(add_pdb(&view)->task_id, ID_TEXT(ID_TASK_BYTES), TASK);
    cluster_view_each_task_id(&view, note_mention, &mentions);
    assert_string_equal(mentions.text, "c1 c2 c1 ");
    cluster_view_clear(&view);
}

/* --- death causes --- */

static void check_death(const struct cluster_view *view, const char *worker_id,
                        enum death_kind kind, const char *expected)
{
    enum death_kind found;
    char *sentence = cluster_view_death_cause(view, worker_id, &found);
    assert_int_equal(found, kind);
    if (expected)
        assert_string_equal(sentence, expected);
    else
        assert_null(sentence);
    free(sentence);
}

static void death_cause_of_a_worker(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct ray_worker *worker = add_worker(&view, WORKER, "10.0.0.7", 7);
    check_death(&view, WORKER, DEATH_UNKNOWN, NULL);
    check_death(&view, OTHER_WORKER, DEATH_UNKNOWN, NULL);
    check_death(&view, "", DEATH_UNKNOWN, NULL);
    worker->is_alive = false;
    check_death(&view, WORKER, DEATH_OTHER, "worker pid 7 on 10.0.0.7 died");
    worker->exit_type = mem_string("SYSTEM_ERROR");
    check_death(&view, WORKER, DEATH_OTHER, "worker pid 7 on 10.0.0.7 died: SYSTEM_ERROR");
    worker->exit_detail = mem_string("it was killed");
    check_death(&view, WORKER, DEATH_OTHER,
                "worker pid 7 on 10.0.0.7 died: SYSTEM_ERROR: it was killed; `raydbg why "
                "7@10.0.0.7` reads its last words");
    free(worker->exit_detail);
    worker->exit_detail =
        mem_string("Worker exits with an exit code 1. The process receives a SIGTERM.");
    check_death(
        &view, WORKER, DEATH_OTHER,
        "worker pid 7 on 10.0.0.7 died: SYSTEM_ERROR: Worker exits with an exit code 1. The "
        "process receives a SIGTERM.; that is, its process got a SIGTERM: from `ray stop`, "
        "a pod's or batch system's end, or `kill`");
    free(worker->exit_detail);
    worker->exit_detail = mem_string("it was killed");
    free(worker->exit_type);
    worker->exit_type = mem_string("INTENDED_USER_EXIT");
    free(worker->ip);
    worker->ip = NULL;
    check_death(&view, WORKER, DEATH_OTHER,
                "worker pid 7 on an unknown node ended: INTENDED_USER_EXIT: it was killed");
    free(worker->exit_detail);
    worker->exit_detail = mem_string("Worker exits because the job has finished.");
    check_death(&view, WORKER, DEATH_ORDINARY,
                "worker pid 7 on an unknown node ended: INTENDED_USER_EXIT: Worker exits because "
                "the job has finished.");
    cluster_view_clear(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_id_is_nobodys),
        cmocka_unit_test(a_known_task_is_replaced),
        cmocka_unit_test(tasks_that_nobody_runs_are_dropped),
        cmocka_unit_test(each_mention_of_a_task),
        cmocka_unit_test(death_cause_of_a_worker),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
