#include "proto/gcs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/inflight.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <stdlib.h>
#include <string.h>

/* All of a namespace's entries with a prefix: one call for the keys, then one for each value, all
 * at once. */
struct kv_scan {
    int pending; /* calls for values that have not been answered */
    struct gcs_kv *entries;
    size_t count;
    struct err err; /* the first */
    /* Tells the caller; `err` NULL on success. */
    void (*tell)(struct kv_scan *scan, const struct err *err);
    union {
        gcs_pdbs_fn pdbs;
        gcs_kv_fn entries;
    } fn;
    void *arg;
};

struct call {
    struct inflight inflight; /* dropped once the gcs was destroyed */
    struct gcs *gcs;
    void (*handle)(struct call *call, const struct rpc_reply *reply);
    union {
        gcs_version_fn version;
        gcs_workers_fn workers;
        gcs_tasks_fn tasks;
        gcs_actors_fn actors;
        gcs_nodes_fn nodes;
        gcs_jobs_fn jobs;
        gcs_done_fn done;
        core_worker_stats_fn stats;
    } fn;
    struct kv_scan *scan; /* of a call for keys or for one value */
    char *space, *key;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* who must answer */
    char *ray_version, *python_version;       /* of a probe, to be told once it is answered */
};

struct gcs {
    struct rpc *rpc;
    struct rpc_channel *channel;
    int64_t deadline_ms;
    struct ray_version version;
    enum task_filter filter; /* NONE until the version is known */
    struct inflight *calls;
};

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

/* --- calls --- */

static struct call *call_new(struct gcs *gcs,
                             void (*handle)(struct call *, const struct rpc_reply *), void *arg)
{
    struct call *call = mem_alloc(sizeof *call);
    inflight_add(&gcs->calls, &call->inflight, arg);
    call->gcs = gcs;
    call->handle = handle;
    return call;
}

static void call_free(struct call *call)
{
    free(call->ray_version);
    free(call->python_version);
    free(call->space);
    free(call->key);
    free(call);
}

static void scan_free(struct kv_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        free(scan->entries[i].key);
        free(scan->entries[i].value);
    }
    free(scan->entries);
    free(scan);
}

/* Who asked is gone. */
static void drop(struct call *call)
{
    if (call->scan && --call->scan->pending == 0)
        scan_free(call->scan);
    call_free(call);
}

static void on_reply(void *arg, const struct rpc_reply *reply)
{
    struct call *call = arg;
    if (!inflight_end(&call->inflight)) {
        drop(call);
        return;
    }
    call->handle(call, reply);
    call_free(call);
}

/* Takes over what `request` holds. */
static void ask(struct call *call, struct rpc_channel *channel, const char *method,
                struct buf *request)
{
    rpc_call(channel, method, (const uint8_t *)request->data, request->len, call->gcs->deadline_ms,
             on_reply, call);
    buf_free(request);
}

/* The same for one of as many as there are pauses. */
static void ask_bulk(struct call *call, struct rpc_channel *channel, const char *method,
                     struct buf *request)
{
    rpc_bulk_call(channel, method, (const uint8_t *)request->data, request->len,
                  call->gcs->deadline_ms, on_reply, call);
    buf_free(request);
}

static void ask_empty(struct call *call, const char *method)
{
    struct buf none = {0};
    ask(call, call->gcs->channel, method, &none);
}

enum { GRPC_UNIMPLEMENTED = 12 };

/* Whether the GCS answered; if not, `err` is the reply's, with what a user can do about it. */
static bool answered(const struct rpc_reply *reply, struct err *err)
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

static void tell_version(struct call *call)
{
    call->fn.version(call->inflight.arg, NULL, call->gcs->version,
                     call->ray_version ? call->ray_version : "",
                     call->python_version ? call->python_version : "");
}

static void on_probe(struct call *call, const struct rpc_reply *reply)
{
    call->gcs->filter = task_filter_from_probe(reply->status);
    tell_version(call);
}

/* Hands the answer of `from` on to a call that asks what its version does not tell. */
static void probe(struct call *from)
{
    struct call *call = call_new(from->gcs, on_probe, from->inflight.arg);
    struct buf request = {0};
    call->fn = from->fn;
    call->ray_version = from->ray_version;
    call->python_version = from->python_version;
    from->ray_version = from->python_version = NULL;
    request_filter_probe(&request);
    ask(call, call->gcs->channel, task_method, &request);
}

static void on_version(struct call *call, const struct rpc_reply *reply)
{
    struct gcs *gcs = call->gcs;
    struct err err;
    struct ray_version version = {0};
    char *json = NULL;
    size_t len;
    bool good =
        answered(reply, &err) && reply_kv_get(reply->bytes, reply->len, &json, &len, &err) == 0 &&
        (!json ||
         reply_version(json, len, &version, &call->ray_version, &call->python_version, &err) == 0);
    free(json);
    if (!good) {
        call->fn.version(call->inflight.arg, &err, version, "", "");
        return;
    }
    gcs->version = version;
    gcs->filter = task_filter_of(version);
    if (task_filter_needs_probe(version))
        probe(call);
    else
        tell_version(call);
}

void gcs_version(struct gcs *gcs, gcs_version_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_version, arg);
    struct buf request = {0};
    call->fn.version = fn;
    request_kv_get("cluster", "CLUSTER_METADATA", &request);
    ask(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVGet", &request);
}

/* --- lists --- */

static void on_workers(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_worker *workers = NULL;
    size_t count = 0;
    bool good = answered(reply, &err) &&
                reply_workers(reply->bytes, reply->len, &workers, &count, &err) == 0;
    call->fn.workers(call->inflight.arg, good ? NULL : &err, workers, count);
}

void gcs_workers(struct gcs *gcs, gcs_workers_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_workers, arg);
    call->fn.workers = fn;
    ask_empty(call, "/ray.rpc.WorkerInfoGcsService/GetAllWorkerInfo");
}

void gcs_waiting_workers(struct gcs *gcs, gcs_workers_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_workers, arg);
    struct buf request = {0};
    call->fn.workers = fn;
    if (gcs_tells_waiting(gcs))
        request_waiting_workers(&request);
    ask(call, gcs->channel, "/ray.rpc.WorkerInfoGcsService/GetAllWorkerInfo", &request);
}

bool gcs_tells_waiting(const struct gcs *gcs)
{
    return ray_version_compare(gcs->version, 2, 36, 1) >= 0;
}

void gcs_worker(struct gcs *gcs, const char *worker_id, gcs_workers_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_workers, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.workers = fn;
    if (request_worker(worker_id, &request, &err))
        rpc_refuse(gcs->rpc, &err, on_reply, call);
    else
        ask_bulk(call, gcs->channel, "/ray.rpc.WorkerInfoGcsService/GetWorkerInfo", &request);
}

static void on_actors(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_actor *actors = NULL;
    size_t count = 0;
    bool good =
        answered(reply, &err) && reply_actors(reply->bytes, reply->len, &actors, &count, &err) == 0;
    call->fn.actors(call->inflight.arg, good ? NULL : &err, actors, count);
}

void gcs_actors(struct gcs *gcs, gcs_actors_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_actors, arg);
    call->fn.actors = fn;
    ask_empty(call, "/ray.rpc.ActorInfoGcsService/GetAllActorInfo");
}

void gcs_actor(struct gcs *gcs, const char *actor_id, gcs_actors_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_actors, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.actors = fn;
    if (request_actor(actor_id, &request, &err))
        rpc_refuse(gcs->rpc, &err, on_reply, call);
    else
        ask_bulk(call, gcs->channel, "/ray.rpc.ActorInfoGcsService/GetActorInfo", &request);
}

static void on_nodes(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_node *nodes = NULL;
    size_t count = 0;
    bool good =
        answered(reply, &err) && reply_nodes(reply->bytes, reply->len, &nodes, &count, &err) == 0;
    call->fn.nodes(call->inflight.arg, good ? NULL : &err, nodes, count);
}

void gcs_nodes(struct gcs *gcs, gcs_nodes_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_nodes, arg);
    call->fn.nodes = fn;
    ask_empty(call, "/ray.rpc.NodeInfoGcsService/GetAllNodeInfo");
}

static void on_jobs(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_job *jobs = NULL;
    size_t count = 0;
    bool good =
        answered(reply, &err) && reply_jobs(reply->bytes, reply->len, &jobs, &count, &err) == 0;
    call->fn.jobs(call->inflight.arg, good ? NULL : &err, jobs, count);
}

void gcs_jobs(struct gcs *gcs, gcs_jobs_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_jobs, arg);
    struct buf request = {0};
    call->fn.jobs = fn;
    request_jobs(&request);
    ask(call, gcs->channel, "/ray.rpc.JobInfoGcsService/GetAllJobInfo", &request);
}

/* --- one task --- */

static void on_task(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_task *tasks = NULL;
    size_t count = 0;
    bool good = answered(reply, &err) && reply_tasks(reply->bytes, reply->len, call->gcs->version,
                                                     &tasks, &count, &err) == 0;
    call->fn.tasks(call->inflight.arg, good ? NULL : &err, tasks, count);
}

void gcs_task(struct gcs *gcs, const char *task_id, gcs_tasks_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_task, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.tasks = fn;
    if (request_task(gcs->filter, task_id, &request, &err))
        rpc_refuse(gcs->rpc, &err, on_reply, call);
    else
        ask_bulk(call, gcs->channel, task_method, &request);
}

/* --- the key-value store --- */

static const char kv_get_method[] = "/ray.rpc.InternalKVGcsService/InternalKVGet";

static void scan_end(struct kv_scan *scan)
{
    scan->tell(scan, scan->err.code ? &scan->err : NULL);
    scan_free(scan);
}

/* An entry that is gone by now is left out. */
static void on_value(struct call *call, const struct rpc_reply *reply)
{
    struct kv_scan *scan = call->scan;
    struct err err;
    char *value = NULL;
    size_t len;
    if (!answered(reply, &err) || reply_kv_get(reply->bytes, reply->len, &value, &len, &err)) {
        if (!scan->err.code)
            scan->err = err;
    } else if (value) {
        scan->entries[scan->count++] = (struct gcs_kv){call->key, value, len};
        call->key = NULL;
    }
    if (--scan->pending == 0)
        scan_end(scan);
}

static void ask_value(struct call *from, char *key)
{
    struct call *call = call_new(from->gcs, on_value, from->inflight.arg);
    struct buf request = {0};
    call->scan = from->scan;
    call->key = key;
    call->scan->pending++;
    request_kv_get(from->space, key, &request);
    ask_bulk(call, call->gcs->channel, kv_get_method, &request);
}

static void on_keys(struct call *call, const struct rpc_reply *reply)
{
    struct kv_scan *scan = call->scan;
    char **keys = NULL;
    size_t count = 0;
    if (!answered(reply, &scan->err) ||
        reply_kv_keys(reply->bytes, reply->len, &keys, &count, &scan->err))
        count = 0;
    scan->entries = mem_array(count, sizeof *scan->entries);
    for (size_t i = 0; i < count; i++)
        ask_value(call, keys[i]);
    free(keys);
    if (--scan->pending == 0)
        scan_end(scan);
}

static struct kv_scan *scan_start(struct gcs *gcs, const char *space, const char *prefix, void *arg)
{
    struct call *call = call_new(gcs, on_keys, arg);
    struct buf request = {0};
    call->scan = mem_alloc(sizeof *call->scan);
    call->scan->pending = 1;
    call->scan->arg = arg;
    call->space = mem_string(space);
    request_kv_keys(space, prefix, &request);
    ask(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVKeys", &request);
    return call->scan;
}

static void tell_entries(struct kv_scan *scan, const struct err *err)
{
    scan->fn.entries(scan->arg, err, scan->entries, err ? 0 : scan->count);
}

void gcs_kv_get_all(struct gcs *gcs, const char *space, const char *prefix, gcs_kv_fn fn, void *arg)
{
    struct kv_scan *scan = scan_start(gcs, space, prefix, arg);
    scan->tell = tell_entries;
    scan->fn.entries = fn;
}

/* What is no JSON is left out. */
static void tell_pdbs(struct kv_scan *scan, const struct err *err)
{
    if (err) {
        scan->fn.pdbs(scan->arg, err, NULL, 0);
        return;
    }
    struct ray_pdb *pdbs = mem_array(scan->count, sizeof *pdbs);
    size_t count = 0;
    char uuid[33];
    for (size_t i = 0; i < scan->count; i++) {
        const struct gcs_kv *entry = &scan->entries[i];
        if (pdb_key_parse(entry->key, uuid) &&
            reply_pdb(entry->value, entry->len, &pdbs[count], NULL) == 0)
            text_copy(pdbs[count++].uuid, sizeof pdbs->uuid, uuid);
    }
    scan->fn.pdbs(scan->arg, NULL, pdbs, count);
}

void gcs_pdbs(struct gcs *gcs, gcs_pdbs_fn fn, void *arg)
{
    struct kv_scan *scan = scan_start(gcs, "ray_pdb", "RAY_PDB_", arg);
    scan->tell = tell_pdbs;
    scan->fn.pdbs = fn;
}

static void on_put(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    bool good = answered(reply, &err) && reply_kv_put(reply->bytes, reply->len, &err) == 0;
    call->fn.done(call->inflight.arg, good ? NULL : &err);
}

void gcs_kv_put(struct gcs *gcs, const char *space, const char *key, const char *value,
                bool overwrite, gcs_done_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_put, arg);
    struct buf request = {0};
    call->fn.done = fn;
    request_kv_put(space, key, value, overwrite, &request);
    ask(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVPut", &request);
}

static void on_del(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    bool good = answered(reply, &err) && reply_kv_del(reply->bytes, reply->len, &err) == 0;
    call->fn.done(call->inflight.arg, good ? NULL : &err);
}

void gcs_kv_del(struct gcs *gcs, const char *space, const char *key, gcs_done_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_del, arg);
    struct buf request = {0};
    call->fn.done = fn;
    request_kv_del(space, key, &request);
    ask(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVDel", &request);
}

void gcs_forget(struct gcs *gcs, const void *arg)
{
    inflight_drop(&gcs->calls, arg);
}

/* --- a worker --- */

static bool worker_answered(const struct call *call, const struct rpc_reply *reply,
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

static void on_worker_stats(struct call *call, const struct rpc_reply *reply)
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

void core_worker_stats(struct gcs *gcs, const char *address, const char *worker_id,
                       core_worker_stats_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_worker_stats, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.stats = fn;
    if (request_worker_stats(worker_id, &request, &err)) {
        rpc_refuse(gcs->rpc, &err, on_reply, call);
        return;
    }
    uint8_t binary[ID_UNIQUE_BYTES]; /* for an id in upper case */
    text_unhex(worker_id, binary, sizeof binary);
    text_hex(binary, sizeof binary, call->worker_id);
    ask_bulk(call, rpc_channel(gcs->rpc, address), "/ray.rpc.CoreWorkerService/GetCoreWorkerStats",
             &request);
}
