/* Every rule of relay/why, on the records of real clusters. */
#include "why_world.h"

#include "relay/why/why_judge.h"
#include "relay/why/why_overview.h"
#include "relay/why_records/why_names.h"

#include <string.h>

static const char *const versions[] = {"2.60.0", "2.9.3"};

static bool chain_has(const struct why_report *report, const char *kind)
{
    for (size_t i = 0; i < report->chain_count; i++)
        if (strcmp(report->chain[i].kind, kind) == 0)
            return true;
    return false;
}

static const char *last_users_function(const struct why_report *report)
{
    const char *found = "";
    for (size_t i = 0; i < report->frame_count; i++)
        if (report->frames[i].is_users)
            found = report->frames[i].function;
    return found;
}

/* --- what failed, by name: its code, words of its cause, the user's function where the code is
 * known --- */

struct expected {
    const char *name, *log, *code, *cause, *function;
};

static const struct expected failures[] = {
    {"raise_value", NULL, "exception", "ValueError: bad 3", "raise_value"},
    {"failed_parent", NULL, "exception", "ValueError: bad 3", "raise_value"},
    {"child_of_failed", NULL, "argument_failed", "failed_parent", NULL},
    {"kill9_at_once", "kill9_later", "killed_or_exited", "SIGKILL", NULL},
    {"kill9_later", "kill9_later", "killed_or_exited", "SIGKILL", NULL},
    {"segv", "segv", "native_crash", "SIGSEGV", "segv"},
    {"abort", "abort", "native_crash", "SIGABRT", "abort"},
    {"raw_exit_1", "kill9_later", "killed_or_exited", "os._exit", NULL},
    {"raw_exit_137", "kill9_later", "killed_or_exited", "os._exit", NULL},
    {"sigterm", NULL, "sigterm", "SIGTERM", "sigterm"},
    {"exit_1", NULL, "exit_code", "code 1", "exit_1"},
    {"exit_0", NULL, "exit_code", "code 0", "exit_0"},
    {"dies_thrice", "kill9_later", "killed_or_exited", "SIGKILL", NULL},
    {"bad_working_dir", NULL, "runtime_env", "runtime_env", NULL},
    {"to_a_dead_node", NULL, "TASK_UNSCHEDULABLE_ERROR", "no node may run it", NULL},
    {"killed_actor", "kill9_later", "killed_or_exited", "SIGKILL", NULL},
    {"segv_actor", "segv", "native_crash", "SIGSEGV", NULL},
    {"exiting_actor", NULL, "exit_code", "code 1", NULL},
    {"leaving_actor", NULL, "exit_actor", "exit_actor()", NULL},
    {"ray_killed_actor", NULL, "ray_kill", "ray.kill", NULL},
    {"dropped_actor", NULL, "out_of_scope", "handle", NULL},
    {"init_raises", NULL, "init_raised", "no weights at /nonexistent", NULL},
    {"init_dies", "kill9_later", "killed_or_exited", "SIGKILL", NULL},
    {"restarted_actor", "kill9_later", "killed_or_exited", "SIGKILL", NULL},
    {"orphan", NULL, "owner_died", "ray.kill", NULL},
    {"bad_env_actor", NULL, "runtime_env", "runtime_env", NULL},
};

/* Gives the processes that a judgement asks for the last words of `expected->log`. */
static void give_logs(struct why_world *world, const struct expected *expected)
{
    struct why_subject subject;
    struct why_needs needs;
    struct err err = {0};
    assert_int_equal(why_subject_find(&world->records, expected->name, &subject, &err), 0);
    why_judge_needs(&world->records, &subject, &needs);
    if (!expected->log && needs.log_count)
        fail_msg("%s asks for a log", expected->name);
    if (expected->log && !needs.log_count)
        fail_msg("%s asks for no log", expected->name);
    for (size_t i = 0; i < needs.log_count; i++)
        why_world_log(world, needs.logs_of[i]->worker_id, expected->log);
}

static void check(const struct why_world *world, const struct expected *expected)
{
    struct why_report report;
    why_world_judge(world, expected->name, &report);
    if (strcmp(report.code, expected->code) != 0 || !strstr(report.cause, expected->cause))
        fail_msg("%s with Ray %s: [%s] %s", expected->name, world->ray, report.code, report.cause);
    if (expected->function && strcmp(last_users_function(&report), expected->function) != 0)
        fail_msg("%s with Ray %s: in %s", expected->name, world->ray, last_users_function(&report));
    why_report_clear(&report);
}

static void each_failure_is_named(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
            struct why_world world;
            why_world_open(&world, versions[v]);
            give_logs(&world, &failures[i]);
            check(&world, &failures[i]);
            why_world_close(&world);
        }
    }
}

/* --- what waits --- */

static const struct expected waits[] = {
    {"waits_for_b", NULL, "waits_for_resources", "{", NULL},
    {"infeasible", NULL, "infeasible", "gpu_x", NULL},
    {"infeasible_actor", NULL, "infeasible", "gpu_x", NULL},
    {"waits_for_argument", NULL, "waits_for_argument", "argument", NULL},
    {"Serial.behind", NULL, "queued_in_actor", "queue", NULL},
    {"call_one", NULL, "may_deadlock", "may be in a deadlock", NULL},
    {"call_two", NULL, "may_deadlock", "may be in a deadlock", NULL},
    {"outer", NULL, "may_deadlock", "may be in a deadlock", NULL},
    {"inner", NULL, "may_deadlock", "may be in a deadlock", NULL},
    {"in_group", NULL, "group_infeasible", "too_big", NULL},
    {"too_big", NULL, "group_infeasible", "bundles", NULL},
    {"Serial.slow", NULL, "running", "it runs", NULL},
};

static void each_wait_is_named(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        struct why_world world;
        why_world_open(&world, versions[v]);
        for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
            check(&world, &waits[i]);
        why_world_close(&world);
    }
}

/* Ray 2.9 does not know py_executable. */
static void a_worker_that_cannot_start_is_named(void **state)
{
    (void)state;
    static const struct expected no_python = {"no_python", NULL, "waits_for_worker", "cannot start",
                                              NULL};
    struct why_world world;
    why_world_open(&world, "2.60.0");
    check(&world, &no_python);
    why_world_close(&world);
}

static void give_raylet(struct why_world *world, const char *text)
{
    struct why_records *records = &world->records;
    records->logs = mem_resize(records->logs, records->log_count + 1, sizeof *records->logs);
    struct why_log *log = &records->logs[records->log_count++];
    *log = (struct why_log){.file = mem_string("raylet.err"), .text = mem_string(text)};
    text_copy(log->node_id, sizeof log->node_id, records->nodes[0].node_id);
}

/* Only what the shell and the raylet say of a start counts, not the rest of the raylet's log. */
static void raylets_say_why_a_worker_cannot_start(void **state)
{
    (void)state;
    static const char other[] =
        "Traceback (most recent call last):\nFileNotFoundError: '/nonexistent/code.zip'\n";
    static const char late[] =
        "[x] worker_pool.cc:660: Some workers of the worker process(7) have not registered "
        "within the timeout.\n";
    static const struct expected no_reason = {"no_python", NULL, "waits_for_worker", "cannot start",
                                              NULL},
                                 reason = {"no_python", NULL, "worker_cannot_start",
                                           "not be started", NULL};
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    give_raylet(&world, other);
    check(&world, &no_reason);
    give_raylet(&world, late);
    check(&world, &reason);
    give_raylet(&world, "bash: line 1: /nonexistent/python: No such file or directory\n[y] more\n");
    why_world_judge(&world, "no_python", &report);
    assert_true(why_world_list_has(&report.details,
                                   "raylet.err of 127.0.0.1: bash: line 1: /nonexistent/python") ||
                why_world_list_has(&report.details,
                                   "raylet.err of 127.0.0.2: bash: line 1: /nonexistent/python"));
    why_report_clear(&report);
    why_world_close(&world);
}

static void holders_are_named(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    why_world_judge(&world, "waits_for_b", &report);
    assert_true(why_world_list_has(&report.details, "127.0.0.2 has 0.1 of 4 b free: ") &&
                why_world_list_has(&report.details, "holder ("));
    assert_true(why_world_list_has(&report.details, "3 wait for the same"));
    why_report_clear(&report);
    why_world_judge(&world, "Serial.behind", &report);
    assert_true(why_world_list_has(&report.details, "behind Serial.slow ("));
    why_report_clear(&report);
    why_world_close(&world);
}

static void the_first_record_counts(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = world.records.attempts, first = attempts[0];
    size_t i = 0;
    while (i < world.records.attempt_count && strcmp(attempts[i].name, "Serial.slow") != 0)
        i++;
    assert_in_range(i, 0, world.records.attempt_count - 1);
    attempts[0] = attempts[i];
    attempts[i] = first;
    why_world_judge(&world, "Serial.behind", &report);
    assert_string_equal(report.code, "queued_in_actor");
    assert_true(why_world_list_has(&report.details, "behind Serial.slow ("));
    why_report_clear(&report);
    why_world_close(&world);
}

/* A call that has just been made is no candidate. */
static void a_circle_must_rest(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    why_world_judge(&world, "call_one", &report);
    assert_true(why_world_list_has(&report.details, "has called Caller.answer"));
    assert_true(why_world_list_has(&report.details, "is queued behind call_two"));
    assert_true(why_world_list_has(&report.unknown, "in ray.get"));
    why_report_clear(&report);
    for (size_t i = 0; i < world.records.attempt_count; i++)
        if (strcmp(world.records.attempts[i].name, "call_two") == 0)
            world.records.attempts[i].state_ms[RAY_ATTEMPT_RUNNING] = world.records.now_ms - 100;
    why_world_judge(&world, "call_one", &report);
    assert_string_not_equal(report.code, "may_deadlock");
    why_report_clear(&report);
    why_world_close(&world);
}

/* --- what is around a cause --- */

static void the_chain_leads_to_the_node(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    why_world_judge(&world, "segv", &report);
    assert_true(chain_has(&report, "task") && chain_has(&report, "worker") &&
                chain_has(&report, "node"));
    assert_true(why_world_list_has(&report.next, "raydbg logs "));
    assert_true(why_world_list_has(&report.ray, "did not retry"));
    why_report_clear(&report);
    why_world_judge(&world, "dies_thrice", &report);
    assert_true(why_world_list_has(&report.ray, "tried 3 times"));
    why_report_clear(&report);
    why_world_judge(&world, "restarted_actor", &report);
    assert_true(why_world_list_has(&report.ray, "restarted it 1 time (max_restarts=1)"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* Without evidence nothing is guessed: what is missing is said. */
static void missing_evidence_is_unknown(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    give_logs(&world, &(struct expected){.name = "segv", .log = "kill9_later"});
    free(world.records.logs[0].text);
    world.records.logs[0].text = NULL;
    world.records.logs[0].problem = mem_string("no answer from its agent");
    why_world_judge(&world, "segv", &report);
    assert_string_equal(report.code, "process_lost");
    assert_true(why_world_list_has(&report.unknown, "no answer from its agent"));
    why_report_clear(&report);

    ray_workers_free(world.records.workers, world.records.worker_count);
    world.records.workers = NULL;
    world.records.worker_count = 0;
    err_set(&world.records.problems[WHY_WORKERS], ERR_UNREACHABLE, "no answer about workers");
    why_world_judge(&world, "kill9_later", &report);
    assert_string_equal(report.code, "process_lost");
    assert_true(why_world_list_has(&report.unknown, "no answer about workers"));
    why_report_clear(&report);
    why_world_judge(&world, "exit_1", &report); /* the task's own error says it */
    assert_string_equal(report.code, "exit_code");
    why_report_clear(&report);

    ray_resource_state_clear(&world.records.resources);
    why_world_judge(&world, "infeasible", &report);
    assert_string_equal(report.code, "waits_for_node");
    assert_true(report.unknown.count > 0);
    why_report_clear(&report);
    why_world_close(&world);
}

static void take_workers(struct why_records *records)
{
    ray_workers_free(records->workers, records->worker_count);
    records->workers = NULL;
    records->worker_count = 0;
    err_set(&records->problems[WHY_WORKERS], ERR_UNREACHABLE, "no answer about workers");
}

static void take_actors(struct why_records *records)
{
    ray_actors_free(records->actors, records->actor_count);
    records->actors = NULL;
    records->actor_count = 0;
    err_set(&records->problems[WHY_ACTORS], ERR_UNREACHABLE, "no answer about actors");
}

static void take_nodes(struct why_records *records)
{
    ray_nodes_free(records->nodes, records->node_count);
    records->nodes = NULL;
    records->node_count = 0;
    err_set(&records->problems[WHY_NODES], ERR_UNREACHABLE, "no answer about nodes");
}

static void take_jobs(struct why_records *records)
{
    ray_jobs_free(records->jobs, records->job_count);
    records->jobs = NULL;
    records->job_count = 0;
    err_set(&records->problems[WHY_JOBS], ERR_UNREACHABLE, "no answer about jobs");
}

static void take_attempts(struct why_records *records)
{
    ray_attempts_free(records->attempts, records->attempt_count);
    records->attempts = NULL;
    records->attempt_count = 0;
    err_set(&records->problems[WHY_ATTEMPTS], ERR_UNREACHABLE, "no answer about tasks");
}

static void take_nothing(struct why_records *records)
{
    (void)records;
}

/* What may be missing; its words in the report. */
static const struct evidence {
    const char *words;
    void (*take)(struct why_records *records);
} evidence[] = {
    {"no answer from its agent", take_nothing}, /* the logs */
    {"no answer about workers", take_workers},  {"no answer about actors", take_actors},
    {"no answer about nodes", take_nodes},      {"no answer about jobs", take_jobs},
    {"no answer about tasks", take_attempts},
};

/* Whether a report without that evidence is right: it names the cause, or what it cannot know. */
static bool is_honest(const struct why_report *report, const struct expected *expected,
                      const struct evidence *missing)
{
    static const char *const open[] = {"process_lost", "actor_lost", "failed", "unknown"};
    if (text_equal(report->code, expected->code))
        return true;
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (text_equal(report->code, open[i]))
            return why_world_list_has(&report->unknown, missing->words);
    return false;
}

/* Judges without one kind of evidence. False, and nothing is judged: there is nothing of that name
 * then. */
static bool judge_without(const char *ray, const struct expected *expected,
                          const struct evidence *missing)
{
    struct why_world world;
    struct why_subject subject;
    struct why_report report = {0};
    struct err err = {0};
    why_world_open(&world, ray);
    give_logs(&world, missing->take == take_nothing
                          ? &(struct expected){.name = expected->name, .log = expected->log}
                          : expected);
    for (size_t i = 0; missing->take == take_nothing && i < world.records.log_count; i++) {
        struct why_log *log = &world.records.logs[i];
        free(log->text);
        log->text = NULL;
        log->problem = mem_string(missing->words);
    }
    missing->take(&world.records);
    why_records_index(&world.records);
    bool found = why_subject_find(&world.records, expected->name, &subject, &err) == 0;
    if (found)
        why_judge(&world.records, &subject, &report);
    if (found && !is_honest(&report, expected, missing))
        fail_msg("%s with Ray %s, %s: [%s] %s\n", expected->name, ray, missing->words, report.code,
                 report.cause);
    why_report_clear(&report);
    why_world_close(&world);
    return found;
}

static void no_failure_is_named_wrongly(void **state)
{
    (void)state;
    size_t judged = 0;
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
        for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
            for (size_t e = 0; e < sizeof evidence / sizeof *evidence; e++)
                judged += judge_without(versions[v], &failures[i], &evidence[e]);
    assert_in_range(judged, 250, 400);
}

/* A process that exits tells the line last, and that may be lost. */
static void a_location_that_was_not_reported_is_unknown(void **state)
{
    static const char *const names[] = {"sigterm", "exit_1", "exit_0"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct why_world world;
        struct why_report report;
        why_world_open(&world, "2.60.0");
        why_world_judge(&world, names[i], &report);
        assert_false(why_world_list_has(&report.unknown, "has not reported it"));
        why_report_clear(&report);
        for (size_t at = 0; at < world.records.attempt_count; at++) {
            struct ray_attempt *attempt = &world.records.attempts[at];
            free(attempt->raised_traceback);
            free(attempt->raised_type);
            attempt->raised_traceback = attempt->raised_type = NULL;
        }
        why_world_judge(&world, names[i], &report);
        assert_string_not_equal(report.code, "finished");
        assert_true(why_world_list_has(&report.unknown, "where in the program"));
        why_report_clear(&report);
        why_world_close(&world);
    }
}

/* A dead node's workers are alive in Ray's table. */
static void a_dead_node_takes_its_workers(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    for (size_t i = 0; i < world.records.node_count; i++) {
        world.records.nodes[i].is_alive = false;
        world.records.nodes[i].end_reason = "UNEXPECTED_TERMINATION";
    }
    why_world_judge(&world, "Serial.slow", &report);
    assert_string_equal(report.code, "node_died");
    assert_true(why_world_list_has(&report.details, "RUNNING") &&
                why_world_list_has(&report.unknown, "logs of a dead node"));
    why_report_clear(&report);
    why_world_judge(&world, "127.0.0.2", &report);
    assert_string_equal(report.code, "node_died");
    assert_non_null(strstr(report.cause, "vanished"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* Ray is told nothing more of a task whose owner dies: it stays RUNNING. */
static void a_dead_actor_runs_nothing(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    why_world_open(&world, "2.60.0");
    for (size_t i = 0; i < world.records.attempt_count; i++) {
        struct ray_attempt *it = &world.records.attempts[i];
        const struct ray_actor *actor = why_records_actor(&world.records, it->actor_id);
        if (!actor || strcmp(actor->name, "ray_killed_actor") != 0)
            continue;
        it->state = RAY_ATTEMPT_RUNNING;
        it->worker_id[0] = '\0';
        assert_false(why_records_is_running(&world.records, it));
        why_world_judge(&world, it->type == RAY_ACTOR_CREATION_TASK ? it->name : it->task_id,
                        &report);
        assert_string_equal(report.code, "ray_kill");
        assert_true(why_world_list_has(&report.details, "still lists the task as RUNNING"));
        why_report_clear(&report);
    }
    why_world_close(&world);
}

/* The text is that of Ray 2.60's exception. */
static void a_lost_argument_leads_to_its_object(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    static char message[] =
        "User exception:\nray::consumes() (pid=1, ip=10.0.0.7)\n  At least one of the input "
        "arguments for this task "
        "could not be computed:\nray.exceptions.ObjectReconstructionFailedError: Failed to "
        "retrieve object "
        "c67f414a93bdf634ffffffffffffffffffffffff0100000001000000. To see more, set X.\n\nThe "
        "object cannot be "
        "reconstructed. [OBJECT_UNRECONSTRUCTABLE_RETRIES_DISABLED]";
    why_world_open(&world, "2.60.0");
    for (size_t i = 0; i < world.records.attempt_count; i++) {
        struct ray_attempt *it = &world.records.attempts[i];
        if (strcmp(it->name, "failed_parent") == 0) {
            free(it->error_message);
            it->error_message = mem_string(message);
        }
    }
    why_world_judge(&world, "failed_parent", &report);
    assert_string_equal(report.code, "object_lost");
    assert_non_null(strstr(report.cause, "max_retries=0"));
    assert_true(chain_has(&report, "object"));
    assert_true(why_world_list_has(
        &report.next, "raydbg why c67f414a93bdf634ffffffffffffffffffffffff0100000001000000"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* --- names --- */

static void names_and_ids_lead_to_subjects(void **state)
{
    (void)state;
    struct why_world world;
    struct why_subject subject;
    struct err err;
    char name[64];
    why_world_open(&world, "2.60.0");
    const struct why_records *records = &world.records;
    const struct ray_attempt *first = &records->attempts[0];
    snprintf(name, sizeof name, "%.10s", first->task_id);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_int_equal(subject.kind, WHY_TASK);
    snprintf(name, sizeof name, "%.12s", records->actors[0].actor_id);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_int_equal(subject.kind, WHY_ACTOR);
    snprintf(name, sizeof name, "%lld@%s", (long long)records->workers[0].pid,
             records->workers[0].ip);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_int_equal(subject.kind, WHY_WORKER);
    assert_ptr_equal(subject.worker, &records->workers[0]);
    assert_int_equal(why_subject_find(records, records->nodes[0].node_id, &subject, &err), 0);
    assert_int_equal(subject.kind, WHY_NODE);
    assert_int_equal(why_subject_find(records, "01", &subject, &err), 0);
    assert_int_equal(subject.kind, WHY_JOB);
    assert_int_equal(why_subject_find(records, "ffff", &subject, &err),
                     -1); /* all creation tasks */
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(why_subject_find(records, "raise_valve", &subject, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.hint, "raise_value"));
    why_world_close(&world);
}

/* What Ray and raydbg print of a thing leads to it. */
static void printed_names_lead_to_subjects(void **state)
{
    (void)state;
    struct why_world world;
    struct why_subject subject;
    struct err err;
    char name[200], process[WHY_NAME_TEXT];
    why_world_open(&world, "2.60.0");
    const struct why_records *records = &world.records;
    const struct ray_attempt *first = &records->attempts[0];
    why_name_of_task(first, name);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_ptr_equal(subject.attempt, first);
    snprintf(name, sizeof name, "Actor(Actor, %s)", records->actors[0].actor_id);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_ptr_equal(subject.actor, &records->actors[0]);
    snprintf(name, sizeof name, "ObjectRef(%s01000000)", first->task_id);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_int_equal(subject.kind, WHY_OBJECT);

    const struct ray_worker *worker = &records->workers[0];
    snprintf(name, sizeof name, "worker pid %s, dead",
             why_name_of_worker(records, worker, process));
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_ptr_equal(subject.worker, worker);
    snprintf(name, sizeof name, "(segv pid=%lld, ip=%s)", (long long)worker->pid, worker->ip);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_ptr_equal(subject.worker, worker);
    snprintf(name, sizeof name, "(segv pid=%lld)", (long long)worker->pid);
    assert_int_equal(why_subject_find(records, name, &subject, &err), 0);
    assert_ptr_equal(subject.worker, worker);
    world.records.workers[1].pid = worker->pid; /* on another node: which one is not known */
    text_copy(world.records.workers[1].node_id, sizeof worker->node_id, "another");
    assert_int_equal(why_subject_find(records, name, &subject, &err), -1);
    static const char *const none[] = {
        "f ()", "f (", "ObjectRef(", "pid=", "(f pid=x)", "pid @", ")("};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(why_subject_find(records, none[i], &subject, &err), -1);
    why_world_close(&world);
}

static void the_overview_has_what_failed_and_waits(void **state)
{
    (void)state;
    struct why_world world;
    struct why_overview overview;
    bool crashed = false, waits_for_b = false, out_of_scope = false;
    why_world_open(&world, "2.60.0");
    why_overview_make(&world.records, &overview);
    for (size_t i = 0; i < overview.count; i++) {
        const struct why_row *row = &overview.rows[i];
        crashed = crashed || (strcmp(row->name, "segv") == 0 && strcmp(row->state, "failed") == 0);
        waits_for_b = waits_for_b || (strcmp(row->name, "waits_for_b") == 0 && row->count == 3);
        out_of_scope = out_of_scope || strcmp(row->name, "dropped_actor") == 0;
        if (i)
            assert_false(strcmp(row[-1].state, "failed") == 0 &&
                         strcmp(row->state, "waiting") == 0);
    }
    assert_true(crashed && waits_for_b && !out_of_scope);
    why_overview_clear(&overview);
    world.records.since_ms = world.records.now_ms + 1; /* all failures are older */
    why_overview_make(&world.records, &overview);
    for (size_t i = 0; i < overview.count; i++)
        assert_string_not_equal(overview.rows[i].state, "failed");
    why_overview_clear(&overview);
    why_world_close(&world);
}

/* Of several tasks of one name the one that failed is the answer. */
static void a_failure_comes_first(void **state)
{
    (void)state;
    struct why_world world;
    struct why_subject subject;
    struct err err;
    why_world_open(&world, "2.60.0");
    for (size_t i = 0; i < world.records.attempt_count; i++) {
        struct ray_attempt *it = &world.records.attempts[i];
        if (strcmp(it->name, "raise_value") == 0 || strcmp(it->name, "infeasible") == 0) {
            free(it->name);
            it->name = mem_string("holder");
        }
    }
    assert_int_equal(why_subject_find(&world.records, "holder", &subject, &err), 0);
    assert_int_equal(subject.attempt->state, RAY_ATTEMPT_FAILED);
    assert_int_equal(subject.namesakes, 3);
    assert_int_equal(subject.namesakes_failed, 1);
    assert_int_equal(subject.namesakes_waiting, 1);
    why_world_close(&world);
}

static void a_submitted_job_has_an_exit_code(void **state)
{
    (void)state;
    struct why_report report = {0};
    struct ray_job job = {
        .job_id = "05000000", .is_dead = true, .has_exit_code = true, .exit_code = 127};
    struct why_records records = {.jobs = &job, .job_count = 1};
    const struct why_subject subject = {.kind = WHY_JOB, .job = &job};
    why_judge(&records, &subject, &report);
    assert_non_null(strstr(report.cause, "127: the command was not found"));
    why_report_clear(&report);
    job.exit_code = 1;
    job.submission_message =
        "Job entrypoint command failed with exit code 1, last available logs:\nhello\nTraceback "
        "(most recent call last):\n  File \"old.py\", line 1, in old\nKeyError: 1\nTraceback (most "
        "recent call last):\n  File \"train.py\", line 7, in main\nValueError: no data\n";
    why_judge(&records, &subject, &report);
    assert_true(why_world_list_has(&report.details, "it raised ValueError: no data"));
    assert_false(why_world_list_has(&report.details, "KeyError"));
    assert_string_equal(last_users_function(&report), "main");
    why_report_clear(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_is_named),
        cmocka_unit_test(each_wait_is_named),
        cmocka_unit_test(a_worker_that_cannot_start_is_named),
        cmocka_unit_test(raylets_say_why_a_worker_cannot_start),
        cmocka_unit_test(holders_are_named),
        cmocka_unit_test(the_first_record_counts),
        cmocka_unit_test(a_circle_must_rest),
        cmocka_unit_test(the_chain_leads_to_the_node),
        cmocka_unit_test(missing_evidence_is_unknown),
        cmocka_unit_test(no_failure_is_named_wrongly),
        cmocka_unit_test(a_location_that_was_not_reported_is_unknown),
        cmocka_unit_test(a_dead_node_takes_its_workers),
        cmocka_unit_test(a_dead_actor_runs_nothing),
        cmocka_unit_test(a_lost_argument_leads_to_its_object),
        cmocka_unit_test(names_and_ids_lead_to_subjects),
        cmocka_unit_test(printed_names_lead_to_subjects),
        cmocka_unit_test(the_overview_has_what_failed_and_waits),
        cmocka_unit_test(a_failure_comes_first),
        cmocka_unit_test(a_submitted_job_has_an_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
