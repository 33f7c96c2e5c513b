#include "proto/gcs_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/reply.h"

#include <stdlib.h>
#include <string.h>

struct gcs *gcs_create(struct rpc *rpc, const char *address, int64_t deadline_ms)
{
    struct gcs *gcs = mem_alloc(sizeof *gcs);
    gcs->rpc = rpc;
    gcs->channel = rpc_channel(rpc, address);
    gcs->deadline_ms = deadline_ms;
    return gcs;
}

void gcs_destroy(struct gcs **gcs)
{
    struct gcs *it = *gcs;
    if (!it)
        return;
    *gcs = NULL;
    inflight_drop_all(&it->calls);
    free(it);
}

void gcs_forget(struct gcs *gcs, const void *arg)
{
    inflight_drop(&gcs->calls, arg);
}

/* --- calls --- */

struct gcs_call *gcs_call_new(struct gcs *gcs,
                              void (*handle)(struct gcs_call *, const struct rpc_reply *),
                              void *arg)
{
    struct gcs_call *call = mem_alloc(sizeof *call);
    inflight_add(&gcs->calls, &call->inflight, arg);
    call->gcs = gcs;
    call->handle = handle;
    return call;
}

static void call_free(struct gcs_call *call)
{
    free(call->ray_version);
    free(call->python_version);
    free(call->space);
    free(call->key);
    free(call);
}

/* For a reply whose call was dropped by gcs_forget() or gcs_destroy(). */
static void drop(struct gcs_call *call)
{
    if (call->scan)
        gcs_kv_scan_drop(call->scan);
    call_free(call);
}

void gcs_call_on_reply(void *arg, const struct rpc_reply *reply)
{
    struct gcs_call *call = arg;
    if (!inflight_end(&call->inflight)) {
        drop(call);
        return;
    }
    call->handle(call, reply);
    call_free(call);
}

void gcs_call_send(struct gcs_call *call, struct rpc_channel *channel, const char *method,
                   struct buf *request)
{
    rpc_call(channel, method, (const uint8_t *)request->data, request->len, call->gcs->deadline_ms,
             gcs_call_on_reply, call);
    buf_free(request);
}

void gcs_call_send_bulk(struct gcs_call *call, struct rpc_channel *channel, const char *method,
                        struct buf *request)
{
    rpc_bulk_call(channel, method, (const uint8_t *)request->data, request->len,
                  call->gcs->deadline_ms, gcs_call_on_reply, call);
    buf_free(request);
}

static void ask_empty(struct gcs_call *call, const char *method)
{
    struct buf none = {0};
    gcs_call_send(call, call->gcs->channel, method, &none);
}

enum { GRPC_UNIMPLEMENTED = 12 };

bool gcs_call_answered(const struct rpc_reply *reply, struct err *err)
{
    *err = reply->err ? *reply->err : (struct err){0};
    if (!reply->err)
        return true;
    if (reply->status == GRPC_UNIMPLEMENTED)
        err_hint(err, "this is a gRPC server, but not a GCS: the GCS's port is 6379 by default "
                      "(10001 is Ray Client's, 8265 the dashboard's)");
    else if (err->code == ERR_UNREACHABLE && !*err->hint)
        err_hint(err, "is Ray running there? `ray status` tells; or give --address HOST:PORT");
    return false;
}

/* --- the version --- */

static const char task_method[] = "/ray.rpc.TaskInfoGcsService/GetTaskEvents";

static void tell_version(struct gcs_call *call)
{
    call->fn.version(call->inflight.arg, NULL, call->gcs->version,
                     call->ray_version ? call->ray_version : "",
                     call->python_version ? call->python_version : "");
}

static void on_probe(struct gcs_call *call, const struct rpc_reply *reply)
{
    call->gcs->filter = task_filter_from_probe(reply->status);
    tell_version(call);
}

/* Passes the answer of `from` on to a call that finds out the task filter, which the version does
 * not tell. */
static void probe(struct gcs_call *from)
{
    struct gcs_call *call = gcs_call_new(from->gcs, on_probe, from->inflight.arg);
    struct buf request = {0};
    call->fn = from->fn;
    call->ray_version = from->ray_version;
    call->python_version = from->python_version;
    from->ray_version = from->python_version = NULL;
    request_filter_probe(&request);
    gcs_call_send(call, call->gcs->channel, task_method, &request);
}

static void on_version(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct gcs *gcs = call->gcs;
    struct err err;
    struct ray_version version = {0};
    char *json = NULL;
    size_t len;
    bool good = gcs_call_answered(reply, &err) &&
                reply_kv_get(reply->bytes, reply->len, &json, &len, &err) == 0 &&
                (!json || reply_version(json, len, &version, &call->ray_version,
                                        &call->python_version, &err) == 0);
    free(json);
    if (!good) {
        gcs->filter = TASK_FILTER_NONE;
        call->fn.version(call->inflight.arg, &err, version, "", "");
        return;
    }
    /* A filter that was probed stays in use until the new probe is answered. */
    if (!task_filter_needs_probe(version) || !task_filter_needs_probe(gcs->version))
        gcs->filter = task_filter_of(version);
    gcs->version = version;
    if (task_filter_needs_probe(version))
        probe(call);
    else
        tell_version(call);
}

void gcs_version(struct gcs *gcs, gcs_version_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_version, arg);
    struct buf request = {0};
    call->fn.version = fn;
    request_kv_get("cluster", "CLUSTER_METADATA", &request);
    gcs_call_send(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVGet", &request);
}

/* --- lists --- */

/* Defines on_workers() and the others: each parses the reply, then calls back. */
#define ON_RECORDS(kind, type)                                                                     \
    static void on_##kind(struct gcs_call *call, const struct rpc_reply *reply)                    \
    {                                                                                              \
        struct err err;                                                                            \
        type *records = NULL;                                                                      \
        size_t count = 0;                                                                          \
        bool good = gcs_call_answered(reply, &err) &&                                              \
                    reply_##kind(reply->bytes, reply->len, &records, &count, &err) == 0;           \
        call->fn.kind(call->inflight.arg, good ? NULL : &err, records, count);                     \
    }

ON_RECORDS(workers, struct ray_worker)
ON_RECORDS(actors, struct ray_actor)
ON_RECORDS(nodes, struct ray_node)
ON_RECORDS(jobs, struct ray_job)

void gcs_workers(struct gcs *gcs, gcs_workers_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_workers, arg);
    call->fn.workers = fn;
    ask_empty(call, "/ray.rpc.WorkerInfoGcsService/GetAllWorkerInfo");
}

void gcs_waiting_workers(struct gcs *gcs, gcs_workers_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_workers, arg);
    struct buf request = {0};
    call->fn.workers = fn;
    if (gcs_tells_waiting(gcs))
        request_waiting_workers(&request);
    gcs_call_send(call, gcs->channel, "/ray.rpc.WorkerInfoGcsService/GetAllWorkerInfo", &request);
}

bool gcs_tells_waiting(const struct gcs *gcs)
{
    return ray_version_compare(gcs->version, 2, 36, 1) >= 0;
}

void gcs_worker(struct gcs *gcs, const char *worker_id, gcs_workers_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_workers, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.workers = fn;
    if (request_worker(worker_id, &request, &err))
        rpc_refuse(gcs->rpc, &err, gcs_call_on_reply, call);
    else
        gcs_call_send_bulk(call, gcs->channel, "/ray.rpc.WorkerInfoGcsService/GetWorkerInfo",
                           &request);
}

void gcs_actors(struct gcs *gcs, gcs_actors_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_actors, arg);
    call->fn.actors = fn;
    ask_empty(call, "/ray.rpc.ActorInfoGcsService/GetAllActorInfo");
}

void gcs_actor(struct gcs *gcs, const char *actor_id, gcs_actors_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_actors, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.actors = fn;
    if (request_actor(actor_id, &request, &err))
        rpc_refuse(gcs->rpc, &err, gcs_call_on_reply, call);
    else
        gcs_call_send_bulk(call, gcs->channel, "/ray.rpc.ActorInfoGcsService/GetActorInfo",
                           &request);
}

void gcs_nodes(struct gcs *gcs, gcs_nodes_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_nodes, arg);
    call->fn.nodes = fn;
    ask_empty(call, "/ray.rpc.NodeInfoGcsService/GetAllNodeInfo");
}

void gcs_jobs(struct gcs *gcs, gcs_jobs_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_jobs, arg);
    struct buf request = {0};
    call->fn.jobs = fn;
    request_jobs(&request);
    gcs_call_send(call, gcs->channel, "/ray.rpc.JobInfoGcsService/GetAllJobInfo", &request);
}

/* --- one task --- */

static void on_task(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_task *tasks = NULL;
    size_t count = 0;
    bool good =
        gcs_call_answered(reply, &err) &&
        reply_tasks(reply->bytes, reply->len, call->gcs->version, &tasks, &count, &err) == 0;
    call->fn.tasks(call->inflight.arg, good ? NULL : &err, tasks, count);
}

void gcs_task(struct gcs *gcs, const char *task_id, gcs_tasks_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_task, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.tasks = fn;
    if (request_task(gcs->filter, task_id, &request, &err))
        rpc_refuse(gcs->rpc, &err, gcs_call_on_reply, call);
    else
        gcs_call_send_bulk(call, gcs->channel, task_method, &request);
}

/* --- a worker --- */

static bool worker_answered(const struct gcs_call *call, const struct rpc_reply *reply,
                            struct ray_worker_stats *stats, struct err *err)
{
    *err = reply->err ? *reply->err : (struct err){0};
    if (reply->err) {
        if (err->code == ERR_UNREACHABLE && !*err->hint)
            err_hint(err, "the worker may be gone, or its port cannot be reached from here");
        return false;
    }
    if (reply_worker_stats(reply->bytes, reply->len, stats, err))
        return false;
    if (strcmp(stats->worker_id, call->worker_id) == 0)
        return true;
    err_set(err, ERR_NOT_FOUND, "worker %.8s is gone", call->worker_id);
    err_why(err, "another worker (pid %lld) answers at its port", (long long)stats->pid);
    ray_worker_stats_clear(stats);
    return false;
}

static void on_worker_stats(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_worker_stats *stats = mem_alloc(sizeof *stats);
    if (worker_answered(call, reply, stats, &err)) {
        call->fn.stats(call->inflight.arg, NULL, stats);
        return;
    }
    free(stats);
    call->fn.stats(call->inflight.arg, &err, NULL);
}

void gcs_core_worker_stats(struct gcs *gcs, const char *address, const char *worker_id,
                           core_worker_stats_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_worker_stats, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.stats = fn;
    if (request_worker_stats(worker_id, &request, &err)) {
        rpc_refuse(gcs->rpc, &err, gcs_call_on_reply, call);
        return;
    }
    uint8_t binary[ID_UNIQUE_BYTES]; /* worker_id may be in upper case */
    text_unhex(worker_id, binary, sizeof binary);
    text_hex(binary, sizeof binary, call->worker_id);
    gcs_call_send_bulk(call, rpc_channel(gcs->rpc, address),
                       "/ray.rpc.CoreWorkerService/GetCoreWorkerStats", &request);
}

/* --- what a raylet says of a worker --- */

static void on_worker_is_dead(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err = reply->err ? *reply->err : (struct err){0};
    bool dead = false;
    bool good = !reply->err && reply_worker_is_dead(reply->bytes, reply->len, &dead, &err) == 0;
    call->fn.is_dead(call->inflight.arg, good ? NULL : &err, dead);
}

void gcs_worker_is_dead(struct gcs *gcs, const char *raylet, const char *worker_id,
                        worker_is_dead_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_worker_is_dead, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.is_dead = fn;
    if (request_worker_is_dead(worker_id, &request, &err))
        rpc_refuse(gcs->rpc, &err, gcs_call_on_reply, call);
    else
        gcs_call_send_bulk(call, rpc_channel(gcs->rpc, raylet),
                           "/ray.rpc.NodeManagerService/IsLocalWorkerDead", &request);
}
