#include "relay/cluster/ray_source.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/ray_source_state.h"

#include <stdlib.h>
#include <string.h>

enum { DEADLINE_MS = 5000, DASHBOARD_DEADLINE_MS = 20000, OBJECTS_DEADLINE_MS = 20000 };
enum { QUICK_DEADLINE_MS = 2000 };
/* A cluster does not end, and another start at its address, in less time. */
enum { VERSION_MS = 1000 };

/* One ray_source_version() to a GCS. */
struct version_query {
    struct version_query *next;
    struct ray_source *source;
    gcs_version_fn fn;
    void *arg;
};

struct ray_source *ray_source_create(struct loop *loop, const struct cluster_address *address,
                                     struct err *err)
{
    struct ray_source *source = mem_alloc(sizeof *source);
    source->loop = loop;
    if (credentials_load(&source->credentials, err) != 0) {
        free(source);
        return NULL;
    }
    if (address->kind == CLUSTER_ADDRESS_DASHBOARD) {
        source->dashboard = dashboard_create(loop_context(loop), address->text,
                                             &source->credentials, DASHBOARD_DEADLINE_MS, err);
    } else {
        struct rpc_options options = {
            .credentials = &source->credentials,
            .post = loop_post,
            .post_context = loop,
        };
        source->rpc = rpc_create(&options);
        source->gcs = gcs_create(source->rpc, address->text, DEADLINE_MS);
        source->objects = object_client_create(source->rpc, OBJECTS_DEADLINE_MS);
        source->quick_objects = object_client_create(source->rpc, QUICK_DEADLINE_MS);
    }
    if (!source->gcs && !source->dashboard)
        ray_source_destroy(&source);
    return source;
}

void ray_source_destroy(struct ray_source **source)
{
    struct ray_source *it = *source;
    if (!it)
        return;
    *source = NULL;
    ray_source_running_drop(it);
    gcs_destroy(&it->gcs);
    object_client_destroy(&it->objects);
    object_client_destroy(&it->quick_objects);
    dashboard_destroy(&it->dashboard);
    rpc_destroy(&it->rpc);
    ray_source_running_free(it);
    while (it->versions) {
        struct version_query *query = it->versions;
        it->versions = query->next;
        free(query);
    }
    credentials_clear(&it->credentials);
    free(it);
}

#define EITHER(name, type)                                                                         \
    void ray_source_##name(struct ray_source *source, type fn, void *arg)                          \
    {                                                                                              \
        if (source->gcs)                                                                           \
            gcs_##name(source->gcs, fn, arg);                                                      \
        else                                                                                       \
            dashboard_##name(source->dashboard, fn, arg);                                          \
    }

EITHER(workers, gcs_workers_fn)
EITHER(nodes, gcs_nodes_fn)
EITHER(actors, gcs_actors_fn)
EITHER(jobs, gcs_jobs_fn)

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct version_query *query = arg;
    LIST_REMOVE(query->source->versions, query);
    query->source->version_us = err ? 0 : loop_now_us();
    if (!err) {
        object_client_set_version(query->source->objects, version);
        object_client_set_version(query->source->quick_objects, version);
    }
    gcs_version_fn fn = query->fn;
    arg = query->arg;
    free(query);
    if (fn)
        fn(arg, err, version, ray_version, python_version);
}

void ray_source_version(struct ray_source *source, gcs_version_fn fn, void *arg)
{
    if (source->dashboard) {
        dashboard_version(source->dashboard, fn, arg);
        return;
    }
    struct version_query *query = mem_alloc(sizeof *query);
    *query = (struct version_query){source->versions, source, fn, arg};
    source->versions = query;
    gcs_version(source->gcs, on_version, query);
}

bool ray_source_version_is_old(const struct ray_source *source)
{
    return source->gcs &&
           (!source->version_us || loop_now_us() - source->version_us > (int64_t)VERSION_MS * 1000);
}

bool ray_source_tells_single(const struct ray_source *source)
{
    return source->gcs && gcs_tells_waiting(source->gcs);
}

void ray_source_waiting_workers(struct ray_source *source, gcs_workers_fn fn, void *arg)
{
    gcs_waiting_workers(source->gcs, fn, arg);
}

void ray_source_worker(struct ray_source *source, const char *worker_id, gcs_workers_fn fn,
                       void *arg)
{
    gcs_worker(source->gcs, worker_id, fn, arg);
}

void ray_source_actor(struct ray_source *source, const char *actor_id, gcs_actors_fn fn, void *arg)
{
    gcs_actor(source->gcs, actor_id, fn, arg);
}

struct object_client *ray_source_objects(struct ray_source *source)
{
    return source->objects;
}

struct object_client *ray_source_quick_objects(struct ray_source *source)
{
    return source->quick_objects;
}

struct gcs *ray_source_gcs(struct ray_source *source)
{
    return source->gcs;
}

struct rpc *ray_source_rpc(struct ray_source *source)
{
    return source->rpc;
}

struct dashboard *ray_source_dashboard_at(struct ray_source *source, const char *url,
                                          struct err *err)
{
    return dashboard_create(loop_context(source->loop), url, &source->credentials,
                            DASHBOARD_DEADLINE_MS, err);
}

void ray_source_pdbs(struct ray_source *source, gcs_pdbs_fn fn, void *arg)
{
    if (source->gcs)
        gcs_pdbs(source->gcs, fn, arg);
    else
        fn(arg, NULL, NULL, 0);
}

void ray_source_task(struct ray_source *source, const char *task_id, gcs_tasks_fn fn, void *arg)
{
    if (source->gcs)
        gcs_task(source->gcs, task_id, fn, arg);
    else
        fn(arg, NULL, NULL, 0);
}

/* --- the key-value store --- */

void ray_source_kv_put(struct ray_source *source, const char *space, const char *key,
                       const char *value, gcs_done_fn fn, void *arg)
{
    if (source->gcs)
        gcs_kv_put(source->gcs, space, key, value, true, fn, arg);
    else
        fn(arg, NULL);
}

void ray_source_kv_del(struct ray_source *source, const char *space, const char *key,
                       gcs_done_fn fn, void *arg)
{
    if (source->gcs)
        gcs_kv_del(source->gcs, space, key, fn, arg);
    else
        fn(arg, NULL);
}

void ray_source_kv_get_all(struct ray_source *source, const char *space, const char *prefix,
                           gcs_kv_fn fn, void *arg)
{
    if (source->gcs)
        gcs_kv_get_all(source->gcs, space, prefix, fn, arg);
    else
        fn(arg, NULL, NULL, 0);
}

void ray_source_kv_forget(struct ray_source *source, const void *arg)
{
    for (struct version_query *at = source->versions; at; at = at->next)
        if (at->arg == arg)
            at->fn = NULL;
    if (source->gcs)
        gcs_forget(source->gcs, arg);
}

/* --- worker stats --- */

void ray_source_worker_stats(struct ray_source *source, const char *address, const char *worker_id,
                             core_worker_stats_fn fn, void *arg)
{
    struct err err;
    if (source->gcs) {
        gcs_core_worker_stats(source->gcs, address, worker_id, fn, arg);
        return;
    }
    err_set(&err, ERR_USAGE, "a dashboard does not tell what a worker runs");
    fn(arg, &err, NULL);
}
