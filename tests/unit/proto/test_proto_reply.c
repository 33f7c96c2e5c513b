/* Decoding what real clusters answered, and what no cluster should. */
#include "recorded.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/reply.h"
#include "proto/stats_wire.h"

#include <stdlib.h>
#include <string.h>

static struct err err;

/* --- workers --- */

static const struct ray_worker *worker_of_pid(const struct ray_worker *workers, size_t count,
                                              int64_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (workers[i].pid == pid)
            return &workers[i];
    fail_msg("no worker with pid %lld", (long long)pid);
    abort();
}

static void check_workers(const char *name, int64_t task_pid, const char *task_worker,
                          uint16_t port, uint16_t debugger_port, int64_t driver_pid,
                          int64_t dead_pid)
{
    struct buf bytes = load(name);
    struct ray_worker *workers;
    size_t count;
    assert_int_equal(reply_workers(BYTES(bytes), &workers, &count, &err), 0);
    assert_int_equal(count, 5);
    const struct ray_worker *one = worker_of_pid(workers, count, task_pid);
    assert_string_equal(one->worker_id, task_worker);
    assert_int_equal(strlen(one->node_id), 56);
    assert_string_equal(one->ip, "127.0.0.1");
    assert_int_equal(one->port, port);
    assert_true(one->is_alive && !one->is_driver);
    assert_int_equal(one->debugger_port, debugger_port);
    assert_int_equal(one->paused_threads, 1);
    assert_null(one->exit_type);
    assert_true(one->start_ms > 1795234000000 && one->end_ms == 0);
    assert_true(one->launch_ms < one->start_ms && one->launch_ms > one->start_ms - 60000);
    one = worker_of_pid(workers, count, driver_pid);
    assert_true(one->is_driver && one->is_alive && one->debugger_port == 0);
    assert_int_equal(one->launch_ms, 0);
    one = worker_of_pid(workers, count, dead_pid);
    assert_false(one->is_alive);
    assert_string_equal(one->exit_type, "SYSTEM_ERROR"); /* 0, but said */
    assert_true(text_starts(one->exit_detail, "Worker unexpectedly exits"));
    assert_true(one->end_ms > one->start_ms);
    ray_workers_free(workers, count);
    buf_free(&bytes);
}

static void decodes_workers(void **state)
{
    (void)state;
    check_workers("2.44.1-workers", 294, "16b21583c4ee3800efa81755d57ae507127ce7a7878991b6e2f9c93e",
                  10005, 58247, 154, 222);
    check_workers("2.60.0-workers", 275, "3da0545ae7c174c24f1bfd9548e404aee51ed20e78edc80966f56c1e",
                  19739, 34823, 183, 204);
}

/* --- tasks --- */

/* A worker with this debugger_port alone. */
static uint16_t decoded_port(uint8_t low, uint8_t middle, uint8_t high)
{
    const uint8_t reply[] = {0x12, 5, 0xD8, 0x01, 0x80 | low, 0x80 | middle, high};
    struct ray_worker *workers;
    size_t count;
    assert_int_equal(reply_workers(reply, sizeof reply, &workers, &count, &err), 0);
    assert_int_equal(count, 1);
    uint16_t port = workers[0].debugger_port;
    ray_workers_free(workers, count);
    return port;
}

static void what_is_no_port_is_none(void **state)
{
    (void)state;
    assert_int_equal(decoded_port(0x7F, 0x7F, 3), 65535);
    assert_int_equal(decoded_port(0, 0, 4), 0); /* 65536 */
    assert_int_equal(decoded_port(1, 0, 4), 0);
}

/* A worker with this num_paused_threads alone, of five bytes. */
static int64_t decoded_paused_threads(uint8_t low, uint8_t high)
{
    const uint8_t reply[] = {0x12, 7, 0xE0, 0x01, 0x80 | low, 0xFF, 0xFF, 0xFF, high};
    struct ray_worker *workers;
    size_t count;
    assert_int_equal(reply_workers(reply, sizeof reply, &workers, &count, &err), 0);
    assert_int_equal(count, 1);
    int64_t threads = workers[0].paused_threads;
    ray_workers_free(workers, count);
    return threads;
}

static void a_count_below_zero_is_none(void **state)
{
    (void)state;
    assert_int_equal(decoded_paused_threads(0x7F, 0x07), INT32_MAX);
    assert_int_equal(decoded_paused_threads(0x7F, 0x0F), 0); /* -1 */
    assert_int_equal(decoded_paused_threads(0x7E, 0x0F), 0); /* -2 */
}

static void check_task(const char *name, struct ray_version version, const char *task_name,
                       const char *actor_id, const char *worker, int64_t pid, int64_t running_ms)
{
    struct buf bytes = load(name);
    struct ray_task *tasks;
    size_t count;
    assert_int_equal(reply_tasks(BYTES(bytes), version, &tasks, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(strlen(tasks->task_id), 48);
    assert_string_equal(tasks->parent_task_id, "ffffffffffffffffffffffffffffffffffffffff01000000");
    assert_string_equal(tasks->job_id, "01000000");
    assert_string_equal(tasks->name, task_name);
    assert_string_equal(tasks->func_or_class, task_name);
    assert_string_equal(tasks->actor_id, actor_id);
    assert_int_equal(strlen(tasks->worker_id), 56);
    assert_true(text_starts(tasks->worker_id, worker));
    assert_int_equal(strlen(tasks->node_id), 56);
    assert_int_equal(tasks->pid, pid);
    assert_int_equal(tasks->attempt, 0);
    assert_int_equal(tasks->running_ms, running_ms);
    ray_tasks_free(tasks, count);
    buf_free(&bytes);
}

static void decodes_tasks_of_each_version(void **state)
{
    (void)state;
    check_task("2.9.3-events-task", (struct ray_version){2, 9, 3}, "square", "", "6ae622e0", 172,
               1795234910334); /* running_ts */
    check_task("2.40.0-events-task", (struct ray_version){2, 40, 0}, "square", "", "b5f0df41", 238,
               1795234871913);
    check_task("2.44.1-events-task", (struct ray_version){2, 44, 1}, "square", "", "16b21583", 294,
               1795234863637);
    check_task("2.60.0-events-task", (struct ray_version){2, 60, 0}, "square", "", "3da0545a", 275,
               1795234855168);
    check_task("2.44.1-events-actor", (struct ray_version){2, 44, 1}, "Trainer.step",
               "d0fc3b092d7c2616d750a14e01000000", "ad8e64de", 221, 1795234863356);
    check_task("2.60.0-events-actor", (struct ray_version){2, 60, 0}, "Trainer.step",
               "ea40068083bfa68a45f650ab01000000", "0183185b", 205, 1795234854824);
}

/* The same bytes, read with the older numbers of TaskStatus, have no RUNNING. */
static void running_depends_on_the_version(void **state)
{
    (void)state;
    check_task("2.60.0-events-task", (struct ray_version){2, 38, 0}, "square", "", "3da0545a", 275,
               0);
}

static void gives_the_latest_attempt_only(void **state)
{
    (void)state;
    /* events_by_task: task_id "A" attempt 0, "A" attempt 2, "A" attempt 1, "B" attempt 0 */
    static const uint8_t bytes[] = {0x12, 3, 0x0A, 1, 'A', 0x12, 5, 0x0A, 1, 'A',  0x10, 2,
                                    0x12, 5, 0x0A, 1, 'A', 0x10, 1, 0x12, 3, 0x0A, 1,    'B'};
    struct ray_task *tasks;
    size_t count;
    struct ray_version version = {2, 60, 0};
    assert_int_equal(reply_tasks(bytes, sizeof bytes, version, &tasks, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_int_equal(tasks[0].attempt, 2);
    assert_int_equal(tasks[1].attempt, 0);
    assert_string_equal(tasks[0].task_id, ""); /* one byte is no task id */
    assert_string_equal(tasks[0].name, "");
    ray_tasks_free(tasks, count);
}

/* --- actors, nodes, jobs --- */

static void decodes_actors(void **state)
{
    (void)state;
    static const char *const names[] = {"2.44.1-actors", "2.60.0-actors"};
    static const char *const ids[] = {"d0fc3b092d7c2616d750a14e01000000",
                                      "ea40068083bfa68a45f650ab01000000"};
    for (size_t i = 0; i < 2; i++) {
        struct buf bytes = load(names[i]);
        struct ray_actor *actors;
        size_t count;
        assert_int_equal(reply_actors(BYTES(bytes), &actors, &count, &err), 0);
        assert_int_equal(count, 1);
        assert_string_equal(actors->actor_id, ids[i]);
        assert_string_equal(actors->job_id, "01000000");
        assert_int_equal(strlen(actors->node_id), 56);
        assert_string_equal(actors->class_name, "Trainer");
        assert_string_equal(actors->name, "bob");
        assert_string_equal(actors->repr_name, "");
        assert_string_equal(actors->state, "ALIVE");
        assert_true(actors->pid == 205 || actors->pid == 221);
        ray_actors_free(actors, count);
        buf_free(&bytes);
    }
}

static void decodes_nodes(void **state)
{
    (void)state;
    struct buf bytes = load("2.60.0-nodes");
    struct ray_node *nodes;
    size_t count;
    assert_int_equal(reply_nodes(BYTES(bytes), &nodes, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(nodes->node_id, "7a63bfa3d7bdd202e5e1f6df889b2d92e942175e49a0b100d3cda491");
    assert_string_equal(nodes->ip, "127.0.0.1");
    assert_string_equal(nodes->hostname, "vm");
    assert_int_equal(nodes->manager_port, 36951);
    assert_true(nodes->is_alive && nodes->is_head);
    ray_nodes_free(nodes, count);
    buf_free(&bytes);
    bytes = load("2.44.1-nodes");
    assert_int_equal(reply_nodes(BYTES(bytes), &nodes, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_true(nodes->is_alive && nodes->is_head);
    ray_nodes_free(nodes, count);
    buf_free(&bytes);
}

static void decodes_jobs(void **state)
{
    (void)state;
    static const char *const names[] = {"2.44.1-jobs", "2.60.0-jobs"};
    for (size_t i = 0; i < 2; i++) {
        struct buf bytes = load(names[i]);
        struct ray_job *jobs;
        size_t count;
        assert_int_equal(reply_jobs(BYTES(bytes), &jobs, &count, &err), 0);
        assert_int_equal(count, 1);
        assert_string_equal(jobs->job_id, "01000000");
        assert_false(jobs->is_dead);
        assert_true(text_ends(jobs->entrypoint, "python /tmp/pchk/driver.py"));
        assert_string_equal(jobs->driver_ip, "127.0.0.1");
        assert_true(jobs->driver_pid == 154 || jobs->driver_pid == 183);
        assert_false(jobs->is_internal);
        assert_int_equal(jobs->packages, RUNTIME_PACKAGES_NODE);
        ray_jobs_free(jobs, count);
        buf_free(&bytes);
    }
}

/* --- a worker's own words --- */

static void check_stats(const char *name, const char *worker_id, const char *actor_id, int64_t pid,
                        const char *task_id)
{
    struct buf bytes = load(name);
    struct ray_worker_stats stats;
    assert_int_equal(reply_worker_stats(BYTES(bytes), &stats, &err), 0);
    assert_string_equal(stats.worker_id, worker_id);
    assert_string_equal(stats.actor_id, actor_id);
    assert_string_equal(stats.job_id, "01000000");
    assert_int_equal(stats.pid, pid);
    assert_int_equal(stats.running_tasks, 1);
    assert_int_equal(stats.running_task_id_count, 1);
    assert_string_equal(stats.running_task_ids[0], task_id);
    ray_worker_stats_clear(&stats);
    buf_free(&bytes);
}

static void decodes_both_numberings(void **state)
{
    (void)state;
    static const char square[] = "32d950ec0ccf9d2affffffffffffffffffffffff01000000";
    static const char *const names[] = {"2.44.1-stats-task", "2.44.1-stats-task-memory"};
    for (size_t i = 0; i < 2; i++)
        check_stats(names[i], "16b21583c4ee3800efa81755d57ae507127ce7a7878991b6e2f9c93e", "", 294,
                    square);
    static const char *const newer[] = {"2.60.0-stats-task", "2.60.0-stats-task-memory"};
    for (size_t i = 0; i < 2; i++)
        check_stats(newer[i], "3da0545ae7c174c24f1bfd9548e404aee51ed20e78edc80966f56c1e", "", 275,
                    square);
    check_stats("2.44.1-stats-actor", "ad8e64de40920106f71466927c2257f6f711f5566235db1773596287",
                "d0fc3b092d7c2616d750a14e01000000", 221,
                "e0dc174c83599034d0fc3b092d7c2616d750a14e01000000");
    check_stats("2.60.0-stats-actor", "0183185b7221f33db30d73d2f7d45420deaa066051f37eeb06a8a17b",
                "ea40068083bfa68a45f650ab01000000", 205,
                "e0dc174c83599034ea40068083bfa68a45f650ab01000000");
}

static void numbering_by_wire_type(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[8];
        size_t len;
        enum stats_numbering want;
    } cases[] = {
        {{0}, 0, STATS_UNKNOWN},
        {{0x10, 1}, 2, STATS_UNKNOWN},                      /* 2 varint: in both */
        {{0x8A, 0x01, 1, 'x'}, 4, STATS_V1},                /* 17 length */
        {{0x92, 0x01, 0}, 3, STATS_V1},                     /* 18 length */
        {{0xA2, 0x01, 1, 'x'}, 4, STATS_V1},                /* 20 length */
        {{0x88, 0x01, 7}, 3, STATS_V2},                     /* 17 varint */
        {{0x6A, 0}, 2, STATS_V2},                           /* 13 length */
        {{0x7A, 1, 'x'}, 3, STATS_V2},                      /* 15 length */
        {{0x68, 1, 0x88, 0x01, 7}, 5, STATS_V2},            /* 13 varint says nothing */
        {{0x88, 0x01, 7, 0x92, 0x01, 0}, 6, STATS_UNKNOWN}, /* both */
        {{0x88, 0x01}, 2, STATS_UNKNOWN},                   /* cut */
        {{0x8A, 0x01, 9, 'x'}, 4, STATS_UNKNOWN},           /* longer than there is */
        {{0x8B, 0x01}, 2, STATS_UNKNOWN},                   /* a group */
        {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, 8, STATS_UNKNOWN}, /* endless varint */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(stats_numbering_of(cases[i].bytes, cases[i].len), cases[i].want);
}

/* --- what goes wrong --- */

static void an_error_status_is_an_error(void **state)
{
    (void)state;
    /* status { code: 3, message: "no\x1b[31m" } */
    static const uint8_t bytes[] = {0x0A, 11, 0x08, 3, 0x12, 7, 'n', 'o', 0x1B, '[', '3', '1', 'm'};
    struct ray_worker *workers;
    size_t count;
    assert_int_equal(reply_workers(bytes, sizeof bytes, &workers, &count, &err), -1);
    assert_string_equal(err.why, "no?[31m (status 3)");
}

static void an_empty_reply_has_no_records(void **state)
{
    (void)state;
    struct ray_worker *workers;
    struct ray_worker_stats stats;
    size_t count = 9;
    assert_int_equal(reply_workers(NULL, 0, &workers, &count, &err), 0);
    assert_int_equal(count, 0);
    ray_workers_free(workers, count);
    assert_int_equal(reply_worker_stats(NULL, 0, &stats, &err), -1);
}

/* Each decoder on any bytes: it returns, and what it gives can be freed. */
static void decode_all(const uint8_t *bytes, size_t len)
{
    struct ray_version version = {2, 60, 0};
    struct ray_worker *workers;
    struct ray_task *tasks;
    struct ray_actor *actors;
    struct ray_node *nodes;
    struct ray_job *jobs;
    struct ray_worker_stats stats;
    char *value, **keys;
    size_t count;
    if (reply_workers(bytes, len, &workers, &count, &err) == 0)
        ray_workers_free(workers, count);
    if (reply_tasks(bytes, len, version, &tasks, &count, &err) == 0)
        ray_tasks_free(tasks, count);
    if (reply_actors(bytes, len, &actors, &count, &err) == 0)
        ray_actors_free(actors, count);
    if (reply_nodes(bytes, len, &nodes, &count, &err) == 0)
        ray_nodes_free(nodes, count);
    if (reply_jobs(bytes, len, &jobs, &count, &err) == 0)
        ray_jobs_free(jobs, count);
    if (reply_worker_stats(bytes, len, &stats, &err) == 0)
        ray_worker_stats_clear(&stats);
    if (reply_kv_get(bytes, len, &value, &count, &err) == 0)
        free(value);
    if (reply_kv_keys(bytes, len, &keys, &count, &err) == 0) {
        for (size_t i = 0; i < count; i++)
            free(keys[i]);
        free(keys);
    }
}

/* A copy of exactly `len` bytes, so that a sanitizer sees a read past them. */
static void decode_cut(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    decode_all(copy, len);
    free(copy);
}

static void survives_cut_and_changed_replies(void **state)
{
    (void)state;
    static const char *const names[] = {
        "2.60.0-workers",     "2.60.0-events-task", "2.60.0-stats-task-memory",
        "2.44.1-stats-actor", "2.60.0-actors",      "2.60.0-nodes",
        "2.60.0-jobs",        "2.60.0-metadata",    "2.9.3-pdb-keys"};
    uint32_t random = 12345;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf bytes = load(names[i]);
        for (size_t len = 0; len < bytes.len; len += 1 + bytes.len / 300)
            decode_cut((const uint8_t *)bytes.data, len);
        for (int round = 0; round < 300; round++) {
            random = random * 1664525 + 1013904223;
            size_t at = (random >> 8) % bytes.len;
            char before = bytes.data[at];
            bytes.data[at] = (char)(random >> 3);
            decode_cut((const uint8_t *)bytes.data, bytes.len);
            bytes.data[at] = before;
        }
        buf_free(&bytes);
    }
}

static void a_cut_reply_is_an_error(void **state)
{
    (void)state;
    struct buf bytes = load("2.60.0-workers");
    struct ray_worker *workers;
    size_t count;
    err = (struct err){0};
    assert_int_equal(
        reply_workers((const uint8_t *)bytes.data, bytes.len - 5, &workers, &count, &err), -1);
    assert_int_equal(err.code, ERR_FAILED);
    buf_free(&bytes);
    bytes = load("2.60.0-stats-task");
    struct ray_worker_stats stats;
    assert_int_equal(reply_worker_stats((const uint8_t *)bytes.data, 60, &stats, &err), -1);
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_workers),
        cmocka_unit_test(what_is_no_port_is_none),
        cmocka_unit_test(a_count_below_zero_is_none),
        cmocka_unit_test(decodes_tasks_of_each_version),
        cmocka_unit_test(running_depends_on_the_version),
        cmocka_unit_test(gives_the_latest_attempt_only),
        cmocka_unit_test(decodes_actors),
        cmocka_unit_test(decodes_nodes),
        cmocka_unit_test(decodes_jobs),
        cmocka_unit_test(decodes_both_numberings),
        cmocka_unit_test(numbering_by_wire_type),
        cmocka_unit_test(an_error_status_is_an_error),
        cmocka_unit_test(an_empty_reply_has_no_records),
        cmocka_unit_test(survives_cut_and_changed_replies),
        cmocka_unit_test(a_cut_reply_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
