/* Calls that a gRPC server answers: bytes, token, size, failures; and a GCS whose version does not
 * say which filter it takes. */
#include "cmocka_prelude.h"
#include "post_queue.h"
#include "test_server.h"

#include "base/text.h"
#include "proto/gcs.h"

enum { MAX_REPLY = 4 << 20 };

static struct post_queue queue = POST_QUEUE_INIT;
static struct test_server server;
static struct credentials credentials;
static struct rpc *rpc;
static int answers;
static struct err last;
static struct buf last_bytes;

/* --- plain calls --- */

static grpc_status_code serve(struct test_call *call)
{
    if (strcmp(call->method, "/t/Echo") == 0) {
        buf_printf(&call->reply, "%s|", call->authorization ? call->authorization : "none");
        buf_add(&call->reply, call->request.data, call->request.len);
        return GRPC_STATUS_OK;
    }
    if (strcmp(call->method, "/t/Big") == 0) {
        buf_reserve(&call->reply, MAX_REPLY + 1);
        memset(call->reply.data, 'x', MAX_REPLY + 1);
        call->reply.len = MAX_REPLY + 1;
        return GRPC_STATUS_OK;
    }
    call->details = "InvalidAuthToken: Authentication token is missing or incorrect";
    return GRPC_STATUS_UNAUTHENTICATED;
}

static void open_rpc(test_server_fn fn)
{
    struct rpc_options options = {.credentials = &credentials,
                                  .post = post_queue_add,
                                  .post_context = &queue,
                                  .max_reply = MAX_REPLY};
    test_server_start(&server, fn);
    rpc = rpc_create(&options);
    answers = 0;
    credentials = (struct credentials){0};
}

static int set_up(void **state)
{
    (void)state;
    open_rpc(serve);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rpc_destroy(&rpc);
    post_queue_drain(&queue);
    test_server_stop(&server);
    buf_free(&last_bytes);
    return 0;
}

static void on_reply(void *arg, const struct rpc_reply *reply)
{
    (void)arg;
    answers++;
    buf_clear(&last_bytes, 0);
    last = reply->err ? *reply->err : (struct err){0};
    if (!reply->err)
        buf_add(&last_bytes, reply->bytes, reply->len);
}

static void call(const char *method, const char *request, size_t len)
{
    rpc_call(rpc_channel(rpc, server.address), method, (const uint8_t *)request, len, 10000,
             on_reply, NULL);
    assert_true(post_queue_run_until(&queue, &answers, answers + 1));
}

static void bytes_come_back(void **state)
{
    (void)state;
    call("/t/Echo", "a\0b", 3);
    assert_int_equal(last.code, ERR_NONE);
    assert_int_equal(last_bytes.len, 8);
    assert_memory_equal(last_bytes.data, "none|a\0b", 8);
    call("/t/Echo", NULL, 0);
    assert_string_equal(last_bytes.data, "none|");
}

static void the_token_is_sent_without_tls(void **state)
{
    (void)state;
    char token[] = "s3cret";
    credentials.token = token;
    call("/t/Echo", "x", 1);
    assert_string_equal(last_bytes.data, "Bearer s3cret|x");
    credentials.token_source = "RAY_AUTH_TOKEN";
    call("/t/Denied", "x", 1);
    assert_int_equal(last.code, ERR_DENIED);
    assert_non_null(strstr(last.why, "RAY_AUTH_TOKEN"));
    assert_null(strstr(last.why, "s3cret"));
}

static void a_reply_may_be_too_large(void **state)
{
    (void)state;
    call("/t/Big", NULL, 0);
    assert_int_equal(last.code, ERR_FAILED);
    assert_non_null(strstr(last.what, "larger than 4 MiB"));
    call("/t/Echo", "still", 5); /* the connection lives on */
    assert_string_equal(last_bytes.data, "none|still");
}

/* --- a GCS built from master --- */

static const char task_id[] = "32d950ec0ccf9d2affffffffffffffffffffffff01000000";
static grpc_status_code probe_status;
static bool tells_version = true;
static char seen[256]; /* the last GetTaskEvents request, in hex */

static grpc_status_code serve_gcs(struct test_call *call)
{
    /* InternalKVGetReply { value: … } */
    static const char metadata[] = "{\"ray_version\": \"3.0.0.dev0\"}";
    if (strcmp(call->method, "/ray.rpc.InternalKVGcsService/InternalKVGet") == 0) {
        buf_printf(&call->reply, "\x12%c%s", (int)strlen(metadata), metadata);
        return tells_version ? GRPC_STATUS_OK : GRPC_STATUS_UNAVAILABLE;
    }
    assert_true(call->request.len < sizeof seen / 2);
    text_hex((const uint8_t *)call->request.data, call->request.len, seen);
    bool probe = strcmp(seen, "180122082206726179646267") == 0;
    call->details = "Unable to parse request";
    return probe ? probe_status : GRPC_STATUS_OK;
}

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    (void)arg;
    answers++;
    assert_int_equal(err == NULL, tells_version);
    if (err)
        return;
    assert_int_equal(version.major, 3);
    assert_string_equal(ray_version, "3.0.0.dev0");
    assert_string_equal(python_version, "");
}

static void on_tasks(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    (void)arg;
    answers++;
    last = err ? *err : (struct err){0};
    assert_int_equal(count, 0);
    ray_tasks_free(tasks, count);
}

static void master_is_probed(void **state)
{
    (void)state;
    static const struct {
        grpc_status_code probe;
        const char *request; /* NULL: none is sent */
    } cases[] = {
        {GRPC_STATUS_OK, "221a1218"},
        {GRPC_STATUS_INTERNAL, "221c121a1218"},
        {GRPC_STATUS_UNAVAILABLE, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_rpc(serve_gcs);
        struct gcs *gcs = gcs_create(rpc, server.address, 10000);
        probe_status = cases[i].probe;
        gcs_version(gcs, on_version, NULL);
        assert_true(post_queue_run_until(&queue, &answers, 1));
        assert_string_equal(seen, "180122082206726179646267");
        gcs_task(gcs, task_id, on_tasks, NULL);
        assert_true(post_queue_run_until(&queue, &answers, 2));
        assert_int_equal(last.code, cases[i].request ? ERR_NONE : ERR_FAILED);
        assert_true(text_starts(seen, cases[i].request ? cases[i].request : "1801"));
        gcs_destroy(&gcs);
        tear_down(NULL);
    }
}

/* Another cluster may be at the address by then. */
static void a_version_that_is_not_told_again_is_forgotten(void **state)
{
    (void)state;
    open_rpc(serve_gcs);
    struct gcs *gcs = gcs_create(rpc, server.address, 10000);
    probe_status = GRPC_STATUS_INTERNAL;
    gcs_version(gcs, on_version, NULL);
    assert_true(post_queue_run_until(&queue, &answers, 1));
    gcs_task(gcs, task_id, on_tasks, NULL);
    assert_true(post_queue_run_until(&queue, &answers, 2));
    assert_int_equal(last.code, ERR_NONE);
    tells_version = false;
    gcs_version(gcs, on_version, NULL);
    assert_true(post_queue_run_until(&queue, &answers, 3));
    tells_version = true;
    gcs_task(gcs, task_id, on_tasks, NULL);
    assert_true(post_queue_run_until(&queue, &answers, 4));
    assert_int_equal(last.code, ERR_FAILED);
    gcs_destroy(&gcs);
    tear_down(NULL);
}

static void a_probe_may_be_dropped(void **state)
{
    (void)state;
    open_rpc(serve_gcs);
    struct gcs *gcs = gcs_create(rpc, server.address, 10000);
    gcs_version(gcs, on_version, NULL);
    assert_true(post_queue_run_one(&queue, 10000)); /* the version; the probe is under way */
    int before = answers; /* 1 if the probe was so quick that the same post brought it */
    gcs_destroy(&gcs);
    tear_down(NULL);
    assert_int_equal(answers, before);
}

#define WITH_SERVER(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(bytes_come_back),
        WITH_SERVER(the_token_is_sent_without_tls),
        WITH_SERVER(a_reply_may_be_too_large),
        cmocka_unit_test(master_is_probed),
        cmocka_unit_test(a_version_that_is_not_told_again_is_forgotten),
        cmocka_unit_test(a_probe_may_be_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
