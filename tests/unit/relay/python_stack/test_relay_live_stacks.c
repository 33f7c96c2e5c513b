/* Which processes a name means, and their stacks as one tree. */
#include "cmocka_prelude.h"

#include "relay/python_stack/live_stacks.h"
#include "relay/python_stack/stack_processes.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two nodes; workers 0 and 1 run `burn`, 2 an actor's two calls, 3 nothing, 4 is the driver, 5
 * lives on in the table, but on a dead node. */
struct world {
    struct ray_node nodes[3];
    struct ray_worker workers[6];
    struct ray_attempt attempts[5];
    struct ray_job job;
    struct why_records records;
};

static void id_of(char *out, size_t digits, char first, size_t number)
{
    snprintf(out, digits + 1, "%c%0*zu", first, (int)digits - 1, number);
}

static void add_attempt(struct world *world, size_t worker, const char *name)
{
    size_t i = world->records.attempt_count++;
    struct ray_attempt *it = &world->attempts[i];
    id_of(it->task_id, 48, 'a', i);
    strcpy(it->job_id, "01000000");
    strcpy(it->worker_id, world->workers[worker].worker_id);
    strcpy(it->node_id, world->workers[worker].node_id);
    it->name = it->func_or_class = (char *)name;
    it->state = RAY_ATTEMPT_RUNNING;
    it->pid = world->workers[worker].pid;
}

static void open_world(struct world *world)
{
    static const char *const ips[] = {"10.0.0.7", "10.0.0.9", "10.0.0.11"};
    *world = (struct world){0};
    for (size_t i = 0; i < 3; i++) {
        id_of(world->nodes[i].node_id, 56, 'd', i);
        world->nodes[i].ip = (char *)ips[i];
        world->nodes[i].is_alive = i < 2;
    }
    for (size_t i = 0; i < 6; i++) {
        struct ray_worker *worker = &world->workers[i];
        size_t node = i == 5 ? 2 : i % 2;
        id_of(worker->worker_id, 56, 'e', i);
        strcpy(worker->node_id, world->nodes[node].node_id);
        worker->ip = world->nodes[node].ip;
        worker->pid = 100 + (int64_t)i;
        worker->is_alive = true;
        worker->is_driver = i == 4;
    }
    strcpy(world->job.job_id, "01000000");
    world->job.driver_pid = 104;
    world->job.driver_ip = world->workers[4].ip;
    world->records = (struct why_records){.nodes = world->nodes,
                                          .node_count = 3,
                                          .workers = world->workers,
                                          .worker_count = 6,
                                          .attempts = world->attempts,
                                          .jobs = &world->job,
                                          .job_count = 1};
    add_attempt(world, 0, "burn");
    add_attempt(world, 1, "burn");
    add_attempt(world, 2, "T.nap");
    add_attempt(world, 2, "T.block");
    add_attempt(world, 5, "burn");
}

/* The pids that are found, in order, "100 101"; or the error's code. */
static const char *pids(const struct world *world, struct stack_select select)
{
    static char text[100];
    struct stack_processes found;
    struct err err;
    *text = '\0';
    if (stack_processes_find(&world->records, &select, &found, &err) != 0)
        snprintf(text, sizeof text, "error %d", err.code);
    else
        for (size_t i = 0; i < found.count; i++)
            sprintf(text + strlen(text), "%s%lld", i ? " " : "", (long long)found.items[i]->pid);
    free(found.items);
    return text;
}

static void names_mean_processes(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    assert_string_equal(pids(&world, (struct stack_select){0}), "100 101 102 104");
    assert_string_equal(pids(&world, (struct stack_select){.idle = true}), "100 101 102 103 104");
    assert_string_equal(pids(&world, (struct stack_select){.name = "burn"}), "100 101");
    assert_string_equal(pids(&world, (struct stack_select){.name = world.attempts[1].task_id}),
                        "101");
    char upper[64] = "A"; /* ids are found in either case, and as raydbg prints them */
    strcpy(upper + 1, world.attempts[1].task_id + 1);
    assert_string_equal(pids(&world, (struct stack_select){.name = upper}), "101");
    assert_string_equal(pids(&world, (struct stack_select){.name = "burn", .node = "10.0.0.9"}),
                        "101");
    assert_string_equal(pids(&world, (struct stack_select){.name = "102@10.0.0.7"}), "102");
    assert_string_equal(pids(&world, (struct stack_select){.name = "10.0.0.9"}), "101");
    assert_string_equal(pids(&world, (struct stack_select){.name = "01000000"}), "100 101 102 104");
    assert_string_equal(pids(&world, (struct stack_select){.node = "10.1.1.1"}), "error 3");
    assert_string_equal(pids(&world, (struct stack_select){.name = "105@10.0.0.11"}), "error 3");
    world.attempts[2].state = RAY_ATTEMPT_FINISHED;
    assert_string_equal(pids(&world, (struct stack_select){.name = "T.nap"}), "error 3");
}

#define DUMP(title, frames) "Process 1: " title "\nPython v3\n\n" frames
#define MAIN "Thread 1 (active): \"MainThread\"\n"
#define RAYS                                                                                       \
    "    main_loop (ray/_private/worker.py:1)\n    <module> (ray/_private/default_worker.py:2)\n"
#define GET "    get (ray/_private/worker.py:3)\n"

static void stacks_become_one_tree(void **state)
{
    (void)state;
    struct world world;
    struct buf out = {0};
    open_world(&world);
    world.workers[1].paused_threads = 1;
    struct live_stacks *stacks = live_stacks_create(&world.records, false);
    for (size_t i = 0; i < 2; i++)
        live_stacks_add(stacks, &world.workers[i],
                        DUMP("ray::burn", MAIN "    burn (app.py:7)\n" RAYS), NULL);
    live_stacks_add(stacks, &world.workers[2],
                    DUMP("ray::T", MAIN RAYS "Thread 2 (idle)\n" GET "    T.block (app.py:9)\n" RAYS
                                             "Thread 3 (idle): \"Dummy-1\"\n    nap (app.py:8)\n"),
                    NULL);
    live_stacks_add(stacks, &world.workers[3], DUMP("ray::IDLE", MAIN RAYS), NULL);
    live_stacks_add(stacks, &world.workers[4], NULL, "Permission denied (os error 13)");
    live_stacks_text(stacks, &out);
    assert_string_equal(
        out.data,
        "4 tasks, 3 different stacks\n"
        "  burn  app.py:7                                            2  burn pid 100@10.0.0.7, "
        "burn pid 101@10.0.0.9 (paused)\n"
        "  T.block  app.py:9                                         1\n"
        "  ray.get                                                   1  T.block pid "
        "102@10.0.0.7\n"
        "  nap  app.py:8                                             1  T.nap pid 102@10.0.0.7 "
        "thread Dummy-1\n"
        "  not shown: 1 process, idle: it runs no task: 103@10.0.0.9\n"
        "  not shown: 1 process, py-spy may not read processes on the node: 104@10.0.0.7\n"
        "    it needs root or the capability SYS_PTRACE; in Kubernetes "
        "securityContext.capabilities.add: [SYS_PTRACE]\n");
    assert_int_equal(live_stacks_count(stacks), 5);
    assert_int_equal(live_stacks_read(stacks), 4);
    buf_free(&out);

    live_stacks_json(stacks, &out);
    cJSON *json = cJSON_Parse(out.data);
    assert_non_null(json);
    const cJSON *processes = cJSON_GetObjectItem(json, "processes");
    assert_int_equal(cJSON_GetArraySize(processes), 5);
    assert_int_equal(
        cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetArrayItem(processes, 2), "threads")), 3);
    static const struct {
        int process, task;
        const char *name;
    } tasks[] = {{1, 0, "burn"},    {1, 1, NULL}, {2, 0, "T.nap"},
                 {2, 1, "T.block"}, {2, 2, NULL}, {3, 0, NULL}};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        const cJSON *list =
            cJSON_GetObjectItem(cJSON_GetArrayItem(processes, tasks[i].process), "tasks");
        const cJSON *name =
            cJSON_GetObjectItem(cJSON_GetArrayItem(list, tasks[i].task), "task_name");
        assert_true(!name == !tasks[i].name);
        if (name)
            assert_string_equal(name->valuestring, tasks[i].name);
    }
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "tree"), "stacks")->valueint, 3);
    cJSON_Delete(json);
    buf_free(&out);
    live_stacks_destroy(&stacks);
}

/* With asyncio's own loop its frames tell; uvloop has none. */
static void coroutines_that_wait_are_told(void **state)
{
    (void)state;
    static const char *const loops[] = {
        "Thread 2 (idle): \"AsyncIO Thread: default\"\n    run (threading.py:9)\n",
        "Thread 2 (idle)\n    run_forever (asyncio/base_events.py:9)\n",
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        struct world world;
        struct buf out = {0}, dump = {0};
        open_world(&world);
        struct live_stacks *stacks = live_stacks_create(&world.records, false);
        buf_printf(&dump, "%s%s", DUMP("ray::T", MAIN RAYS), loops[i]);
        live_stacks_add(stacks, &world.workers[2], dump.data, NULL);
        live_stacks_text(stacks, &out);
        assert_non_null(strstr(out.data, "not shown: 1 process, calls of an async actor"));
        buf_free(&out);
        buf_free(&dump);
        live_stacks_destroy(&stacks);
    }
}

static void problems_are_told(void **state)
{
    (void)state;
    struct world world;
    struct buf out = {0};
    struct err err = {0};
    open_world(&world);
    struct live_stacks *stacks = live_stacks_create(&world.records, false);
    for (size_t i = 0; i < 5; i++)
        live_stacks_add(stacks, &world.workers[i], NULL,
                        "Failed to execute: py-spy is not installed");
    live_stacks_text(stacks, &out); /* one line for all, and no tree */
    assert_non_null(strstr(out.data, "  not shown: 5 processes, py-spy is not installed"));
    assert_non_null(strstr(out.data, "102@10.0.0.7, 103@10.0.0.9, ...\n"));
    assert_null(strstr(out.data, "different stack"));
    assert_int_equal(live_stacks_read(stacks), 0);
    live_stacks_problem(stacks, &err);
    assert_int_equal(err.code, ERR_FAILED);
    assert_non_null(strstr(err.hint, "pip install py-spy"));
    live_stacks_destroy(&stacks);
    buf_free(&out);

    stacks = live_stacks_create(&world.records, true);
    live_stacks_add(stacks, &world.workers[0], "nonsense", NULL);
    live_stacks_add(stacks, &world.workers[1], NULL, "new\033[31m words\nsecond line");
    live_stacks_text(stacks, &out);
    assert_non_null(strstr(out.data, "new?[31m words: 101@"));
    live_stacks_destroy(&stacks);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_mean_processes),
        cmocka_unit_test(stacks_become_one_tree),
        cmocka_unit_test(coroutines_that_wait_are_told),
        cmocka_unit_test(problems_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
