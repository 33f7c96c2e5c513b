/* What `why` tells of tasks that run again and of actors that live again after a failure. */
#include "why_world.h"

#include "relay/evidence/log_choice.h"
#include "relay/why/why_judge.h"
#include "relay/why/why_overview.h"
#include "relay/why_records/why_names.h"

#include <string.h>

static const char *const versions[] = {"2.60.0", "2.9.3"};

/* The three attempts of `dies_thrice`; each has failed. */
static struct ray_attempt *attempts_of_thrice(struct why_world *world)
{
    struct why_records *records = &world->records;
    for (size_t i = 0; i + 2 < records->attempt_count; i++)
        if (text_equal(records->attempts[i].name, "dies_thrice"))
            return &records->attempts[i];
    fail_msg("no dies_thrice");
    return NULL;
}

/* A process that lives. */
static const struct ray_worker *live_worker(const struct why_world *world)
{
    for (size_t i = 0; i < world->records.worker_count; i++)
        if (why_records_is_alive(&world->records, &world->records.workers[i]) &&
            !world->records.workers[i].is_driver)
            return &world->records.workers[i];
    fail_msg("no live worker");
    return NULL;
}

/* As if the attempt had not failed yet. */
static void revive(struct why_world *world, struct ray_attempt *attempt,
                   enum ray_attempt_state state)
{
    free(attempt->error_message);
    attempt->error_message = NULL;
    attempt->has_error = false;
    attempt->state_ms[RAY_ATTEMPT_FAILED] = 0;
    attempt->state = state;
    attempt->state_ms[state] = world->records.now_ms - 5000;
    if (state == RAY_ATTEMPT_RUNNING)
        text_copy(attempt->worker_id, sizeof attempt->worker_id, live_worker(world)->worker_id);
    else
        *attempt->worker_id = '\0';
}

static void give_logs(struct why_world *world, const char *name)
{
    struct why_subject subject;
    struct why_needs needs;
    struct err err = {0};
    assert_int_equal(why_subject_find(&world->records, name, &subject, &err), 0);
    why_judge_needs(&world->records, &subject, &needs);
    assert_true(needs.log_count > 0);
    for (size_t i = 0; i < needs.log_count; i++)
        why_world_log(world, needs.logs_of[i]->worker_id, "kill9_later");
}

static void a_retry_tells_why_it_came(void **state)
{
    static const enum ray_attempt_state states[] = {RAY_ATTEMPT_RUNNING, RAY_ATTEMPT_PENDING_NODE};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct why_world world;
        struct why_report report;
        why_world_open(&world, versions[i / 2]);
        revive(&world, attempts_of_thrice(&world) + 2, states[i % 2]);
        give_logs(&world, "dies_thrice");
        why_world_judge(&world, "dies_thrice", &report);
        assert_string_not_equal(report.code, "killed_or_exited"); /* that was the one before */
        assert_true(why_world_list_has(&report.ray, "this is attempt 3: attempt 2 failed "));
        assert_true(why_world_list_has(&report.ray, "SIGKILL"));
        assert_true(why_world_list_has(&report.unknown, "of attempt 2: Ray records neither"));
        why_report_clear(&report);
        why_world_close(&world);
    }
}

static void the_location_of_the_attempt_before(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = attempts_of_thrice(&world);
    revive(&world, attempts + 2, RAY_ATTEMPT_RUNNING);
    attempts[1].has_error = true;
    attempts[1].error_type = RAY_ERROR_TASK_EXECUTION_EXCEPTION;
    attempts[1].error_message = mem_string(
        "User exception:\nTraceback:\n  File \"app.py\", line 7, in load\nValueError: x");
    why_world_judge(&world, "dies_thrice", &report);
    assert_true(why_world_list_has(&report.ray, "attempt 2 failed"));
    assert_true(why_world_list_has(&report.ray, "it raised ValueError: x"));
    assert_true(why_world_list_has(&report.details, "attempt 2 was at app.py:7 in load"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* A last failure of another kind than the one before does not hide that. */
static void a_last_failure_of_another_kind(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    give_logs(&world, "dies_thrice");
    why_world_judge(&world, "dies_thrice", &report);
    assert_true(why_world_list_has(&report.ray, "tried 3 times"));
    assert_false(why_world_list_has(&report.ray, "attempt 2 failed"));
    why_report_clear(&report);
    attempts_of_thrice(&world)[1].has_error = true;
    attempts_of_thrice(&world)[1].error_type = RAY_ERROR_NODE_DIED;
    why_world_judge(&world, "dies_thrice", &report);
    assert_string_equal(report.code, "killed_or_exited");
    assert_true(why_world_list_has(&report.ray, "attempt 2 failed"));
    assert_true(why_world_list_has(&report.ray, "its node 127.0.0.1 died"));
    why_report_clear(&report);
    why_world_close(&world);
}

static void kills_of_the_memory_monitor_are_counted(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = attempts_of_thrice(&world);
    for (size_t i = 0; i < 2; i++) {
        attempts[i].has_error = true;
        attempts[i].error_type = RAY_ERROR_OUT_OF_MEMORY;
    }
    why_world_judge(&world, "dies_thrice", &report);
    assert_false(why_world_list_has(&report.ray, "without limit"));
    why_report_clear(&report);
    revive(&world, attempts + 2, RAY_ATTEMPT_RUNNING);
    why_world_judge(&world, "dies_thrice", &report);
    assert_true(why_world_list_has(&report.ray, "memory monitor has killed it 2 times, and Ray "
                                                "retries that without limit"));
    why_report_clear(&report);
    why_world_close(&world);
}

static void a_result_that_is_made_again(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = attempts_of_thrice(&world);
    revive(&world, attempts + 2, RAY_ATTEMPT_PENDING_NODE);
    attempts[1].state = RAY_ATTEMPT_FINISHED;
    why_world_judge(&world, "dies_thrice", &report);
    assert_true(why_world_list_has(&report.ray, "the result of attempt 2 was lost"));
    why_report_clear(&report);
    attempts[1].raised_type = mem_string("<class 'SystemExit'>"); /* for Ray it has FINISHED */
    why_world_judge(&world, "dies_thrice", &report);
    assert_false(why_world_list_has(&report.ray, "was lost"));
    assert_true(why_world_list_has(&report.ray, "attempt 2 failed"));
    why_report_clear(&report);
    why_world_close(&world);
}

static void an_attempt_that_ray_has_forgotten(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = attempts_of_thrice(&world);
    revive(&world, attempts + 2, RAY_ATTEMPT_RUNNING);
    text_copy(attempts[1].task_id, sizeof attempts[1].task_id, attempts[0].parent_task_id);
    const struct why_subject subject = {.kind = WHY_TASK, .attempt = &attempts[2]};
    report = (struct why_report){0};
    why_judge(&world.records, &subject, &report);
    assert_true(why_world_list_has(&report.unknown, "why it is attempt 3: Ray has no record"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* For Ray a task that was interrupted has FINISHED, and its caller gets an error. */
static void an_interrupted_task(void **state)
{
    struct why_world world;
    struct why_report report;
    struct why_overview overview;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *it = attempts_of_thrice(&world) + 2;
    revive(&world, it, RAY_ATTEMPT_FINISHED);
    it->raised_type = mem_string("<class 'KeyboardInterrupt'>");
    it->raised_traceback = mem_string("Traceback:\n  File \"app.py\", line 7, in load\n");
    why_world_judge(&world, "dies_thrice", &report);
    assert_string_equal(report.code, "interrupted");
    assert_non_null(strstr(report.cause, "TaskCancelledError"));
    assert_int_equal(report.frame_count, 1);
    why_report_clear(&report);
    why_overview_make(&world.records, &overview);
    bool listed = false;
    for (size_t i = 0; i < overview.count; i++)
        listed |= text_equal(overview.rows[i].name, "dies_thrice") &&
                  text_equal(overview.rows[i].code, "interrupted");
    assert_true(listed);
    why_overview_clear(&overview);
    why_world_close(&world);
}

static const struct why_row *row_of(const struct why_overview *overview, const char *name)
{
    for (size_t i = 0; i < overview->count; i++)
        if (text_equal(overview->rows[i].name, name))
            return &overview->rows[i];
    return NULL;
}

static void the_overview_has_what_is_retried(void **state)
{
    struct why_world world;
    struct why_overview overview;
    struct why_needs needs;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = attempts_of_thrice(&world);
    revive(&world, attempts + 2, RAY_ATTEMPT_RUNNING);
    why_overview_needs(&world.records, &needs);
    bool asked = false;
    for (size_t i = 0; i < needs.log_count; i++)
        asked |= text_equal(needs.logs_of[i]->worker_id, attempts[1].worker_id);
    assert_true(asked);
    why_world_log(&world, attempts[1].worker_id, "kill9_later");
    why_overview_make(&world.records, &overview);
    const struct why_row *row = row_of(&overview, "dies_thrice");
    assert_non_null(row);
    assert_string_equal(row->state, "retried");
    assert_string_equal(row->code, "killed_or_exited");
    assert_non_null(strstr(row->cause, "attempt 3 runs, since attempt 2 failed: "));
    why_overview_clear(&overview);
    world.records.since_ms = world.records.now_ms; /* the failure was long ago */
    why_overview_make(&world.records, &overview);
    assert_null(row_of(&overview, "dies_thrice"));
    why_overview_clear(&overview);
    why_world_close(&world);
}

/* `restarted_actor`, as it was between its two deaths; its first process is dead. */
static struct ray_actor *revived_actor(struct why_world *world, const char *state)
{
    for (size_t i = 0; i < world->records.actor_count; i++) {
        struct ray_actor *it = &world->records.actors[i];
        if (!text_equal(it->name, "restarted_actor"))
            continue;
        ray_actor_death_clear(it->death);
        free(it->death);
        free(it->state);
        it->death = NULL;
        it->end_ms = 0;
        it->state = mem_string(state);
        if (text_equal(state, "ALIVE"))
            text_copy(it->worker_id, sizeof it->worker_id, live_worker(world)->worker_id);
        else
            *it->worker_id = '\0';
        return it;
    }
    fail_msg("no restarted_actor");
    return NULL;
}

static void a_restart_tells_why_it_came(void **state)
{
    static const char *const states[] = {"ALIVE", "RESTARTING"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct why_world world;
        struct why_report report;
        why_world_open(&world, versions[i / 2]);
        struct ray_actor *actor = revived_actor(&world, states[i % 2]);
        give_logs(&world, "restarted_actor");
        why_world_judge(&world, "restarted_actor", &report);
        assert_true(why_world_list_has(&report.ray, "restarted it 1 time (max_restarts=1)"));
        assert_true(why_world_list_has(&report.ray, "its earlier process, "));
        assert_true(why_world_list_has(&report.ray, "SIGKILL"));
        assert_true(why_world_list_has(&report.unknown, "Ray records neither signal"));
        why_report_clear(&report);
        actor->max_restarts = -1;
        why_world_judge(&world, "restarted_actor", &report);
        assert_true(why_world_list_has(&report.ray, "1 time, and does so without limit"));
        why_report_clear(&report);
        why_world_close(&world);
    }
}

static void needs_only(struct ray_actor *actor, const char *resource)
{
    if (actor->resources)
        ray_resources_clear(actor->resources);
    else
        actor->resources = mem_alloc(sizeof *actor->resources);
    *actor->resources = (struct ray_resources){mem_array(1, sizeof(struct ray_resource)), 1};
    actor->resources->items[0] = (struct ray_resource){mem_string(resource), 1};
}

/* No process can be started where nothing is free; one that is being started holds it itself. */
static void a_restart_waits_for_a_node(void **state)
{
    static const struct {
        const char *resource, *code;
    } needs[] = {{"gpu_x", "infeasible"}, {"b", "waits_for_resources"}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct why_world world;
        struct why_report report;
        why_world_open(&world, "2.60.0");
        struct ray_actor *actor = revived_actor(&world, "RESTARTING");
        needs_only(actor, needs[i].resource);
        why_world_judge(&world, "restarted_actor", &report);
        assert_string_equal(report.code, needs[i].code);
        assert_true(
            why_world_list_has(&report.details, "its process died, and Ray starts another"));
        assert_true(why_world_list_has(&report.ray, "restarted it 1 time"));
        why_report_clear(&report);
        text_copy(actor->worker_id, sizeof actor->worker_id, live_worker(&world)->worker_id);
        why_world_judge(&world, "restarted_actor", &report);
        assert_string_equal(report.code, "restarting");
        why_report_clear(&report);
        why_world_close(&world);
    }
}

static void a_restart_without_a_record(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_actor *actor = revived_actor(&world, "ALIVE");
    for (size_t i = 0; i < world.records.attempt_count; i++)
        if (text_equal(world.records.attempts[i].actor_id, actor->actor_id))
            *world.records.attempts[i].worker_id = '\0';
    why_world_judge(&world, "restarted_actor", &report);
    assert_true(why_world_list_has(&report.unknown, "why it was restarted"));
    why_report_clear(&report);
    why_world_close(&world);
}

static void the_overview_has_what_was_restarted(void **state)
{
    struct why_world world;
    struct why_overview overview;
    (void)state;
    why_world_open(&world, "2.60.0");
    revived_actor(&world, "ALIVE");
    give_logs(&world, "restarted_actor");
    why_overview_make(&world.records, &overview);
    const struct why_row *row = row_of(&overview, "restarted_actor");
    assert_non_null(row);
    assert_string_equal(row->state, "restarted");
    assert_string_equal(row->code, "killed_or_exited");
    assert_non_null(strstr(row->cause, "it lives again after 1 restart; before: "));
    why_overview_clear(&overview);
    world.records.since_ms = world.records.now_ms;
    why_overview_make(&world.records, &overview);
    assert_null(row_of(&overview, "restarted_actor"));
    why_overview_clear(&overview);
    why_world_close(&world);
}

/* --- logs --- */

/* The moment and the location of the end before. */
static void around_what_lives_again(void **state)
{
    struct why_world world;
    struct why_subject subject;
    struct log_choice choice;
    struct err err = {0};
    int64_t at_ms;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = attempts_of_thrice(&world);
    revive(&world, attempts + 2, RAY_ATTEMPT_RUNNING);
    assert_int_equal(why_subject_find(&world.records, "dies_thrice", &subject, &err), 0);
    assert_int_equal(log_choice_around(&world.records, &subject, 5000, &choice, &at_ms, &err), 0);
    assert_int_equal(at_ms, attempts[1].state_ms[RAY_ATTEMPT_FAILED]);
    log_choice_clear(&choice);
    const struct ray_actor *actor = revived_actor(&world, "ALIVE");
    assert_int_equal(why_subject_find(&world.records, "restarted_actor", &subject, &err), 0);
    assert_int_equal(log_choice_around(&world.records, &subject, 5000, &choice, &at_ms, &err), 0);
    const struct ray_worker *before = why_records_previous_process(&world.records, actor);
    assert_int_equal(at_ms, before->end_ms);
    log_choice_clear(&choice);
    revive(&world, attempts, RAY_ATTEMPT_RUNNING);
    text_copy(attempts[1].task_id, sizeof attempts[1].task_id, attempts[0].parent_task_id);
    subject = (struct why_subject){.kind = WHY_TASK, .attempt = &attempts[0]};
    assert_int_equal(log_choice_around(&world.records, &subject, 5000, &choice, &at_ms, &err), -1);
    assert_non_null(strstr(err.what, "has not ended"));
    why_world_close(&world);
}

static void logs_name_the_process_before(void **state)
{
    struct why_world world;
    struct why_subject subject;
    struct log_choice choice;
    struct err err = {0};
    char name[WHY_NAME_TEXT];
    (void)state;
    why_world_open(&world, "2.60.0");
    assert_int_equal(why_subject_find(&world.records, "restarted_actor", &subject, &err), 0);
    /* Of one that is dead it is not its last. */
    assert_string_not_equal(why_records_previous_process(&world.records, subject.actor)->worker_id,
                            subject.actor->worker_id);
    const struct ray_actor *actor = revived_actor(&world, "ALIVE");
    const struct ray_worker *before = why_records_previous_process(&world.records, actor);
    assert_int_equal(why_subject_find(&world.records, "restarted_actor", &subject, &err), 0);
    assert_int_equal(log_choice_make(&world.records, "restarted_actor", &subject, &choice, &err),
                     0);
    assert_non_null(strstr(choice.note, why_name_of_worker(&world.records, before, name)));
    log_choice_clear(&choice);
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_tells_why_it_came),
        cmocka_unit_test(the_location_of_the_attempt_before),
        cmocka_unit_test(a_last_failure_of_another_kind),
        cmocka_unit_test(kills_of_the_memory_monitor_are_counted),
        cmocka_unit_test(a_result_that_is_made_again),
        cmocka_unit_test(an_attempt_that_ray_has_forgotten),
        cmocka_unit_test(an_interrupted_task),
        cmocka_unit_test(the_overview_has_what_is_retried),
        cmocka_unit_test(a_restart_tells_why_it_came),
        cmocka_unit_test(a_restart_waits_for_a_node),
        cmocka_unit_test(a_restart_without_a_record),
        cmocka_unit_test(the_overview_has_what_was_restarted),
        cmocka_unit_test(around_what_lives_again),
        cmocka_unit_test(logs_name_the_process_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
