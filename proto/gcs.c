#include "proto/gcs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <stdlib.h>
#include <string.h>

/* The entries of the legacy debugger: one call for the keys, then one for each value, all at once.
 */
struct pdb_scan {
    int pending; /* calls for values that have not been answered */
    struct ray_pdb *pdbs;
    size_t count;
    struct err err; /* the first */
    gcs_pdbs_fn fn;
    void *arg;
};

struct call {
    struct call *next, **link; /* in gcs->calls */
    struct gcs *gcs;           /* NULL once it was destroyed: then nothing is called back */
    void (*handle)(struct call *call, const struct rpc_reply *reply);
    union {
        gcs_version_fn version;
        gcs_workers_fn workers;
        gcs_tasks_fn tasks;
        gcs_actors_fn actors;
        gcs_nodes_fn nodes;
        gcs_jobs_fn jobs;
        gcs_pdbs_fn pdbs;
        core_worker_stats_fn stats;
    } fn;
    void *arg;
    struct pdb_scan *scan; /* of a call for one value */
    char uuid[33];
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* who must answer */
    char *ray_version, *python_version;       /* of a probe, to be told once it is answered */
};

struct gcs {
    struct rpc *rpc;
    struct rpc_channel *channel;
    int64_t deadline_ms;
    struct ray_version version;
    enum task_filter filter; /* NONE until the version is known */
    struct call *calls;
};

static const char pdb_space[] = "ray_pdb";

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
    for (struct call *call = it->calls; call; call = call->next)
        call->gcs = NULL;
    free(it);
}

/* --- calls --- */

static struct call *call_new(struct gcs *gcs,
                             void (*handle)(struct call *, const struct rpc_reply *), void *arg)
{
    struct call *call = mem_alloc(sizeof *call);
    call->gcs = gcs;
    call->handle = handle;
    call->arg = arg;
    call->next = gcs->calls;
    call->link = &gcs->calls;
    if (call->next)
        call->next->link = &call->next;
    gcs->calls = call;
    return call;
}

static void call_free(struct call *call)
{
    free(call->ray_version);
    free(call->python_version);
    free(call);
}

static void scan_free(struct pdb_scan *scan)
{
    ray_pdbs_free(scan->pdbs, scan->count);
    free(scan);
}

/* The gcs was destroyed meanwhile. */
static void drop(struct call *call)
{
    if (call->scan && --call->scan->pending == 0)
        scan_free(call->scan);
    call_free(call);
}

static void on_reply(void *arg, const struct rpc_reply *reply)
{
    struct call *call = arg;
    if (!call->gcs) {
        drop(call);
        return;
    }
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
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
    call->fn.version(call->arg, NULL, call->gcs->version,
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
    struct call *call = call_new(from->gcs, on_probe, from->arg);
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
        call->fn.version(call->arg, &err, version, "", "");
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
    call->fn.workers(call->arg, good ? NULL : &err, workers, count);
}

void gcs_workers(struct gcs *gcs, gcs_workers_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_workers, arg);
    call->fn.workers = fn;
    ask_empty(call, "/ray.rpc.WorkerInfoGcsService/GetAllWorkerInfo");
}

static void on_actors(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_actor *actors = NULL;
    size_t count = 0;
    bool good =
        answered(reply, &err) && reply_actors(reply->bytes, reply->len, &actors, &count, &err) == 0;
    call->fn.actors(call->arg, good ? NULL : &err, actors, count);
}

void gcs_actors(struct gcs *gcs, gcs_actors_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_actors, arg);
    call->fn.actors = fn;
    ask_empty(call, "/ray.rpc.ActorInfoGcsService/GetAllActorInfo");
}

static void on_nodes(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_node *nodes = NULL;
    size_t count = 0;
    bool good =
        answered(reply, &err) && reply_nodes(reply->bytes, reply->len, &nodes, &count, &err) == 0;
    call->fn.nodes(call->arg, good ? NULL : &err, nodes, count);
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
    call->fn.jobs(call->arg, good ? NULL : &err, jobs, count);
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
    call->fn.tasks(call->arg, good ? NULL : &err, tasks, count);
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
        ask(call, gcs->channel, task_method, &request);
}

/* --- the legacy debugger's entries --- */

static void scan_end(struct pdb_scan *scan)
{
    if (scan->err.code) {
        scan->fn(scan->arg, &scan->err, NULL, 0);
    } else {
        scan->fn(scan->arg, NULL, scan->pdbs, scan->count);
        scan->pdbs = NULL; /* the callee's now */
        scan->count = 0;
    }
    scan_free(scan);
}

/* An entry that is gone by now, or that is no JSON, is left out. */
static void on_pdb(struct call *call, const struct rpc_reply *reply)
{
    struct pdb_scan *scan = call->scan;
    struct err err;
    struct ray_pdb *pdb = &scan->pdbs[scan->count];
    char *json = NULL;
    size_t len;
    if (!answered(reply, &err) || reply_kv_get(reply->bytes, reply->len, &json, &len, &err)) {
        if (!scan->err.code)
            scan->err = err;
    } else if (json && reply_pdb(json, len, pdb, NULL) == 0) {
        text_copy(pdb->uuid, sizeof pdb->uuid, call->uuid);
        scan->count++;
    }
    free(json);
    if (--scan->pending == 0)
        scan_end(scan);
}

static void ask_pdb(struct gcs *gcs, struct pdb_scan *scan, const char *key)
{
    struct call *call = call_new(gcs, on_pdb, NULL);
    struct buf request = {0};
    call->scan = scan;
    pdb_key_parse(key, call->uuid);
    scan->pending++;
    request_kv_get(pdb_space, key, &request);
    ask(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVGet", &request);
}

static void on_pdb_keys(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    char **keys = NULL;
    size_t count = 0;
    char uuid[33];
    if (!answered(reply, &err) || reply_kv_keys(reply->bytes, reply->len, &keys, &count, &err)) {
        call->fn.pdbs(call->arg, &err, NULL, 0);
        return;
    }
    struct pdb_scan *scan = mem_alloc(sizeof *scan);
    scan->fn = call->fn.pdbs;
    scan->arg = call->arg;
    scan->pdbs = mem_array(count, sizeof *scan->pdbs);
    for (size_t i = 0; i < count; i++) {
        if (pdb_key_parse(keys[i], uuid))
            ask_pdb(call->gcs, scan, keys[i]);
        free(keys[i]);
    }
    free(keys);
    if (scan->pending == 0)
        scan_end(scan);
}

void gcs_pdbs(struct gcs *gcs, gcs_pdbs_fn fn, void *arg)
{
    struct call *call = call_new(gcs, on_pdb_keys, arg);
    struct buf request = {0};
    call->fn.pdbs = fn;
    request_kv_keys(pdb_space, "RAY_PDB_", &request);
    ask(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVKeys", &request);
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
        call->fn.stats(call->arg, NULL, stats);
        return;
    }
    free(stats);
    call->fn.stats(call->arg, &err, NULL);
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
    ask(call, rpc_channel(gcs->rpc, address), "/ray.rpc.CoreWorkerService/GetCoreWorkerStats",
        &request);
}
