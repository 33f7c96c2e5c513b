#include "proto/request.h"

#include "base/mem.h"
#include "base/text.h"
#include "core_worker.pb-c.h"
#include "gcs.pb-c.h"
#include "node_manager.pb-c.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum task_filter task_filter_of(struct ray_version version)
{
    if (ray_version_compare(version, 2, 9, 0) < 0 || ray_version_compare(version, 3, 0, 0) == 0)
        return TASK_FILTER_NONE;
    return ray_version_compare(version, 2, 41, 0) < 0 ? TASK_FILTER_V1 : TASK_FILTER_V2;
}

int task_filter_status_running(struct ray_version version)
{
    return ray_version_compare(version, 2, 39, 0) < 0 ? 6 : 8;
}

static void pack(const ProtobufCMessage *message, struct buf *out)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    protobuf_c_message_pack(message, (uint8_t *)buf_reserve(out, len));
    out->len += len;
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)(uintptr_t)text};
}

bool task_filter_needs_probe(struct ray_version version)
{
    return ray_version_compare(version, 3, 0, 0) == 0;
}

enum task_filter task_filter_from_probe(int grpc_status)
{
    enum { OK = 0, INTERNAL = 13 };
    if (grpc_status == OK)
        return TASK_FILTER_V1;
    return grpc_status == INTERNAL ? TASK_FILTER_V2 : TASK_FILTER_NONE;
}

void request_filter_probe(struct buf *out)
{
    /* A V2 GCS reads the name as a message: field 14, of 97 bytes, but only 4 bytes follow. */
    static char name[] = "raydbg";
    RayWire__GetTaskEventsRequestV1__Filters filters =
        RAY_WIRE__GET_TASK_EVENTS_REQUEST_V1__FILTERS__INIT;
    filters.name = name;
    RayWire__GetTaskEventsRequestV1 request = RAY_WIRE__GET_TASK_EVENTS_REQUEST_V1__INIT;
    request.filters = &filters;
    request.limit = 1;
    pack(&request.base, out);
}

static void pack_task_v1(ProtobufCBinaryData id, struct buf *out)
{
    RayWire__GetTaskEventsRequestV1__Filters filters =
        RAY_WIRE__GET_TASK_EVENTS_REQUEST_V1__FILTERS__INIT;
    filters.n_task_ids = 1;
    filters.task_ids = &id;
    RayWire__GetTaskEventsRequestV1 request = RAY_WIRE__GET_TASK_EVENTS_REQUEST_V1__INIT;
    request.filters = &filters;
    pack(&request.base, out);
}

static void pack_task_v2(ProtobufCBinaryData id, struct buf *out)
{
    RayWire__GetTaskEventsRequestV2__TaskIdFilter equal =
        RAY_WIRE__GET_TASK_EVENTS_REQUEST_V2__TASK_ID_FILTER__INIT;
    RayWire__GetTaskEventsRequestV2__TaskIdFilter *list[] = {&equal};
    equal.task_id = id;
    RayWire__GetTaskEventsRequestV2__Filters filters =
        RAY_WIRE__GET_TASK_EVENTS_REQUEST_V2__FILTERS__INIT;
    filters.n_task_filters = 1;
    filters.task_filters = list;
    RayWire__GetTaskEventsRequestV2 request = RAY_WIRE__GET_TASK_EVENTS_REQUEST_V2__INIT;
    request.filters = &filters;
    pack(&request.base, out);
}

int request_task(enum task_filter filter, const char *task_id, struct buf *out, struct err *err)
{
    uint8_t binary[ID_TASK_BYTES];
    if (!text_unhex(task_id, binary, sizeof binary)) {
        err_set(err, ERR_USAGE, "a task id has %d hex digits", 2 * ID_TASK_BYTES);
        return -1;
    }
    ProtobufCBinaryData id = {sizeof binary, binary};
    switch (filter) {
    case TASK_FILTER_V1:
        pack_task_v1(id, out);
        return 0;
    case TASK_FILTER_V2:
        pack_task_v2(id, out);
        return 0;
    case TASK_FILTER_NONE:
        break;
    }
    err_set(err, ERR_FAILED, "tasks cannot be asked for by id");
    return err_why(err,
                   "this cluster's Ray version is unknown, or one whose filter is not known: a "
                   "wrong one would end its GCS");
}

static int bad_worker_id(struct err *err)
{
    return err_set(err, ERR_USAGE, "a worker id has %d hex digits", 2 * ID_UNIQUE_BYTES);
}

void request_waiting_workers(struct buf *out)
{
    RayWire__GetAllWorkerInfoRequest__Filters filters =
        RAY_WIRE__GET_ALL_WORKER_INFO_REQUEST__FILTERS__INIT;
    filters.exist_paused_threads = true;
    filters.is_alive = true;
    RayWire__GetAllWorkerInfoRequest request = RAY_WIRE__GET_ALL_WORKER_INFO_REQUEST__INIT;
    request.filters = &filters;
    pack(&request.base, out);
}

int request_worker(const char *worker_id, struct buf *out, struct err *err)
{
    uint8_t binary[ID_UNIQUE_BYTES];
    if (!text_unhex(worker_id, binary, sizeof binary))
        return bad_worker_id(err);
    RayWire__GetWorkerInfoRequest request = RAY_WIRE__GET_WORKER_INFO_REQUEST__INIT;
    request.worker_id = (ProtobufCBinaryData){sizeof binary, binary};
    pack(&request.base, out);
    return 0;
}

int request_actor(const char *actor_id, struct buf *out, struct err *err)
{
    uint8_t binary[ID_ACTOR_BYTES];
    if (!text_unhex(actor_id, binary, sizeof binary))
        return err_set(err, ERR_USAGE, "an actor id has %d hex digits", 2 * ID_ACTOR_BYTES);
    RayWire__GetActorInfoRequest request = RAY_WIRE__GET_ACTOR_INFO_REQUEST__INIT;
    request.actor_id = (ProtobufCBinaryData){sizeof binary, binary};
    pack(&request.base, out);
    return 0;
}

int request_worker_stats(const char *worker_id, struct buf *out, struct err *err)
{
    uint8_t binary[ID_UNIQUE_BYTES];
    if (!text_unhex(worker_id, binary, sizeof binary))
        return bad_worker_id(err);
    RayWire__GetCoreWorkerStatsRequest request = RAY_WIRE__GET_CORE_WORKER_STATS_REQUEST__INIT;
    request.intended_worker_id = (ProtobufCBinaryData){sizeof binary, binary};
    request.include_task_info = true;
    request.limit_is_case = RAY_WIRE__GET_CORE_WORKER_STATS_REQUEST__LIMIT_IS_LIMIT;
    request.limit = 0;
    pack(&request.base, out);
    return 0;
}

int request_worker_objects(const char *worker_id, struct buf *out, struct err *err)
{
    uint8_t binary[ID_UNIQUE_BYTES];
    RayWire__GetCoreWorkerStatsRequest request = RAY_WIRE__GET_CORE_WORKER_STATS_REQUEST__INIT;
    if (*worker_id) {
        if (!text_unhex(worker_id, binary, sizeof binary))
            return bad_worker_id(err);
        request.intended_worker_id = (ProtobufCBinaryData){sizeof binary, binary};
    }
    request.include_memory_info = true;
    pack(&request.base, out);
    return 0;
}

int request_worker_is_dead(const char *worker_id, struct buf *out, struct err *err)
{
    uint8_t binary[ID_UNIQUE_BYTES];
    if (!text_unhex(worker_id, binary, sizeof binary))
        return bad_worker_id(err);
    RayWire__IsLocalWorkerDeadRequest request = RAY_WIRE__IS_LOCAL_WORKER_DEAD_REQUEST__INIT;
    request.worker_id = (ProtobufCBinaryData){sizeof binary, binary};
    pack(&request.base, out);
    return 0;
}

void request_node_stats(bool with_refs, struct buf *out)
{
    RayWire__GetNodeStatsRequest request = RAY_WIRE__GET_NODE_STATS_REQUEST__INIT;
    request.include_memory_info = with_refs;
    pack(&request.base, out);
}

/* --- where objects are --- */

enum locations_form locations_form_of(struct ray_version version)
{
    if (ray_version_compare(version, 2, 9, 0) < 0)
        return LOCATIONS_FORM_NONE;
    return ray_version_compare(version, 2, 11, 0) < 0 ? LOCATIONS_FORM_V1 : LOCATIONS_FORM_V2;
}

static ProtobufCBinaryData id_of(const struct object_id *id)
{
    return (ProtobufCBinaryData){sizeof id->bytes, (uint8_t *)(uintptr_t)id->bytes};
}

static void pack_locations_v1(ProtobufCBinaryData worker, const struct object_id *id,
                              struct buf *out)
{
    RayWire__GetObjectLocationsOwnerRequestV1__Object object =
        RAY_WIRE__GET_OBJECT_LOCATIONS_OWNER_REQUEST_V1__OBJECT__INIT;
    RayWire__GetObjectLocationsOwnerRequestV1 request =
        RAY_WIRE__GET_OBJECT_LOCATIONS_OWNER_REQUEST_V1__INIT;
    object.intended_worker_id = worker;
    object.object_id = id_of(id);
    request.object_location_request = &object;
    pack(&request.base, out);
}

static void pack_locations_v2(ProtobufCBinaryData worker, const struct object_id *ids, size_t count,
                              struct buf *out)
{
    RayWire__GetObjectLocationsOwnerRequestV2 request =
        RAY_WIRE__GET_OBJECT_LOCATIONS_OWNER_REQUEST_V2__INIT;
    request.intended_worker_id = worker;
    request.n_object_ids = count;
    request.object_ids = mem_array(count, sizeof *request.object_ids);
    for (size_t i = 0; i < count; i++)
        request.object_ids[i] = id_of(&ids[i]);
    pack(&request.base, out);
    free(request.object_ids);
}

int request_locations(enum locations_form form, const char *worker_id, const struct object_id *ids,
                      size_t count, struct buf *out, struct err *err)
{
    uint8_t binary[ID_UNIQUE_BYTES];
    ProtobufCBinaryData worker = {sizeof binary, binary};
    if (!text_unhex(worker_id, binary, sizeof binary))
        return bad_worker_id(err);
    if (form == LOCATIONS_FORM_V2) {
        pack_locations_v2(worker, ids, count, out);
        return 0;
    }
    if (form == LOCATIONS_FORM_V1 && count == 1) {
        pack_locations_v1(worker, ids, out);
        return 0;
    }
    err_set(err, ERR_FAILED, "an owner cannot be asked where its objects are");
    return err_why(err, "this cluster's Ray version is unknown, or before 2.9");
}

void request_jobs(struct buf *out)
{
    RayWire__GetAllJobInfoRequest request = RAY_WIRE__GET_ALL_JOB_INFO_REQUEST__INIT;
    request.skip_submission_job_info_field = true;
    request.skip_is_running_tasks_field = true;
    pack(&request.base, out);
}

void request_all_actors(struct buf *out)
{
    RayWire__GetAllActorInfoRequest request = RAY_WIRE__GET_ALL_ACTOR_INFO_REQUEST__INIT;
    request.show_dead_jobs = true;
    pack(&request.base, out);
}

void request_kv_get(const char *space, const char *key, struct buf *out)
{
    RayWire__InternalKVGetRequest request = RAY_WIRE__INTERNAL_KVGET_REQUEST__INIT;
    request.key = bytes_of(key);
    request.namespace_ = bytes_of(space);
    pack(&request.base, out);
}

void request_kv_put(const char *space, const char *key, const char *value, bool overwrite,
                    struct buf *out)
{
    RayWire__InternalKVPutRequest request = RAY_WIRE__INTERNAL_KVPUT_REQUEST__INIT;
    request.namespace_ = bytes_of(space);
    request.key = bytes_of(key);
    request.value = bytes_of(value);
    request.overwrite = overwrite;
    pack(&request.base, out);
}

void request_kv_del(const char *space, const char *key, struct buf *out)
{
    RayWire__InternalKVDelRequest request = RAY_WIRE__INTERNAL_KVDEL_REQUEST__INIT;
    request.namespace_ = bytes_of(space);
    request.key = bytes_of(key);
    pack(&request.base, out);
}

void request_kv_keys(const char *space, const char *prefix, struct buf *out)
{
    RayWire__InternalKVKeysRequest request = RAY_WIRE__INTERNAL_KVKEYS_REQUEST__INIT;
    request.prefix = bytes_of(prefix);
    request.namespace_ = bytes_of(space);
    pack(&request.base, out);
}
