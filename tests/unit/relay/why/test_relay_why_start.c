/* What starts: a runtime_env that is being set up, an actor whose __init__ runs. */
#include "why_world.h"

#include "relay/why/why_judge.h"

#include <string.h>

static void give_setup_log(struct why_world *world, const char *text)
{
    struct why_records *records = &world->records;
    records->logs = mem_resize(records->logs, records->log_count + 1, sizeof *records->logs);
    struct why_log *log = &records->logs[records->log_count++];
    *log = (struct why_log){.file = mem_string("runtime_env_setup-02000000.log"),
                            .text = mem_string(text),
                            .of_runtime_env = true};
    text_copy(log->node_id, sizeof log->node_id, records->nodes[0].node_id);
}

/* The beginnings are those of Ray 2.60. */
#define LINE "2026-11-26 06:00:00,123\tINFO utils.py:76 -- "
static const char *const running[] = {
    LINE "Run cmd[1] ['python', '-m', 'virtualenv']\n" LINE "Output of cmd[1]: created\n" LINE
         "Run cmd[2] ['pip', 'install', 'torch']\n",
    LINE "Run cmd[2] ['pip', 'install', 'torch']",
    LINE "Run cmd[2] ['pip', 'install', 'torch']\n" LINE "Cloning virtualenv\n",
};
static const char *const ended[] = {
    "",
    LINE "Run cmd[2] ['pip', 'install', 'torch']\n" LINE "No output for cmd[2]\n",
    LINE "Run cmd[2] ['pip', 'install', 'torch']\n" LINE "Output of cmd[2]: done\n",
    LINE "Run cmd[2] ['pip', 'install', 'torch']\nTraceback (most recent call last):\n",
};

static void judge(const char *text, struct why_report *report)
{
    struct why_world world;
    why_world_open(&world, "2.60.0");
    give_setup_log(&world, text);
    why_world_judge(&world, "no_python", report);
    why_world_close(&world);
}

static void a_runtime_env_is_being_set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof running / sizeof *running; i++) {
        struct why_report report;
        judge(running[i], &report);
        assert_string_equal(report.code, "sets_up_runtime_env");
        assert_true(why_world_list_has(&report.details, "setup-02000000.log of 127.0.0."));
        assert_true(why_world_list_has(&report.details, "Run cmd[2] ['pip', 'install', 'torch']"));
        assert_true(why_world_list_has(&report.unknown, "whether that is the one"));
        why_report_clear(&report);
    }
}

static void a_runtime_env_is_ready(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
        struct why_report report;
        judge(ended[i], &report);
        assert_string_equal(report.code, "waits_for_worker");
        why_report_clear(&report);
    }
}

static void who_needs_the_logs(void **state)
{
    struct why_world world;
    struct why_subject subject;
    struct why_needs needs;
    struct err err = {0};
    (void)state;
    why_world_open(&world, "2.60.0");
    assert_int_equal(why_subject_find(&world.records, "no_python", &subject, &err), 0);
    assert_false(subject.attempt->installs_packages); /* a py_executable needs no command */
    why_judge_needs(&world.records, &subject, &needs);
    assert_int_equal(needs.raylet_count, 2);
    assert_null(needs.env_job);
    for (size_t i = 0; i < world.records.attempt_count; i++)
        if (text_equal(world.records.attempts[i].name, "no_python"))
            world.records.attempts[i].installs_packages = true;
    why_judge_needs(&world.records, &subject, &needs);
    assert_string_equal(needs.env_job, subject.attempt->job_id);
    assert_int_equal(why_subject_find(&world.records, "waits_for_b", &subject, &err), 0);
    assert_false(subject.attempt->installs_packages);
    why_judge_needs(&world.records, &subject, &needs);
    assert_int_equal(needs.raylet_count, 0);
    /* An actor whose resources are free, too. */
    for (size_t i = 0; i < world.records.actor_count; i++) {
        struct ray_actor *it = &world.records.actors[i];
        if (!text_equal(it->name, "infeasible_actor"))
            continue;
        ray_resources_clear(it->resources);
        it->installs_packages = true;
    }
    assert_int_equal(why_subject_find(&world.records, "infeasible_actor", &subject, &err), 0);
    why_judge_needs(&world.records, &subject, &needs);
    assert_int_equal(needs.raylet_count, 2);
    assert_string_equal(needs.env_job, subject.actor->job_id);
    why_world_close(&world);
}

/* --- actors --- */

/* `infeasible_actor`, whose __init__ runs in the process of `Serial`. */
static struct ray_attempt *run_init(struct why_world *world)
{
    struct why_records *records = &world->records;
    struct ray_attempt *creation = NULL, *serial = NULL;
    for (size_t i = 0; i < records->attempt_count; i++) {
        struct ray_attempt *it = &records->attempts[i];
        if (text_equal(it->name, "infeasible_actor:InfeasibleActor.__init__"))
            creation = it;
        if (text_equal(it->name, "Serial.slow"))
            serial = it;
    }
    assert_non_null(creation);
    assert_non_null(serial);
    creation->state = RAY_ATTEMPT_RUNNING;
    creation->state_ms[RAY_ATTEMPT_RUNNING] = records->now_ms - 180000;
    text_copy(creation->worker_id, sizeof creation->worker_id, serial->worker_id);
    *creation->node_id = '\0';
    why_records_index(records);
    return creation;
}

static void an_init_runs(void **state)
{
    struct why_world world;
    struct why_report report;
    struct why_subject subject;
    struct why_needs needs;
    struct err err = {0};
    (void)state;
    why_world_open(&world, "2.60.0");
    const struct ray_attempt *creation = run_init(&world);
    assert_string_not_equal(creation->node_id, "");
    why_world_judge(&world, "infeasible_actor", &report);
    assert_string_equal(report.code, "initializing");
    assert_string_equal(report.cause, "its __init__ runs, since 3 m");
    assert_true(why_world_list_has(&report.next, "raydbg"));
    why_report_clear(&report);
    assert_int_equal(why_subject_find(&world.records, "infeasible_actor", &subject, &err), 0);
    why_judge_needs(&world.records, &subject, &needs);
    assert_int_equal(needs.ref_count, 1);
    assert_string_equal(needs.refs_of[0]->worker_id, creation->worker_id);
    why_world_close(&world);
}

static void an_init_is_stopped(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    const struct ray_attempt *creation = run_init(&world);
    for (size_t i = 0; i < world.records.worker_count; i++)
        if (text_equal(world.records.workers[i].worker_id, creation->worker_id))
            world.records.workers[i].paused_threads = 1;
    why_world_judge(&world, "infeasible_actor", &report);
    assert_string_equal(report.code, "paused");
    assert_true(why_world_list_has(&report.next, "raydbg attach "));
    why_report_clear(&report);
    why_world_close(&world);
}

static struct ray_actor *actor_in(struct why_world *world, const char *state, const char *name)
{
    for (size_t i = 0; i < world->records.actor_count; i++) {
        struct ray_actor *it = &world->records.actors[i];
        if (text_equal(it->state, state) &&
            (text_equal(it->name, name) || text_equal(it->class_name, name)))
            return it;
    }
    fail_msg("no %s is %s", name, state);
    return NULL;
}

/* As with enable_task_events=False. */
static void forget_events(struct why_world *world, const struct ray_actor *actor)
{
    for (size_t i = 0; i < world->records.attempt_count; i++)
        if (text_equal(world->records.attempts[i].actor_id, actor->actor_id))
            *world->records.attempts[i].actor_id = '\0';
}

static void set_state(struct ray_actor *actor, const char *state)
{
    free(actor->state);
    actor->state = mem_string(state);
}

static void check_actor(const struct why_world *world, const struct ray_actor *actor,
                        const char *code, const char *unknown)
{
    struct why_report report;
    why_world_judge(world, actor->actor_id, &report);
    assert_string_equal(report.code, code);
    if (unknown)
        assert_true(why_world_list_has(&report.unknown, unknown));
    why_report_clear(&report);
}

static void an_actor_that_is_not_there_and_has_no_events(void **state)
{
    static const char *const states[] = {"DEPENDENCIES_UNREADY", "PENDING_CREATION"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct why_world world;
        why_world_open(&world, "2.60.0");
        struct ray_actor *serial = actor_in(&world, "ALIVE", "Serial");
        struct ray_actor *actor = NULL;
        for (size_t k = 0; k < world.records.actor_count; k++)
            if (text_equal(world.records.actors[k].name, "infeasible_actor"))
                actor = &world.records.actors[k];
        assert_non_null(actor);
        forget_events(&world, actor);
        set_state(actor, states[i]);
        check_actor(&world, actor, "infeasible",
                    i ? NULL : "whether it waits for an argument of its __init__ instead");
        /* Its process holds what it needs. */
        text_copy(actor->worker_id, sizeof actor->worker_id, serial->worker_id);
        check_actor(&world, actor, "initializing", "since when");
        for (size_t k = 0; k < world.records.worker_count; k++)
            if (text_equal(world.records.workers[k].worker_id, serial->worker_id))
                world.records.workers[k].paused_threads = 1;
        check_actor(&world, actor, "paused", NULL);
        why_world_close(&world);
    }
}

static void an_actor_without_events_may_be_busy(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_actor *actor = actor_in(&world, "ALIVE", "Serial");
    check_actor(&world, actor, "running", NULL);
    for (size_t i = 0; i < world.records.attempt_count; i++)
        if (text_equal(world.records.attempts[i].actor_id, actor->actor_id))
            world.records.attempts[i].state = RAY_ATTEMPT_FINISHED;
    check_actor(&world, actor, "idle", NULL);
    forget_events(&world, actor);
    check_actor(&world, actor, "alive", "what it runs: Ray has no event of it");
    why_world_close(&world);
}

/* Ray's event of a creation has no process; the events that this has recorded have. */
static void where_an_actor_was_created(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    size_t placed = 0;
    for (size_t i = 0; i < world.records.attempt_count; i++) {
        const struct ray_attempt *it = &world.records.attempts[i];
        const struct ray_actor *actor = why_records_actor(&world.records, it->actor_id);
        if (it->type != RAY_ACTOR_CREATION_TASK || !*it->worker_id || actor->restarts)
            continue;
        assert_string_equal(it->worker_id, actor->worker_id);
        assert_string_not_equal(it->node_id, "");
        placed++;
    }
    assert_true(placed > 5);
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runtime_env_is_being_set_up),
        cmocka_unit_test(a_runtime_env_is_ready),
        cmocka_unit_test(who_needs_the_logs),
        cmocka_unit_test(an_init_runs),
        cmocka_unit_test(an_init_is_stopped),
        cmocka_unit_test(an_actor_that_is_not_there_and_has_no_events),
        cmocka_unit_test(an_actor_without_events_may_be_busy),
        cmocka_unit_test(where_an_actor_was_created),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
