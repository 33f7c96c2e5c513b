/* Answers about objects, from bytes that may be anything: what is decoded must be whole, and the
 * same as what protobuf-c makes of it. */
#include "fuzz.h"

#include "core_worker.pb-c.h"
#include "node_manager.pb-c.h"
#include "proto/object_reply.h"
#include "proto/stats_wire.h"

static void check_worker(const struct ray_worker_objects *worker, size_t size)
{
    check_hex(worker->worker_id, ID_UNIQUE_BYTES);
    check_hex(worker->actor_id, ID_ACTOR_BYTES);
    check_hex(worker->job_id, ID_JOB_BYTES);
    check(worker->ip && worker->pool);
    check(worker->ref_count <= size / (2 + ID_OBJECT_BYTES));
    for (size_t i = 0; i < worker->ref_count; i++) {
        const struct ray_object_ref *ref = &worker->refs[i];
        check(ref->size >= -1 && ref->local >= 0 && ref->submitted >= 0 && ref->attempt >= 0);
        check(ref->status >= 0 && ray_task_status_name(ref->status));
        check(strlen(ref->call_site) <= size);
    }
}

/* All but `pinned`: protobuf-c reads a bool whatever its wire type is. */
static void check_ref(const struct ray_object_ref *got, const RayWire__ObjectRefInfo *want)
{
    check(memcmp(got->id.bytes, want->object_id.data, ID_OBJECT_BYTES) == 0);
    check(strcmp(got->call_site, want->call_site) == 0);
    check(got->size == (want->object_size < -1 ? -1 : want->object_size));
    check(got->local == (want->local_ref_count < 0 ? 0 : want->local_ref_count));
    check(got->contained_in == want->n_contained_in_owned);
}

static void check_refs(const struct ray_worker_objects *got, RayWire__ObjectRefInfo *const *want,
                       size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        if (want[i]->object_id.len == ID_OBJECT_BYTES) {
            check(at < got->ref_count);
            check_ref(&got->refs[at++], want[i]);
        }
    check(at == got->ref_count);
}

/* What protobuf-c refuses for a wrong wire type, we may read. */
static void check_same(const struct ray_worker_objects *got, ProtobufCBinaryData bytes)
{
    if (stats_numbering_of(bytes.data, bytes.len) == STATS_V1) {
        RayWire__CoreWorkerStatsV1 *want =
            ray_wire__core_worker_stats_v1__unpack(NULL, bytes.len, bytes.data);
        if (want)
            check_refs(got, want->object_refs, want->n_object_refs);
        if (want)
            ray_wire__core_worker_stats_v1__free_unpacked(want, NULL);
        return;
    }
    RayWire__CoreWorkerStatsV2 *want =
        ray_wire__core_worker_stats_v2__unpack(NULL, bytes.len, bytes.data);
    if (want)
        check_refs(got, want->object_refs, want->n_object_refs);
    if (want)
        ray_wire__core_worker_stats_v2__free_unpacked(want, NULL);
}

static void try_worker(const uint8_t *data, size_t size, struct ray_version version)
{
    struct ray_worker_objects worker;
    struct err err;
    if (object_reply_worker(data, size, version, &worker, &err) != 0)
        return;
    check_worker(&worker, size);
    RayWire__GetCoreWorkerStatsReply *reply =
        ray_wire__get_core_worker_stats_reply__unpack(NULL, size, data);
    if (reply) {
        check_same(&worker, reply->core_worker_stats);
        ray_wire__get_core_worker_stats_reply__free_unpacked(reply, NULL);
    }
    ray_worker_objects_clear(&worker);
}

static void try_node(const uint8_t *data, size_t size, struct ray_version version)
{
    struct ray_node_objects node;
    struct err err;
    if (object_reply_node(data, size, version, &node, &err) != 0)
        return;
    check(node.worker_count <= size / ID_UNIQUE_BYTES);
    for (size_t i = 0; i < node.worker_count; i++)
        check_worker(&node.workers[i], size);
    ray_node_objects_clear(&node);
}

static void try_locations(const uint8_t *data, size_t size, size_t count)
{
    struct ray_object_location *locations = calloc(count ? count : 1, sizeof *locations);
    struct err err;
    bool good = object_reply_locations(data, size, locations, count, &err) == 0;
    for (size_t i = 0; i < count; i++) {
        check(good || !locations[i].node_ids);
        check(!good || (locations[i].spilled_url && locations[i].size >= -1));
        check_hex(locations[i].spilled_node_id, ID_UNIQUE_BYTES);
        for (size_t k = 0; k < locations[i].node_count; k++)
            check(strlen(locations[i].node_ids[k]) == 2 * ID_UNIQUE_BYTES);
    }
    ray_object_locations_free(locations, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ray_version versions[] = {{0}, {2, 9, 3}, {2, 44, 1}, {2, 60, 0}};
    if (!size)
        return 0;
    struct ray_version version = versions[data[0] % 4];
    size_t count = data[0] / 4;
    try_worker(data + 1, size - 1, version);
    try_node(data + 1, size - 1, version);
    try_locations(data + 1, size - 1, count);
    return 0;
}
