/* Nothing that could harm a GCS leaves the process: which filter goes to which version, id lengths,
 * and calls before the version is known. */
#include "cmocka_prelude.h"
#include "post_queue.h"

#include "base/text.h"
#include "proto/gcs.h"
#include "proto/request.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char task_id[] = "32d950ec0ccf9d2affffffffffffffffffffffff01000000";
static const char worker_id[] = "3da0545ae7c174c24f1bfd9548e404aee51ed20e78edc80966f56c1e";

/* --- gates --- */

static void filter_by_version(void **state)
{
    (void)state;
    static const struct {
        struct ray_version version;
        enum task_filter want;
    } cases[] = {
        {{0, 0, 0}, TASK_FILTER_NONE}, {{1, 13, 0}, TASK_FILTER_NONE},
        {{2, 8, 1}, TASK_FILTER_NONE}, {{2, 9, 0}, TASK_FILTER_V1},
        {{2, 9, 3}, TASK_FILTER_V1},   {{2, 34, 0}, TASK_FILTER_V1},
        {{2, 40, 0}, TASK_FILTER_V1},  {{2, 40, 9}, TASK_FILTER_V1},
        {{2, 41, 0}, TASK_FILTER_V2},  {{2, 42, 1}, TASK_FILTER_V2},
        {{2, 60, 0}, TASK_FILTER_V2},  {{2, 99, 0}, TASK_FILTER_V2},
        {{3, 0, 0}, TASK_FILTER_NONE}, {{3, 0, 1}, TASK_FILTER_V2},
        {{3, 1, 0}, TASK_FILTER_V2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(task_filter_of(cases[i].version), cases[i].want);
        assert_int_equal(task_filter_needs_probe(cases[i].version),
                         ray_version_compare(cases[i].version, 3, 0, 0) == 0);
    }
    assert_int_equal(task_filter_from_probe(0), TASK_FILTER_V1);
    assert_int_equal(task_filter_from_probe(13), TASK_FILTER_V2);
    assert_int_equal(task_filter_from_probe(1), TASK_FILTER_NONE);
    assert_int_equal(task_filter_from_probe(14), TASK_FILTER_NONE);
}

static void running_by_version(void **state)
{
    (void)state;
    assert_int_equal(task_filter_status_running((struct ray_version){2, 9, 3}), 6);
    assert_int_equal(task_filter_status_running((struct ray_version){2, 38, 9}), 6);
    assert_int_equal(task_filter_status_running((struct ray_version){2, 39, 0}), 8);
    assert_int_equal(task_filter_status_running((struct ray_version){2, 60, 0}), 8);
}

/* --- requests, byte for byte --- */

static void expect_hex(struct buf *request, const char *hex)
{
    char *got = mem_alloc(2 * request->len + 1);
    text_hex((const uint8_t *)request->data, request->len, got);
    assert_string_equal(got, hex);
    free(got);
    buf_free(request);
}

static void task_requests(void **state)
{
    (void)state;
    struct buf request = {0};
    char hex[200];
    assert_int_equal(request_task(TASK_FILTER_V1, task_id, &request, NULL), 0);
    snprintf(hex, sizeof hex, "221a1218%s", task_id); /* filters{2: id} */
    expect_hex(&request, hex);
    assert_int_equal(request_task(TASK_FILTER_V2, task_id, &request, NULL), 0);
    snprintf(hex, sizeof hex, "221c121a1218%s", task_id); /* filters{2: {2: id}} */
    expect_hex(&request, hex);
    request_filter_probe(&request);
    expect_hex(&request, "180122082206726179646267"); /* limit 1, filters{4: "raydbg"} */
}

static void other_requests(void **state)
{
    (void)state;
    struct buf request = {0};
    char hex[200];
    assert_int_equal(request_worker_stats(worker_id, &request, NULL), 0);
    snprintf(hex, sizeof hex, "0a1c%s18012000", worker_id); /* limit 0 is sent */
    expect_hex(&request, hex);
    assert_int_equal(request_worker_is_dead(worker_id, &request, NULL), 0);
    snprintf(hex, sizeof hex, "0a1c%s", worker_id);
    expect_hex(&request, hex);
    request_jobs(&request);
    expect_hex(&request, "18012001");
    request_kv_get("ns", "key", &request);
    expect_hex(&request, "0a036b657912026e73");
    request_kv_keys("ns", "pre", &request);
    expect_hex(&request, "0a0370726512026e73");
}

/* Also what a user may have typed. */
static const char *const bad_ids[] = {
    "",
    "abc",
    "32d950ec0ccf9d2affffffffffffffffffffffff010000",     /* a byte short */
    "32d950ec0ccf9d2affffffffffffffffffffffff0100000000", /* a byte long */
    "32d950ec0ccf9d2affffffffffffffffffffffff0100000",    /* half a byte */
    "32d950ec0ccf9d2affffffffffffffffffffffff0100000g",   /* no hex */
    " 2d950ec0ccf9d2affffffffffffffffffffffff01000000",
    "square",
};

static void wrong_ids_are_refused(void **state)
{
    (void)state;
    struct buf request = {0};
    struct err err;
    for (size_t i = 0; i < sizeof bad_ids / sizeof *bad_ids; i++) {
        for (int filter = TASK_FILTER_NONE; filter <= TASK_FILTER_V2; filter++) {
            assert_int_equal(request_task((enum task_filter)filter, bad_ids[i], &request, &err),
                             -1);
            assert_int_equal(err.code, ERR_USAGE);
        }
        assert_int_equal(request_worker_stats(bad_ids[i], &request, &err), -1);
        assert_int_equal(request_worker_is_dead(bad_ids[i], &request, &err), -1);
    }
    assert_int_equal(request_task(TASK_FILTER_V2, NULL, &request, &err), -1);
    assert_int_equal(request_worker_stats(task_id, &request, &err), -1);
    assert_int_equal(request_task(TASK_FILTER_NONE, task_id, &request, &err), -1);
    assert_int_equal(request.len, 0);
}

/* --- gcs: refusals come later, and nothing is sent --- */

static struct post_queue queue = POST_QUEUE_INIT;
static struct rpc *rpc;
static struct gcs *gcs;
static int listener;
static char address[32];
static int answers;
static struct err last;

static int set_up(void **state)
{
    (void)state;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&name, size) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&name, &size) != 0)
        return -1;
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(name.sin_port));
    struct rpc_options options = {.post = post_queue_add, .post_context = &queue};
    rpc = rpc_create(&options);
    gcs = gcs_create(rpc, address, 300);
    answers = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gcs_destroy(&gcs);
    rpc_destroy(&rpc);
    post_queue_drain(&queue);
    close(listener);
    return 0;
}

static bool somebody_connected(int timeout_ms)
{
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    return poll(&waiting, 1, timeout_ms) > 0;
}

static void on_tasks(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    assert_ptr_equal(arg, &answers);
    assert_null(tasks);
    assert_int_equal(count, 0);
    assert_non_null(err);
    last = *err;
    answers++;
}

static void on_stats(void *arg, const struct err *err, struct ray_worker_stats *stats)
{
    (void)arg;
    assert_null(stats);
    last = *err;
    answers++;
}

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    (void)arg;
    assert_int_equal(version.major, 0);
    assert_string_equal(ray_version, "");
    assert_string_equal(python_version, "");
    last = *err;
    answers++;
}

static void nothing_is_sent_before_the_version(void **state)
{
    (void)state;
    gcs_task(gcs, task_id, on_tasks, &answers);
    assert_int_equal(answers, 0); /* not from within the call */
    assert_true(post_queue_run_until(&queue, &answers, 1));
    assert_int_equal(last.code, ERR_FAILED);
    assert_false(somebody_connected(100));
}

static void nothing_is_sent_with_a_wrong_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_ids / sizeof *bad_ids; i++) {
        gcs_task(gcs, bad_ids[i], on_tasks, &answers);
        gcs_core_worker_stats(gcs, address, bad_ids[i], on_stats, &answers);
    }
    int wanted = 2 * (int)(sizeof bad_ids / sizeof *bad_ids);
    assert_true(post_queue_run_until(&queue, &answers, wanted));
    assert_int_equal(answers, wanted);
    assert_false(somebody_connected(100));
}

static void a_gcs_that_says_nothing(void **state)
{
    (void)state;
    gcs_version(gcs, on_version, NULL);
    assert_true(post_queue_run_until(&queue, &answers, 1));
    assert_true(somebody_connected(0)); /* so that the two tests above can fail */
    assert_int_equal(last.code, ERR_UNREACHABLE);
    assert_true(*last.hint);
}

static void destroying_drops_callbacks(void **state)
{
    (void)state;
    gcs_task(gcs, "abc", on_tasks, &answers);
    gcs_version(gcs, on_version, NULL);
    gcs_destroy(&gcs);
    assert_null(gcs);
    rpc_destroy(&rpc);
    post_queue_drain(&queue);
    assert_int_equal(answers, 0);
}

/* The rpc may go first as well: then callbacks run, with an error. */
static void destroying_the_rpc_answers(void **state)
{
    (void)state;
    gcs_version(gcs, on_version, NULL);
    rpc_destroy(&rpc);
    assert_int_equal(answers, 1);
    assert_int_equal(last.code, ERR_FAILED);
}

#define WITH_GCS(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_by_version),       cmocka_unit_test(running_by_version),
        cmocka_unit_test(task_requests),           cmocka_unit_test(other_requests),
        cmocka_unit_test(wrong_ids_are_refused),   WITH_GCS(nothing_is_sent_before_the_version),
        WITH_GCS(nothing_is_sent_with_a_wrong_id), WITH_GCS(a_gcs_that_says_nothing),
        WITH_GCS(destroying_drops_callbacks),      WITH_GCS(destroying_the_rpc_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
