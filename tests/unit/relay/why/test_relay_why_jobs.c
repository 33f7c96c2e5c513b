/* Jobs, their ends, and what outlives them. */
#include "why_world.h"

#include "relay/why/why_judge.h"

#include <string.h>

enum { NOW_MS = 100000 };

/* A job that has ended; an actor of its, and the actor's process; a call of the actor. */
struct made {
    struct ray_job job;
    struct ray_actor actor;
    struct ray_worker worker;
    struct ray_attempt attempts[2];
    struct why_records records;
};

static void made_open(struct made *made)
{
    *made = (struct made){
        .job = {.job_id = "01010000", .is_dead = true, .end_ms = NOW_MS - 50000},
        .actor = {.actor_id = "aa", .job_id = "01010000", .worker_id = "bb", .state = "ALIVE"},
        .worker = {.worker_id = "bb", .is_alive = true, .pid = 7},
    };
    made->attempts[0] = (struct ray_attempt){.task_id = "c1",
                                             .job_id = "01010000",
                                             .actor_id = "aa",
                                             .worker_id = "bb",
                                             .name = (char *)"Server.call",
                                             .type = RAY_ACTOR_TASK,
                                             .state = RAY_ATTEMPT_RUNNING};
    made->attempts[1] = (struct ray_attempt){.task_id = "c2",
                                             .parent_task_id = "c1",
                                             .job_id = "01010000",
                                             .name = (char *)"nested",
                                             .state = RAY_ATTEMPT_PENDING_NODE};
    made->attempts[0].state_ms[RAY_ATTEMPT_RUNNING] = NOW_MS - 1000;
    made->attempts[1].state_ms[RAY_ATTEMPT_PENDING_NODE] = NOW_MS - 500;
    made->records = (struct why_records){.now_ms = NOW_MS,
                                         .attempts = made->attempts,
                                         .attempt_count = 2,
                                         .workers = &made->worker,
                                         .worker_count = 1,
                                         .actors = &made->actor,
                                         .actor_count = 1,
                                         .jobs = &made->job,
                                         .job_count = 1};
}

static void judge(struct made *made, size_t attempt, struct why_report *report)
{
    const struct why_subject subject = {.kind = WHY_TASK, .attempt = &made->attempts[attempt]};
    *report = (struct why_report){0};
    why_judge(&made->records, &subject, report);
}

static bool is_over(struct made *made, size_t attempt)
{
    return why_records_job_is_over(&made->records, &made->attempts[attempt]);
}

static void a_detached_actor_outlives_its_job(void **state)
{
    struct made made;
    struct why_report report;
    (void)state;
    made_open(&made);
    assert_true(why_records_is_running(&made.records, &made.attempts[0]));
    judge(&made, 0, &report);
    assert_string_not_equal(report.code, "job_over");
    assert_non_null(strstr(report.summary, "job 0101"));
    why_report_clear(&report);
    judge(&made, 1, &report);
    assert_string_not_equal(report.code, "job_over");
    why_report_clear(&report);
    assert_false(is_over(&made, 0) || is_over(&made, 1));
}

static void others_end_with_their_job(void **state)
{
    struct made made;
    struct why_report report;
    (void)state;
    made_open(&made);
    made.worker.is_alive = false;
    made.actor.state = "DEAD";
    assert_false(why_records_is_running(&made.records, &made.attempts[0]));
    assert_true(is_over(&made, 0) && is_over(&made, 1));
    judge(&made, 1, &report);
    assert_string_equal(report.code, "job_over");
    why_report_clear(&report);
    made_open(&made);
    made.records.worker_count = made.records.actor_count = 0; /* nothing is known of the process */
    assert_false(why_records_is_running(&made.records, &made.attempts[0]));
    assert_true(is_over(&made, 0) && is_over(&made, 1));
}

/* Ray 2.60 gives this to the tasks that never got a process, 15 s after their driver's end. */
static void a_task_that_never_ran_had_no_process(void **state)
{
    struct made made;
    struct why_report report;
    (void)state;
    made_open(&made);
    struct ray_attempt *it = &made.attempts[1];
    it->state = RAY_ATTEMPT_FAILED;
    it->has_error = true;
    it->error_type = RAY_ERROR_WORKER_DIED;
    it->error_message = (char *)"Job finishes (01010000) as driver exits. Marking all non-terminal "
                                "tasks as failed.";
    judge(&made, 1, &report);
    assert_string_equal(report.code, "job_over");
    assert_int_equal(report.unknown.count, 0);
    why_report_clear(&report);
}

static void a_job_that_succeeded_has_not_failed(void **state)
{
    struct made made;
    struct why_report report = {0};
    (void)state;
    made_open(&made);
    made.job.submission_status = (char *)"SUCCEEDED";
    made.job.has_exit_code = true;
    const struct why_subject subject = {.kind = WHY_JOB, .job = &made.job};
    why_judge(&made.records, &subject, &report);
    assert_string_equal(report.code, "finished");
    assert_null(strstr(report.cause, "sys.exit"));
    why_report_clear(&report);
}

static void what_ray_does_next_depends_on_the_error(void **state)
{
    static const struct {
        int attempt, error;
        const char *says;
    } rows[] = {
        {0, RAY_ERROR_TASK_EXECUTION_EXCEPTION, "only with retry_exceptions"},
        {1, RAY_ERROR_TASK_EXECUTION_EXCEPTION, "and while retries are left"},
        {0, RAY_ERROR_WORKER_DIED, "did not retry"},
        {1, RAY_ERROR_WORKER_DIED, "no retries are left"},
        {1, RAY_ERROR_TASK_CANCELLED, "did not retry"},
        {1, RAY_ERROR_RUNTIME_ENV_SETUP_FAILED, "did not retry"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made made;
        struct why_report report;
        made_open(&made);
        made.attempts[1].state = RAY_ATTEMPT_FAILED;
        made.attempts[1].type = RAY_NORMAL_TASK;
        made.attempts[1].has_error = true;
        made.attempts[1].attempt = rows[i].attempt;
        made.attempts[1].error_type = rows[i].error;
        judge(&made, 1, &report);
        assert_true(why_world_list_has(&report.ray, rows[i].says));
        why_report_clear(&report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_detached_actor_outlives_its_job),
        cmocka_unit_test(others_end_with_their_job),
        cmocka_unit_test(a_task_that_never_ran_had_no_process),
        cmocka_unit_test(a_job_that_succeeded_has_not_failed),
        cmocka_unit_test(what_ray_does_next_depends_on_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
