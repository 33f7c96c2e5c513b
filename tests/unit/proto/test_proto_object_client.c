/* Asking about objects: what is sent by version, in parts, and what is refused or dropped. */
#include "cmocka_prelude.h"
#include "post_queue.h"
#include "test_server.h"

#include "base/text.h"
#include "core_worker.pb-c.h"
#include "proto/object_client.h"

#include <stdatomic.h>

enum { MANY = 2500 };

static const char worker_id[] = "AB000000000000000000000000000000000000000000000000000001";
static struct post_queue queue = POST_QUEUE_INIT;
static struct test_server server;
static struct credentials credentials;
static struct rpc *rpc;
static struct object_client *client;
static int answers, located;
static struct err last;
static atomic_int calls;
static atomic_bool fail;

static const uint8_t *worker_bytes(void)
{
    static uint8_t id[ID_UNIQUE_BYTES];
    assert_true(text_unhex(worker_id, id, sizeof id));
    return id;
}

/* --- the worker --- */

static void reply_with(struct test_call *call, const ProtobufCMessage *message)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    protobuf_c_message_pack(message, (uint8_t *)buf_reserve(&call->reply, len));
    call->reply.len += len;
}

static void reply_stats(struct test_call *call)
{
    RayWire__CoreWorkerStatsV2 stats = RAY_WIRE__CORE_WORKER_STATS_V2__INIT;
    uint8_t bytes[64];
    stats.worker_id = (ProtobufCBinaryData){ID_UNIQUE_BYTES, (uint8_t *)(uintptr_t)worker_bytes()};
    stats.pid = 5;
    RayWire__GetCoreWorkerStatsReply reply = RAY_WIRE__GET_CORE_WORKER_STATS_REPLY__INIT;
    reply.core_worker_stats.len = ray_wire__core_worker_stats_v2__pack(&stats, bytes);
    reply.core_worker_stats.data = bytes;
    reply_with(call, &reply.base);
}

/* One location: its size is one more than the last two bytes of the id, so that an answer tells its
 * question. */
static void add_location(struct test_call *call, ProtobufCBinaryData id)
{
    RayWire__ObjectLocationsV2 location = RAY_WIRE__OBJECT_LOCATIONS_V2__INIT;
    uint8_t bytes[64], nil = 0xFF;
    assert_int_equal(id.len, ID_OBJECT_BYTES);
    location.object_size = ((uint64_t)id.data[27] << 8 | id.data[26]) + 1;
    location.spilled_node_id = (ProtobufCBinaryData){1, &nil};
    RayWire__GetObjectLocationsOwnerReply reply = RAY_WIRE__GET_OBJECT_LOCATIONS_OWNER_REPLY__INIT;
    ProtobufCBinaryData info = {ray_wire__object_locations_v2__pack(&location, bytes), bytes};
    reply.n_object_location_infos = 1;
    reply.object_location_infos = &info;
    reply_with(call, &reply.base);
}

static void reply_locations_v1(struct test_call *call)
{
    RayWire__GetObjectLocationsOwnerRequestV1 *request =
        ray_wire__get_object_locations_owner_request_v1__unpack(
            NULL, call->request.len, (const uint8_t *)call->request.data);
    assert_non_null(request);
    assert_int_equal(request->object_location_request->intended_worker_id.len, ID_UNIQUE_BYTES);
    add_location(call, request->object_location_request->object_id);
    ray_wire__get_object_locations_owner_request_v1__free_unpacked(request, NULL);
}

static void reply_locations_v2(struct test_call *call)
{
    RayWire__GetObjectLocationsOwnerRequestV2 *request =
        ray_wire__get_object_locations_owner_request_v2__unpack(
            NULL, call->request.len, (const uint8_t *)call->request.data);
    assert_non_null(request);
    assert_int_equal(request->intended_worker_id.len, ID_UNIQUE_BYTES);
    assert_memory_equal(request->intended_worker_id.data, worker_bytes(), ID_UNIQUE_BYTES);
    for (size_t i = 0; i < request->n_object_ids; i++)
        add_location(call, request->object_ids[i]);
    ray_wire__get_object_locations_owner_request_v2__free_unpacked(request, NULL);
}

static grpc_status_code serve(struct test_call *call)
{
    calls++;
    if (!call->request.len)
        return GRPC_STATUS_CANCELLED; /* before its request came */
    if (fail) {
        call->details = "no";
        return GRPC_STATUS_INTERNAL;
    }
    if (text_ends(call->method, "/GetCoreWorkerStats"))
        reply_stats(call);
    /* V2: field 1 has 28 bytes; V1: a message of 60. */
    else if (call->request.len > 1 && call->request.data[1] == ID_UNIQUE_BYTES)
        reply_locations_v2(call);
    else
        reply_locations_v1(call);
    return GRPC_STATUS_OK;
}

static int set_up(void **state)
{
    (void)state;
    struct rpc_options options = {
        .credentials = &credentials, .post = post_queue_add, .post_context = &queue};
    test_server_start(&server, serve);
    rpc = rpc_create(&options);
    client = object_client_create(rpc, 10000);
    answers = located = 0;
    calls = 0;
    fail = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    object_client_destroy(&client);
    rpc_destroy(&rpc);
    post_queue_drain(&queue);
    test_server_stop(&server);
    return 0;
}

/* --- a worker --- */

static void on_worker(void *arg, const struct err *err, struct ray_worker_objects *worker)
{
    answers++;
    last = err ? *err : (struct err){0};
    assert_int_equal(!err, worker != NULL);
    if (worker && arg)
        assert_int_equal(worker->pid, *(const int *)arg);
    ray_worker_objects_clear(worker);
}

static void ask_worker(const char *id)
{
    int pid = 5, before = answers;
    object_client_worker(client, server.address, id, on_worker, &pid);
    assert_int_equal(answers, before); /* never from within */
    assert_true(post_queue_run_until(&queue, &answers, before + 1));
}

static void a_worker_answers(void **state)
{
    (void)state;
    ask_worker(worker_id);
    assert_int_equal(last.code, ERR_NONE);
    ask_worker("");
    assert_int_equal(last.code, ERR_NONE);
}

static void another_worker_is_an_error(void **state)
{
    (void)state;
    ask_worker("cd000000000000000000000000000000000000000000000000000001");
    assert_int_equal(last.code, ERR_NOT_FOUND);
    assert_non_null(strstr(last.why, "pid 5"));
}

static void a_wrong_id_is_not_sent(void **state)
{
    (void)state;
    ask_worker("ab");
    assert_int_equal(last.code, ERR_USAGE);
    assert_int_equal(calls, 0);
}

/* --- locations --- */

static void on_locations(void *arg, const struct err *err, struct ray_object_location *locations,
                         size_t count)
{
    answers++;
    located++;
    last = err ? *err : (struct err){0};
    if (!err)
        assert_int_equal(count, *(const size_t *)arg);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(locations[i].id.bytes[26], i & 0xFF);
        assert_int_equal(locations[i].size, i + 1);
        assert_true(locations[i].known);
    }
    ray_object_locations_free(locations, count);
}

static struct object_id *some_ids(size_t count)
{
    struct object_id *ids = mem_array(count, sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        ids[i].bytes[26] = (uint8_t)i;
        ids[i].bytes[27] = (uint8_t)(i >> 8);
    }
    return ids;
}

static void start_locations(const char *worker, size_t *count)
{
    struct object_id *ids = some_ids(*count ? *count : 1);
    object_client_locations(client, server.address, worker, ids, *count, on_locations, count);
    free(ids);
}

static void ask_locations(const char *worker, size_t count)
{
    int before = answers;
    start_locations(worker, &count);
    assert_int_equal(answers, before);
    assert_true(post_queue_run_until(&queue, &answers, before + 1));
}

static void many_are_asked_for_in_parts(void **state)
{
    (void)state;
    object_client_set_version(client, (struct ray_version){2, 60, 0});
    ask_locations(worker_id, MANY);
    assert_int_equal(last.code, ERR_NONE);
    assert_int_equal(calls, 3);
    ask_locations(worker_id, 1);
    assert_int_equal(calls, 4);
}

static void early_rays_are_asked_one_by_one(void **state)
{
    (void)state;
    object_client_set_version(client, (struct ray_version){2, 10, 0});
    ask_locations(worker_id, 50);
    assert_int_equal(last.code, ERR_NONE);
    assert_int_equal(calls, 50);
}

static void none_are_told_at_once(void **state)
{
    (void)state;
    ask_locations(worker_id, 0);
    assert_int_equal(last.code, ERR_NONE);
    assert_int_equal(calls, 0);
}

static void locations_may_be_refused(void **state)
{
    (void)state;
    ask_locations(worker_id, 3);
    assert_int_equal(last.code, ERR_FAILED); /* the version is not known */
    object_client_set_version(client, (struct ray_version){2, 8, 0});
    ask_locations(worker_id, 3);
    assert_int_equal(last.code, ERR_FAILED);
    object_client_set_version(client, (struct ray_version){2, 60, 0});
    ask_locations("", 3);
    assert_int_equal(last.code, ERR_USAGE);
    ask_locations("ab0000000000000000000000000000000000000000000000000000012", 3);
    assert_int_equal(last.code, ERR_USAGE);
    assert_int_equal(calls, 0);
}

static void the_first_failure_is_told_once(void **state)
{
    (void)state;
    object_client_set_version(client, (struct ray_version){2, 9, 3});
    fail = true;
    ask_locations(worker_id, 100);
    assert_int_equal(last.code, ERR_FAILED);
    assert_int_equal(calls, 16); /* what was under way; no more */
}

static void what_is_forgotten_is_not_told(void **state)
{
    (void)state;
    size_t count = MANY;
    int pid = 5;
    object_client_set_version(client, (struct ray_version){2, 60, 0});
    start_locations(worker_id, &count);
    object_client_worker(client, server.address, worker_id, on_worker, &pid);
    object_client_forget(client, &count);
    assert_true(post_queue_run_until(&queue, &answers, 1));
    while (calls < 4) /* all are served, one after the other */
        ask_worker(worker_id);
    int before = answers;
    start_locations(worker_id, &count);
    object_client_destroy(&client);
    rpc_destroy(&rpc);
    post_queue_drain(&queue);
    assert_int_equal(located, 0);
    assert_int_equal(answers, before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_worker_answers),
        TEST(another_worker_is_an_error),
        TEST(a_wrong_id_is_not_sent),
        TEST(many_are_asked_for_in_parts),
        TEST(early_rays_are_asked_one_by_one),
        TEST(none_are_told_at_once),
        TEST(locations_may_be_refused),
        TEST(the_first_failure_is_told_once),
        TEST(what_is_forgotten_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
