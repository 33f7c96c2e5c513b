/* From what Ray says of workers, tasks, actors and its pdb entries to the rows of a list. */
#include "cmocka_prelude.h"
#include "view_fixture.h"

/* --- workers --- */

static void waiting_worker_with_one_task(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 4711);
    add_running(last_stats(&view), TASK);
    add_task(&view, TASK, "square", 1700000001000);
    add_task(&view, OTHER_TASK, "cube", 1600000000000);
    add_node(&view);
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 1);
    const struct pause *pause = &list.items[0];
    assert_string_equal(pause->task_id, TASK);
    assert_string_equal(pause->task_name, "square");
    assert_string_equal(pause->job_id, JOB); /* the worker's word goes before the task's */
    assert_string_equal(pause->worker_id, WORKER);
    assert_string_equal(pause->node_id, NODE);
    assert_string_equal(pause->node_ip, "10.0.0.7"); /* the worker's own, not the node's */
    assert_string_equal(pause->node_name, "head-node");
    assert_string_equal(pause->host, "10.0.0.7");
    assert_string_equal(pause->actor_id, "");
    assert_null(pause->actor_class);
    assert_null(pause->actor_name);
    assert_null(pause->file);
    assert_null(pause->candidates);
    assert_int_equal(pause->port, 40001);
    assert_int_equal(pause->pid, 4711);
    assert_int_equal(pause->paused_threads, 1);
    assert_int_equal(pause->state, PAUSE_WAITING);
    assert_int_equal(pause->debugger, PAUSE_DEBUGPY);
    assert_true(pause->since_ms == 1700000001000);
    assert_false(pause->ambiguous);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

static enum pause_state state_of_last(struct cluster_view *view)
{
    struct pause_list list;
    cluster_view_pauses(view, &list);
    assert_true(list.count > 0);
    enum pause_state result = list.items[list.count - 1].state;
    pause_list_clear(&list);
    return result;
}

static void states_of_a_worker(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct ray_worker *worker = add_worker(&view, WORKER, "10.0.0.7", 1);
    assert_int_equal(state_of_last(&view), PAUSE_WAITING);
    worker->paused_threads = 0;
    assert_int_equal(state_of_last(&view), PAUSE_ATTACHED); /* it did not say what it runs */
    struct ray_worker_stats *stats = last_stats(&view);
    assert_int_equal(state_of_last(&view), PAUSE_IDLE);
    stats->running_tasks = 1; /* the count is right even without the ids */
    assert_int_equal(state_of_last(&view), PAUSE_ATTACHED);
    stats->running_tasks = 0;
    add_running(stats, TASK);
    assert_int_equal(state_of_last(&view), PAUSE_ATTACHED);
    worker->paused_threads = 2;
    assert_int_equal(state_of_last(&view), PAUSE_WAITING);
    cluster_view_clear(&view);
}

/* A driver runs no task: it is named by its job's command line, and is never idle. */
static void a_driver_is_named_and_not_idle(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    struct ray_worker *worker = add_worker(&view, WORKER, "10.0.0.7", 4711);
    worker->is_driver = true;
    last_stats(&view);
    cluster_view_pauses(&view, &list);
    assert_string_equal(list.items[0].task_name, "driver");
    assert_string_equal(list.items[0].task_id, "");
    assert_false(list.items[0].name_pending);
    pause_list_clear(&list);
    add_job(&view, false);
    view.jobs->entrypoint = mem_string("python train.py");
    worker->paused_threads = 0;
    cluster_view_pauses(&view, &list);
    assert_string_equal(list.items[0].task_name, "driver train.py");
    assert_int_equal(list.items[0].state, PAUSE_ATTACHED);
    pause_list_clear(&list);
    /* The dashboard gives no job of a driver. */
    text_copy(view.running->stats.job_id, sizeof view.running->stats.job_id, "");
    cluster_view_pauses(&view, &list);
    assert_string_equal(list.items[0].task_name, "driver");
    pause_list_clear(&list);
    view.jobs->driver_pid = 4711;
    view.jobs->driver_ip = mem_string("10.0.0.7");
    cluster_view_pauses(&view, &list);
    assert_string_equal(list.items[0].task_name, "driver train.py");
    assert_string_equal(list.items[0].job_id, JOB);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

/* A worker that was killed while it was paused keeps its count. */
static void only_live_workers_with_a_port_are_listed(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 1)->is_alive = false;
    add_worker(&view, OTHER_WORKER, "10.0.0.7", 2)->debugger_port = 0;
    assert_false(cluster_view_has_debugger(&view.workers[0]));
    assert_false(cluster_view_has_debugger(&view.workers[1]));
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 0);
    pause_list_clear(&list);
    view.workers[0].is_alive = true;
    assert_true(cluster_view_has_debugger(&view.workers[0]));
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].worker_id, WORKER);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

/* Ray leaves the records of a dead node's workers as they were. */
static void workers_of_a_dead_node_are_not_listed(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    struct ray_node *nodes = mem_array(1, sizeof *nodes);
    add_worker(&view, WORKER, "10.0.0.7", 1);
    add_worker(&view, OTHER_WORKER, "10.0.0.8", 2);
    text_copy(view.workers[1].node_id, sizeof view.workers[1].node_id, OTHER_NODE);
    text_copy(nodes->node_id, sizeof nodes->node_id, OTHER_NODE);
    nodes->end_ms = 1763697603000;
    cluster_view_set_nodes(&view, nodes, 1);
    cluster_view_bury_workers(&view);
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].worker_id, WORKER);
    pause_list_clear(&list);
    enum death_kind kind;
    char *sentence = cluster_view_death_cause(&view, OTHER_WORKER, &kind);
    assert_string_equal(sentence, "worker pid 2 on 10.0.0.8 went with its node, which Ray declared "
                                  "dead at 04:00:03 UTC");
    assert_int_equal(kind, DEATH_OTHER);
    free(sentence);
    view.nodes[0].end_detail = mem_string("it missed its health checks");
    sentence = cluster_view_death_cause(&view, OTHER_WORKER, &kind);
    assert_non_null(strstr(sentence, "UTC: it missed its health checks"));
    free(sentence);
    cluster_view_clear(&view);
}

/* The GCS may list an ended worker as alive for ever. */
static void a_worker_that_its_raylet_calls_dead_is_not_listed(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 1);
    add_worker(&view, OTHER_WORKER, "10.0.0.8", 2);
    view.running[1].dead = true;
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].worker_id, WORKER);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

static void nothing_gives_nothing(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 0);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

/* Before it was asked, and when it did not answer: what the row of the worker says is enough. */
static void what_runs_is_unknown(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    for (int asked = 0; asked < 2; asked++) {
        struct pause_list list;
        add_worker(&view, WORKER, asked ? NULL : "10.0.0.7", 1);
        if (!asked) {
            free(view.running);
            view.running = NULL;
        }
        cluster_view_pauses(&view, &list);
        assert_int_equal(list.count, 1);
        assert_string_equal(list.items[0].task_id, "");
        assert_string_equal(list.items[0].job_id, "");
        assert_null(list.items[0].task_name);
        assert_false(list.items[0].ambiguous);
        assert_int_equal(list.items[0].state, PAUSE_WAITING);
        /* No ip at all: this machine. */
        assert_string_equal(list.items[0].host, asked ? "127.0.0.1" : "10.0.0.7");
        assert_int_equal(list.items[0].node_ip == NULL, asked);
        pause_list_clear(&list);
        cluster_view_clear(&view);
    }
}

static void task_without_an_event_yet(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 1);
    add_running(last_stats(&view), TASK);
    cluster_view_pauses(&view, &list);
    assert_string_equal(list.items[0].task_id, TASK);
    assert_null(list.items[0].task_name);
    assert_true(list.items[0].since_ms == 0);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

static void ip_of_the_node_where_the_worker_has_none(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "", 1);
    add_node(&view);
    cluster_view_pauses(&view, &list);
    assert_string_equal(list.items[0].node_ip, "10.0.0.99");
    assert_string_equal(list.items[0].host, "10.0.0.99");
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

/* --- several tasks in one worker --- */

static void check_candidates(const char *first, const char *second, const char *name)
{
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 1);
    struct ray_worker_stats *stats = last_stats(&view);
    add_running(stats, TASK);
    add_running(stats, OTHER_TASK);
    text_copy(stats->actor_id, sizeof stats->actor_id, ACTOR);
    if (first)
        add_task(&view, TASK, first, 1700000009000);
    if (second)
        add_task(&view, OTHER_TASK, second, 1700000002000);
    cluster_view_pauses(&view, &list);
    const struct pause *pause = &list.items[0];
    assert_true(pause->ambiguous);
    assert_int_equal(pause->name_pending, !first || !second); /* the caller should ask again */
    assert_string_equal(pause->task_id, TASK);
    assert_int_equal(pause->candidate_count, 2);
    assert_string_equal(pause->candidates[0], TASK);
    assert_string_equal(pause->candidates[1], OTHER_TASK);
    assert_string_equal(pause->actor_id, ACTOR);
    assert_true(text_equal(pause->task_name, name));
    assert_true(pause->since_ms == (second ? 1700000002000 : first ? 1700000009000 : 0));
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

static void several_tasks_are_candidates(void **state)
{
    (void)state;
    check_candidates("Trainer.step", "Trainer.step", "Trainer.step");
    check_candidates("Trainer.step", "Trainer.stop", NULL);
    check_candidates("Trainer.step", NULL, NULL); /* the other may be called anything */
    check_candidates(NULL, "Trainer.step", NULL);
    check_candidates(NULL, NULL, NULL);
    check_candidates("Trainer.step", "", NULL);
    check_candidates("", "", NULL);
}

/* An unknown time is no early one. */
static void unknown_start_of_a_candidate(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 1);
    struct ray_worker_stats *stats = last_stats(&view);
    add_running(stats, TASK);
    add_running(stats, OTHER_TASK);
    add_task(&view, TASK, "f", 1700000009000);
    add_task(&view, OTHER_TASK, "f", 0);
    cluster_view_pauses(&view, &list);
    assert_true(list.items[0].since_ms == 1700000009000);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

/* --- actors --- */

static void actor_thread_with_no_task(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 1);
    struct ray_worker_stats *stats = last_stats(&view);
    text_copy(stats->actor_id, sizeof stats->actor_id, ACTOR);
    add_actor(&view);
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.items[0].state, PAUSE_WAITING); /* it waits, so it is not idle */
    assert_string_equal(list.items[0].task_id, "");
    assert_null(list.items[0].task_name);
    assert_string_equal(list.items[0].actor_id, ACTOR);
    assert_string_equal(list.items[0].actor_class, "Trainer");
    assert_string_equal(list.items[0].actor_name, "bob");
    assert_string_equal(list.items[0].job_id, JOB);
    pause_list_clear(&list);

    stats->job_id[0] = '\0';
    *view.actors->name = '\0';
    cluster_view_pauses(&view, &list);
    assert_string_equal(list.items[0].job_id, "03000000"); /* the actor's */
    assert_null(list.items[0].actor_name);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

/* --- pdb --- */

static void pdb_entry_with_ids(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, WORKER, "10.0.0.7", 4711)->debugger_port = 0;
    add_node(&view);
    add_task(&view, TASK, "square", 1600000000000);
    text_copy(view.tasks->parent_task_id, sizeof view.tasks->parent_task_id, OTHER_TASK);
    struct ray_pdb *pdb = add_pdb(&view);
    text_copy(pdb->uuid, sizeof pdb->uuid, "0123456789abcdef0123456789abcdef");
    text_copy(pdb->worker_id, sizeof pdb->worker_id, WORKER);
    text_copy(pdb->node_id, sizeof pdb->node_id, NODE);
    text_copy(pdb->task_id, sizeof pdb->task_id, TASK);
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 1);
    const struct pause *pause = &list.items[0];
    assert_int_equal(pause->debugger, PAUSE_PDB);
    assert_int_equal(pause->state, PAUSE_WAITING);
    assert_int_equal(pause->paused_threads, 1);
    assert_string_equal(pause->task_id, TASK);
    assert_string_equal(pause->task_name, "square");
    assert_string_equal(pause->parent_task_id, OTHER_TASK);
    assert_string_equal(pause->breakpoint, "0123456789abcdef0123456789abcdef");
    assert_string_equal(pause->job_id, JOB);
    assert_string_equal(pause->worker_id, WORKER);
    assert_string_equal(pause->node_ip, "10.0.0.7");
    assert_string_equal(pause->node_name, "head-node");
    assert_string_equal(pause->host, "localhost");
    assert_int_equal(pause->port, 39947);
    assert_int_equal(pause->pid, 4711);
    assert_string_equal(pause->file, "/app/square.py");
    assert_int_equal(pause->line, 12);
    assert_true(pause->since_ms == 1700000000000); /* the breakpoint's, not the task's */
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

/* Ray <= 2.34 leaves the ids out. */
static void pdb_entry_without_ids(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_pdb(&view);
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].task_id, "");
    assert_string_equal(list.items[0].task_name, "square");
    assert_int_equal(list.items[0].pid, 0);
    assert_null(list.items[0].node_ip);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

static size_t count_pauses(const struct cluster_view *view)
{
    struct pause_list list;
    cluster_view_pauses(view, &list);
    size_t count = list.count;
    pause_list_clear(&list);
    return count;
}

static void stale_pdb_entries_are_not_listed(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct ray_pdb *pdb = add_pdb(&view);
    assert_int_equal(count_pauses(&view), 1);
    add_job(&view, false);
    assert_int_equal(count_pauses(&view), 1);
    view.jobs->is_dead = true;
    assert_int_equal(count_pauses(&view), 0);
    view.jobs->is_dead = false;
    text_copy(pdb->worker_id, sizeof pdb->worker_id, WORKER); /* of which the GCS knows nothing */
    assert_int_equal(count_pauses(&view), 0);
    add_worker(&view, WORKER, "10.0.0.7", 1)->debugger_port = 0;
    assert_int_equal(count_pauses(&view), 1);
    view.jobs->is_dead = true; /* as a detached actor's may be */
    assert_int_equal(count_pauses(&view), 1);
    view.workers->is_driver = true;
    assert_int_equal(count_pauses(&view), 0);
    view.workers->is_driver = view.jobs->is_dead = false;
    view.workers->is_alive = false;
    assert_int_equal(count_pauses(&view), 0);
    view.workers->is_alive = true;
    free(pdb->address);
    pdb->address = mem_string(""); /* {"exit_debugger": true} */
    assert_int_equal(count_pauses(&view), 0);
    cluster_view_clear(&view);
}

/* --- order --- */

static void pauses_are_ordered_by_node_then_pid(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct pause_list list;
    add_worker(&view, UNIQUE_ID("01"), "10.0.0.9", 1);
    add_worker(&view, UNIQUE_ID("02"), "10.0.0.7", 70);
    add_worker(&view, UNIQUE_ID("03"), "10.0.0.7", 9);
    add_worker(&view, UNIQUE_ID("04"), "10.0.0.7", 9)->debugger_port = 30000;
    add_worker(&view, UNIQUE_ID("05"), NULL, 5);
    cluster_view_pauses(&view, &list);
    assert_int_equal(list.count, 5);
    static const char *const order[] = {UNIQUE_ID("05"), UNIQUE_ID("04"), UNIQUE_ID("03"),
                                        UNIQUE_ID("02"), UNIQUE_ID("01")};
    for (size_t i = 0; i < list.count; i++)
        assert_string_equal(list.items[i].worker_id, order[i]);
    pause_list_clear(&list);
    cluster_view_clear(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_worker_with_one_task),
        cmocka_unit_test(states_of_a_worker),
        cmocka_unit_test(a_driver_is_named_and_not_idle),
        cmocka_unit_test(only_live_workers_with_a_port_are_listed),
        cmocka_unit_test(workers_of_a_dead_node_are_not_listed),
        cmocka_unit_test(a_worker_that_its_raylet_calls_dead_is_not_listed),
        cmocka_unit_test(nothing_gives_nothing),
        cmocka_unit_test(what_runs_is_unknown),
        cmocka_unit_test(task_without_an_event_yet),
        cmocka_unit_test(ip_of_the_node_where_the_worker_has_none),
        cmocka_unit_test(several_tasks_are_candidates),
        cmocka_unit_test(unknown_start_of_a_candidate),
        cmocka_unit_test(actor_thread_with_no_task),
        cmocka_unit_test(pdb_entry_with_ids),
        cmocka_unit_test(pdb_entry_without_ids),
        cmocka_unit_test(stale_pdb_entries_are_not_listed),
        cmocka_unit_test(pauses_are_ordered_by_node_then_pid),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
