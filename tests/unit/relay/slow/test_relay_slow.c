/* The rules of relay/slow: each on attempts with the times of a real run, and on the near miss. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"
#include "relay/slow/slow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000)
#define SECOND INT64_C(1000000)
#define EPOCH (1000 * SECOND) /* when the job begins, us */

enum { MOST = 500, PROCESSES = 32 };

/* A job on a node with four CPUs. */
struct world {
    struct ray_attempt attempts[MOST];
    struct ray_timing timings[MOST];
    struct ray_event events[MOST][2];
    struct ray_resource cpu, gpu[2], node_cpu;
    struct ray_node node;
    struct ray_node_resources has;
    struct ray_job job;
    struct ray_worker workers[PROCESSES];
    struct why_records records;
};

static struct world *open_world(void)
{
    struct world *it = mem_alloc(sizeof *it);
    it->cpu = it->gpu[0] = (struct ray_resource){(char *)"CPU", 1};
    it->gpu[1] = (struct ray_resource){(char *)"GPU", 1};
    it->node_cpu = (struct ray_resource){(char *)"CPU", 4};
    strcpy(it->node.node_id, "n");
    it->node.is_alive = true;
    strcpy(it->has.node_id, "n");
    it->has.total = (struct ray_resources){&it->node_cpu, 1};
    strcpy(it->job.job_id, "03000000");
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(it->workers[i].worker_id, sizeof it->workers[i].worker_id, "w%02d", i);
        it->workers[i].is_alive = true;
    }
    it->records = (struct why_records){.now_ms = 2 * EPOCH / MS,
                                       .attempts = it->attempts,
                                       .nodes = &it->node,
                                       .node_count = 1,
                                       .jobs = &it->job,
                                       .job_count = 1,
                                       .workers = it->workers,
                                       .worker_count = PROCESSES,
                                       .resources = {.nodes = &it->has, .node_count = 1}};
    return it;
}

/* A finished task; all times are us since the begin of the job. It waits from `submitted` on. */
struct call {
    const char *name;
    int process;
    int64_t submitted, start, execute;
    int64_t rest;       /* Ray's own time within the run */
    const char *parent; /* task id; NULL: the driver */
};

static struct ray_attempt *add(struct world *world, struct call call)
{
    size_t i = world->records.attempt_count++;
    struct ray_attempt *it = &world->attempts[i];
    int64_t end = call.start + call.rest + call.execute;
    assert_true(i < MOST && call.process < PROCESSES);
    *it = (struct ray_attempt){.name = (char *)call.name, .state = RAY_ATTEMPT_FINISHED};
    snprintf(it->task_id, sizeof it->task_id, "%048zu", i + 1);
    text_copy(it->parent_task_id, sizeof it->parent_task_id, call.parent ? call.parent : "driver");
    strcpy(it->job_id, "03000000");
    strcpy(it->node_id, "n");
    strcpy(it->worker_id, world->workers[call.process].worker_id);
    it->resources = (struct ray_resources){&world->cpu, 1};
    it->timing = &world->timings[i];
    *it->timing = (struct ray_timing){.events = world->events[i], .event_count = 2};
    it->timing->state_ns[RAY_ATTEMPT_PENDING_ARGS] = (EPOCH + call.submitted) * 1000;
    it->timing->state_ns[RAY_ATTEMPT_PENDING_NODE] = (EPOCH + call.submitted) * 1000;
    it->timing->state_ns[RAY_ATTEMPT_SUBMITTED] = (EPOCH + call.start - 200) * 1000;
    it->timing->state_ns[RAY_ATTEMPT_RUNNING] = (EPOCH + call.start) * 1000;
    it->timing->state_ns[RAY_ATTEMPT_FINISHED] = (EPOCH + end + 200) * 1000;
    world->events[i][0] = (struct ray_event){
        (char *)"task:execute", (EPOCH + call.start + call.rest) * 1000, (EPOCH + end) * 1000};
    world->events[i][1] =
        (struct ray_event){(char *)"task::f", (EPOCH + call.start) * 1000, (EPOCH + end) * 1000};
    return it;
}

/* A call of the actor in this process, sent to it at once. */
static void add_actor_call(struct world *world, struct call call)
{
    struct ray_attempt *it = add(world, call);
    it->type = RAY_ACTOR_TASK;
    snprintf(it->actor_id, sizeof it->actor_id, "a%d", call.process);
    it->timing->state_ns[RAY_ATTEMPT_SUBMITTED] = (EPOCH + call.submitted + 200) * 1000;
}

static struct slow_report look(struct world *world)
{
    struct slow_report report;
    struct err err;
    why_records_index(&world->records);
    assert_int_equal(slow_make(&world->records, &(struct slow_query){0}, &report, &err), 0);
    return report;
}

static void close_world(struct world *world)
{
    why_records_clear_index(&world->records);
    free(world);
}

/* The world, which is closed, has this one finding; `code` NULL: none. */
static void check(struct world *world, const char *code, const char *name, const char *cause)
{
    struct slow_report report = look(world);
    if (report.count != (code != NULL))
        fail_msg("%zu findings, the first %s: %s", report.count,
                 report.count ? report.findings[0].code : "",
                 report.count ? report.findings[0].cause : "");
    if (code) {
        assert_string_equal(report.findings[0].code, code);
        assert_string_equal(report.findings[0].name, name);
        if (!strstr(report.findings[0].cause, cause))
            fail_msg("%s", report.findings[0].cause);
    }
    slow_clear(&report);
    close_world(world);
}

/* --- tasks too small --- */

/* 400 tasks in four processes, each behind the other in steps of `step`. */
static struct world *small(int64_t execute, int64_t step, bool all_at_once)
{
    struct world *world = open_world();
    for (int i = 0; i < 400; i++) {
        int64_t start = 5 * MS + i / 4 * step;
        add(world, (struct call){.name = "tiny",
                                 .process = i % 4,
                                 .execute = execute,
                                 .rest = 130,
                                 .start = start,
                                 .submitted = all_at_once ? 0 : start - 400});
    }
    return world;
}

static void tasks_too_small(void **state)
{
    (void)state;
    check(small(20, 5500, true), "too_small", "tiny", "Ray needs 5.5 ms for each");
    check(small(20, 5500, false), NULL, "", ""); /* the submitter is what is slow */
    check(small(8 * MS, 10 * MS, true), NULL, "", "");
    check(small(20 * MS, 60 * MS, true), NULL, "", "");
}

/* --- ray.get in a loop --- */

/* Eight calls of one parent, each `step` behind the one before. */
static struct world *loop(int64_t step)
{
    struct world *world = open_world();
    const struct ray_attempt *parent =
        add(world, (struct call){.name = "one_by_one", .start = 5 * MS, .execute = 9 * SECOND});
    for (int i = 0; i < 8; i++)
        add(world, (struct call){.name = "called",
                                 .process = 1,
                                 .execute = 500 * MS,
                                 .submitted = 20 * MS + i * step,
                                 .start = 23 * MS + i * step,
                                 .parent = parent->task_id});
    return world;
}

static void get_in_a_loop(void **state)
{
    (void)state;
    check(loop(505 * MS), "get_loop", "one_by_one", "its 8 calls of called never overlap");
    check(loop(502 * MS + 500), "get_loop", "one_by_one", ""); /* the end is recorded late */
    check(loop(480 * MS), NULL, "", "");
    check(loop(1100 * MS), NULL, "", ""); /* the parent does more than wait */
    struct world *world = loop(505 * MS);
    world->node_cpu.amount = 2; /* no CPU for another call */
    check(world, NULL, "", "");
    world = loop(505 * MS);
    for (int i = 2; i < 6; i++) { /* Ray starts processes because CPUs are free */
        world->workers[i].launch_ms = EPOCH / MS;
        world->workers[i].start_ms = (EPOCH + 3 * SECOND) / MS;
    }
    check(world, "get_loop", "one_by_one", "");
    world = loop(505 * MS);
    for (int i = 2; i <= 8; i++) /* each is a retry of the one before */
        strcpy(world->attempts[i].task_id, world->attempts[1].task_id);
    check(world, NULL, "", "");
    world = loop(505 * MS);
    world->attempts[3].timing->state_ns[RAY_ATTEMPT_FINISHED] = 0; /* one of them goes on */
    check(world, NULL, "", "");
    world = loop(505 * MS);
    for (int i = 1; i <= 8; i++) /* of the driver */
        strcpy(world->attempts[i].parent_task_id, "driver");
    check(world, "get_loop", "driver", "its 8 calls");
    world = loop(505 * MS);
    for (int i = 0; i < 8; i++) /* of the same parent, after a while */
        add(world, (struct call){.name = "called",
                                 .process = 1,
                                 .execute = 500 * MS,
                                 .submitted = 60 * SECOND + i * 505 * MS,
                                 .start = 60 * SECOND + 3 * MS + i * 505 * MS,
                                 .parent = world->attempts[0].task_id});
    check(world, "get_loop", "one_by_one", "ray.get in 2 loops: up to 8 calls of called");
}

/* --- one actor for all calls --- */

/* 60 calls of 50 ms in so many actors, each with so many at a time. */
static struct world *actors(int count, int concurrency, bool all_at_once)
{
    struct world *world = open_world();
    for (int i = 0; i < 60; i++) {
        int64_t start = 10 * MS + i / count / concurrency * (50 * MS + 600);
        add_actor_call(world, (struct call){.name = "One.step",
                                            .process = i % count,
                                            .execute = 50 * MS,
                                            .rest = 200,
                                            .start = start,
                                            .submitted = all_at_once ? 0 : start - MS});
    }
    return world;
}

static void one_actor(void **state)
{
    (void)state;
    check(actors(1, 1, true), "one_actor", "One.step", "the longest wait was 3.0 s");
    check(actors(2, 1, true), NULL, "", "");
    check(actors(1, 2, true), NULL, "", "");
    check(actors(1, 1, false), NULL, "", "");
}

/* --- one long task at the end --- */

/* Twelve tasks of 200 ms in so many processes, but one, which takes 3 s. */
static void add_uneven(struct world *world, int processes, int the_long_one, int64_t begin)
{
    int64_t ends[PROCESSES] = {0};
    for (int i = 0; i < 12; i++) {
        int process = i % processes;
        int64_t execute = i == the_long_one ? 3 * SECOND : 200 * MS;
        if (the_long_one == 0 && i)
            process = 1 + i % (processes - 1);
        add(world, (struct call){.name = "uneven",
                                 .process = process,
                                 .execute = execute,
                                 .submitted = begin,
                                 .start = begin + ends[process] + 5 * MS});
        ends[process] += execute + 5 * MS;
    }
}

static struct world *uneven(int processes, int the_long_one)
{
    struct world *world = open_world();
    add_uneven(world, processes, the_long_one, 0);
    return world;
}

static void one_long_task(void **state)
{
    (void)state;
    check(uneven(4, 11), "uneven", "uneven", "one took 3.0 s, 2.8 s of it after all others");
    struct world *world = uneven(1, 11);
    world->node_cpu.amount = 1; /* one at a time: its place does not matter */
    check(world, NULL, "", "");
    world = uneven(4, 11);
    add(world, (struct call){.name = "other",
                             .process = 5,
                             .start = 2 * SECOND,
                             .execute = SECOND + 700 * MS,
                             .submitted = 2 * SECOND});
    check(world, NULL, "", "");
    world = uneven(4, 11);
    add(world, (struct call){.name = "parent", .process = 5, .execute = 9 * SECOND});
    check(world, "uneven", "uneven", "2.8 s of it"); /* it has run since before */
    world = uneven(4, 11);
    add_uneven(world, 4, 11, 10 * SECOND);
    check(world, "uneven", "uneven", "2 took up to 3.0 s, 5.6 s in all after all others");
    world = uneven(3, 0); /* the others take as long, side by side */
    for (int i = 1; i < 12; i++)
        world->attempts[i].timing->events[1].end_ns += 2 * SECOND * 1000;
    check(world, NULL, "", "");
    world = uneven(4, 11);
    for (int i = 0; i < 11; i++) /* submitted by somebody else */
        strcpy(world->attempts[i].parent_task_id, "another");
    check(world, NULL, "", "");
}

/* --- waits for a node --- */

/* Tasks of half a second, so many at a time in processes that were there; all submitted at once. */
static struct world *waiting(int count, int at_a_time)
{
    struct world *world = open_world();
    for (int i = 0; i < count; i++)
        add(world, (struct call){.name = "waits",
                                 .process = i % at_a_time,
                                 .execute = 500 * MS,
                                 .start = 5 * MS + i / at_a_time * 502 * MS});
    return world;
}

static void waits_for_a_node(void **state)
{
    (void)state;
    struct world *world = waiting(10, 1);
    check(world, "waits_cpus_free", "waits", "for a node, though CPUs were free");
    world = waiting(10, 1);
    for (int i = 0; i < 10; i++)
        world->attempts[i].resources = (struct ray_resources){world->gpu, 2};
    check(world, "waits_cpus_free", "waits", "2.5 s for a node with GPU: 1");
    world = waiting(10, 1);
    for (int i = 0; i < 3; i++) /* they hold the other CPUs */
        add(world, (struct call){.name = "long", .process = 2 + i, .execute = 6 * SECOND});
    check(world, NULL, "", "");
    world = waiting(10, 1);
    for (int i = 0; i < 10; i++) /* the group's resources, not the node's */
        strcpy(world->attempts[i].group_id, "g");
    check(world, NULL, "", "");
    world = waiting(10, 1);
    for (int i = 1; i < 4; i++) { /* Ray starts processes for them meanwhile */
        world->workers[i].launch_ms = EPOCH / MS;
        world->workers[i].start_ms = (EPOCH + 6 * SECOND) / MS;
    }
    check(world, NULL, "", "");
    check(waiting(100, 4), "waits_cpus_taken", "waits", "6.0 s for a CPU: all were taken");
    check(waiting(24, 4), NULL, "", ""); /* no more than a batch of some length */
}

/* --- starts of processes --- */

/* Four processes, which take so long to start and whose first task so long besides its code. */
static struct world *starting(int64_t launch, int64_t first)
{
    struct world *world = open_world();
    for (int i = 0; i < 16; i++) {
        int64_t begin = launch + (i < 4 ? 0 : first) + i / 4 * 1010 * MS;
        add(world, (struct call){.name = "warm",
                                 .process = i % 4,
                                 .execute = SECOND,
                                 .rest = i < 4 ? first : 200,
                                 .start = begin + 20 * MS});
        world->workers[i % 4].launch_ms = (EPOCH + 2 * MS) / MS;
        world->workers[i % 4].start_ms = (EPOCH + launch) / MS;
    }
    return world;
}

static void starts_of_processes(void **state)
{
    (void)state;
    check(starting(3 * SECOND, 2 * SECOND), "process_starts", "new processes",
          "each start costs 5.0 s (average): 3.0 s until it is there, 2.0 s more in its first");
    check(starting(300 * MS, 200 * MS), NULL, "", "");
    struct world *world = starting(3 * SECOND, 0);
    for (int i = 0; i < 4; i++) /* Ray has started them before */
        world->workers[i].start_ms = (EPOCH - 10 * MS) / MS;
    check(world, NULL, "", "");
    world = starting(3 * SECOND, 2 * SECOND);
    for (int i = 0; i < 3; i++) /* an hour of work in the same processes */
        add(world, (struct call){.name = "work",
                                 .process = i,
                                 .start = 20 * SECOND,
                                 .submitted = 20 * SECOND,
                                 .execute = 3600 * SECOND});
    check(world, NULL, "", "");
}

/* --- the report --- */

static void what_costs_little_is_not_named(void **state)
{
    (void)state;
    struct world *world = small(20, 5500, true);
    add(world, (struct call){.name = "train", .process = 9, .execute = 600 * SECOND});
    check(world, NULL, "", "");
}

static void the_figures_of_the_job(void **state)
{
    (void)state;
    struct world *world = loop(505 * MS);
    struct slow_report report = look(world);
    char id[ID_TEXT(ID_JOB_BYTES)];
    assert_string_equal(job_id_brief(report.job_id, id), "03");
    assert_int_equal(report.tasks, 9);
    assert_int_equal(report.names, 2);
    assert_int_equal(report.nodes, 1);
    assert_true(report.busy_us > 9 * SECOND && report.busy_us < 9 * SECOND + 10 * MS);
    assert_true(report.running > 1.4 && report.running < 1.5 && report.cpus > 3.9);
    assert_int_equal(report.unknown.count, 0);
    assert_int_equal(report.looked_for.count, 7);
    slow_clear(&report);
    close_world(world);
}

/* The world, which is closed, has no finding, and this is unknown first. */
static void check_unknown(struct world *world, const char *unknown)
{
    struct slow_report report = look(world);
    assert_int_equal(report.count, 0);
    assert_true(report.unknown.count > 0);
    assert_string_equal(report.unknown.items[0], unknown);
    slow_clear(&report);
    close_world(world);
}

static void what_is_not_known(void **state)
{
    (void)state;
    struct world *world = loop(505 * MS);
    world->records.problems[WHY_RESOURCES].code = ERR_FAILED;
    strcpy(world->records.problems[WHY_RESOURCES].what, "no answer");
    check_unknown(world, "ray.get in a loop: no answer");
    world = loop(505 * MS);
    struct ray_node nodes[2] = {world->node, {.end_ms = (EPOCH + SECOND) / MS}};
    world->records.nodes = nodes;
    world->records.node_count = 2;
    check_unknown(world, "ray.get in a loop: a node has ended since, and Ray forgets how many CPUs "
                         "it had");
    world = actors(1, 1, true);
    for (size_t i = 0; i < 60; i++) /* without profile events */
        world->attempts[i].timing->event_count = 0;
    check_unknown(world, "how long 60 of 60 finished tasks executed: Ray has no event of it");
}

static int ask(struct world *world, struct slow_query query, struct slow_report *report,
               struct err *err)
{
    why_records_index(&world->records);
    int failed = slow_make(&world->records, &query, report, err);
    why_records_clear_index(&world->records);
    return failed;
}

static void jobs_and_names(void **state)
{
    (void)state;
    struct world *world = loop(505 * MS);
    struct slow_report report;
    struct err err;
    struct ray_job jobs[] = {world->job, {.job_id = "04000000"}, {.job_id = "03010000"}};
    struct ray_attempt *later =
        add(world, (struct call){.name = "late", .submitted = 60 * SECOND, .start = 60 * SECOND});
    strcpy(later->job_id, "04000000");
    world->records.jobs = jobs;
    world->records.job_count = 3;
    assert_int_equal(ask(world, (struct slow_query){0}, &report, &err), 0);
    assert_string_equal(report.job_id, "04000000"); /* the last one */
    slow_clear(&report);
    jobs[1].is_internal = true;
    assert_int_equal(ask(world, (struct slow_query){0}, &report, &err), 0);
    assert_string_equal(report.job_id, "03000000");
    slow_clear(&report);
    assert_int_equal(ask(world, (struct slow_query){.job = "03"}, &report, &err), 0);
    assert_string_equal(report.job_id, "03000000"); /* not 0301 */
    slow_clear(&report);
    assert_int_equal(ask(world, (struct slow_query){.job = "0"}, &report, &err), -1);
    assert_string_equal(err.what, "the ids of several jobs begin with '0'");
    assert_int_equal(ask(world, (struct slow_query){.job = "7"}, &report, &err), -1);
    assert_string_equal(err.hint, "jobs that have tasks: 03, 04");
    const char *names[] = {"one_*", "called"}; /* the parent, or what it calls */
    for (int i = 0; i < 2; i++) {
        struct slow_query query = {.job = "03", .name = names[i]};
        assert_int_equal(ask(world, query, &report, &err), 0);
        assert_int_equal(report.count, 1);
        assert_int_equal(report.names, 1);
        slow_clear(&report);
    }
    struct slow_query none = {.job = "03", .name = "late"};
    assert_int_equal(ask(world, none, &report, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    struct slow_query recent = {.job = "03", .since_us = EPOCH + 60 * SECOND};
    assert_int_equal(ask(world, recent, &report, &err), 0);
    assert_int_equal(report.tasks + report.count, 0);
    slow_clear(&report);
    close_world(world);
}

static void spans_as_text(void **state)
{
    (void)state;
    static const struct row {
        int64_t us;
        const char *text;
    } rows[] = {{-1, "?"},          {20, "0.02 ms"},       {1940, "1.9 ms"},      {50271, "50 ms"},
                {3001497, "3.0 s"}, {13 * SECOND, "13 s"}, {600 * SECOND, "10 m"}};
    char out[WHY_SPAN_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(slow_span(rows[i].us, out), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_too_small),
        cmocka_unit_test(get_in_a_loop),
        cmocka_unit_test(one_actor),
        cmocka_unit_test(one_long_task),
        cmocka_unit_test(waits_for_a_node),
        cmocka_unit_test(starts_of_processes),
        cmocka_unit_test(what_costs_little_is_not_named),
        cmocka_unit_test(the_figures_of_the_job),
        cmocka_unit_test(what_is_not_known),
        cmocka_unit_test(jobs_and_names),
        cmocka_unit_test(spans_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
