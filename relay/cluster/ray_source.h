/* The source of a cluster's records, the GCS or the dashboard, behind one interface. */
#ifndef RAYDBG_RELAY_CLUSTER_RAY_SOURCE_H
#define RAYDBG_RELAY_CLUSTER_RAY_SOURCE_H

#include "proto/gcs.h"
#include "proto/object_client.h"
#include "relay/cluster/cluster_address.h"
#include "relay/cluster/cluster_view.h"
#include "relay/io/loop.h"

struct dashboard;
struct ray_source;

struct ray_source *ray_source_create(struct loop *loop, const struct cluster_address *address,
                                     struct err *err);
/* Drops callbacks that have not run. */
void ray_source_destroy(struct ray_source **source);

/* The contract of gcs.h. A dashboard has no pdb entries and no single tasks: the last two functions
 * then call `fn` from within, without an error and with no records. */
void ray_source_version(struct ray_source *source, gcs_version_fn fn, void *arg);
/* True if the version is not known, or was told so long ago that another cluster may be at the
 * address since: call ray_source_version() before ray_source_task(). Always false for a dashboard.
 */
bool ray_source_version_is_old(const struct ray_source *source);
void ray_source_workers(struct ray_source *source, gcs_workers_fn fn, void *arg);
void ray_source_nodes(struct ray_source *source, gcs_nodes_fn fn, void *arg);
void ray_source_actors(struct ray_source *source, gcs_actors_fn fn, void *arg);
void ray_source_jobs(struct ray_source *source, gcs_jobs_fn fn, void *arg);
void ray_source_pdbs(struct ray_source *source, gcs_pdbs_fn fn, void *arg);
void ray_source_task(struct ray_source *source, const char *task_id, gcs_tasks_fn fn, void *arg);

/* True if the source gives single workers and actors, and only the waiting workers: then the three
 * functions below may be called. This needs a GCS of Ray 2.36.1 or later, and an answer to
 * ray_source_version(). */
bool ray_source_tells_single(const struct ray_source *source);
void ray_source_waiting_workers(struct ray_source *source, gcs_workers_fn fn, void *arg);
void ray_source_worker(struct ray_source *source, const char *worker_id, gcs_workers_fn fn,
                       void *arg);
void ray_source_actor(struct ray_source *source, const char *actor_id, gcs_actors_fn fn, void *arg);

/* The contract of gcs.h, always overwriting. A dashboard has no store: `fn` then runs from within
 * the call, without an error, and gets nothing. */
void ray_source_kv_put(struct ray_source *source, const char *space, const char *key,
                       const char *value, gcs_done_fn fn, void *arg);
void ray_source_kv_del(struct ray_source *source, const char *space, const char *key,
                       gcs_done_fn fn, void *arg);
void ray_source_kv_get_all(struct ray_source *source, const char *space, const char *prefix,
                           gcs_kv_fn fn, void *arg);
/* Cancels a GCS's callbacks with this `arg`. */
void ray_source_kv_forget(struct ray_source *source, const void *arg);

/* The client for calls about objects; NULL for a dashboard. It knows the version once
 * ray_source_version() has answered. */
struct object_client *ray_source_objects(struct ray_source *source);
/* The same with a deadline of 2 s, for requests at a stop. */
struct object_client *ray_source_quick_objects(struct ray_source *source);

/* The GCS's client and its connections, for calls that only a GCS answers; NULL for a dashboard. */
struct gcs *ray_source_gcs(struct ray_source *source);
struct rpc *ray_source_rpc(struct ray_source *source);

/* A client of the dashboard at this URL, with the cluster's credentials; the caller destroys it
 * before the source. NULL with `err` set if the URL is none. */
struct dashboard *ray_source_dashboard_at(struct ray_source *source, const char *url,
                                          struct err *err);

/* gcs_core_worker_stats(). For a dashboard `fn` gets an error, from within the call. */
void ray_source_worker_stats(struct ray_source *source, const char *address, const char *worker_id,
                             core_worker_stats_fn fn, void *arg);

/* Asks the marked workers of the view (cluster_view_running.wanted) what they run, some at a time;
 * a dashboard gives the tasks of all workers at once. This does not fail: poll_schedule_answered()
 * handles a worker without an answer; without a dashboard's answer all workers become unknown.
 * After a worker's timeout no other worker of its node is asked, and none at all after many
 * timeouts without one answer. `done` may run from within the call. Do not change the view's
 * workers before it runs. */
void ray_source_running(struct ray_source *source, struct cluster_view *view, loop_fn done,
                        void *arg);

#endif
