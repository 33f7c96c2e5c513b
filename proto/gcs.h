/* Typed, version-correct calls to Ray's GCS and to a core worker.
 *
 * Never harm the cluster: an id of the wrong length in a filter kills the GCS process (Ray 2.40,
 * 2.60), so ids go in as hex text that is checked here, and a filter is only sent once the version
 * is known (docs/facts/ray.md#0.1). All callbacks run on the loop's thread, exactly once; `err` is
 * NULL on success; records given to a callback are the callee's to free. */
#ifndef RAYDBG_PROTO_GCS_H
#define RAYDBG_PROTO_GCS_H

#include "proto/records.h"
#include "proto/rpc.h"

struct gcs;

/* `address` is "HOST:PORT". The rpc is borrowed and must outlive the gcs. */
struct gcs *gcs_create(struct rpc *rpc, const char *address, int64_t deadline_ms);
void gcs_destroy(struct gcs **gcs); /* callbacks in flight are dropped, not run */

/* Reads KV cluster/CLUSTER_METADATA. Call this first: gcs_task() and others use the version. Call
 * it again when another cluster may be at the address. A cluster without a version is not an error:
 * the callback gets all 0 and "", and gcs_task() refuses, as it does after an error. */
typedef void (*gcs_version_fn)(void *arg, const struct err *err, struct ray_version version,
                               const char *ray_version, const char *python_version);
void gcs_version(struct gcs *gcs, gcs_version_fn fn, void *arg);

/* GetAllWorkerInfo, unfiltered: a filter would hide workers that a client has attached to. Takes
 * time linear in all workers that the cluster has, or had. */
typedef void (*gcs_workers_fn)(void *arg, const struct err *err, struct ray_worker *workers,
                               size_t count);
void gcs_workers(struct gcs *gcs, gcs_workers_fn fn, void *arg);
/* Only live workers with a thread that waits for a debugger; all workers if gcs_tells_waiting() is
 * false, as it is before gcs_version() has answered. */
void gcs_waiting_workers(struct gcs *gcs, gcs_workers_fn fn, void *arg);
bool gcs_tells_waiting(const struct gcs *gcs);
/* GetWorkerInfo: one worker, alive or dead, or none if the cluster never had it. Refuses an id that
 * is not 56 hex digits. */
void gcs_worker(struct gcs *gcs, const char *worker_id, gcs_workers_fn fn, void *arg);

/* GetTaskEvents for one id (the only indexed filter). `count` is 0 if the GCS has no event yet; of
 * several attempts the callback gets the latest. Refuses (an error, nothing is sent) an id that is
 * not 48 hex digits, or a call before gcs_version() has answered. */
typedef void (*gcs_tasks_fn)(void *arg, const struct err *err, struct ray_task *tasks,
                             size_t count);
void gcs_task(struct gcs *gcs, const char *task_id, gcs_tasks_fn fn, void *arg);

typedef void (*gcs_actors_fn)(void *arg, const struct err *err, struct ray_actor *actors,
                              size_t count);
void gcs_actors(struct gcs *gcs, gcs_actors_fn fn, void *arg);
/* GetActorInfo: one actor, or none. Refuses an id that is not 32 hex digits. */
void gcs_actor(struct gcs *gcs, const char *actor_id, gcs_actors_fn fn, void *arg);

typedef void (*gcs_nodes_fn)(void *arg, const struct err *err, struct ray_node *nodes,
                             size_t count);
void gcs_nodes(struct gcs *gcs, gcs_nodes_fn fn, void *arg);

typedef void (*gcs_jobs_fn)(void *arg, const struct err *err, struct ray_job *jobs, size_t count);
void gcs_jobs(struct gcs *gcs, gcs_jobs_fn fn, void *arg);

/* The entries of the legacy debugger: gets the keys of "ray_pdb", then each value. */
typedef void (*gcs_pdbs_fn)(void *arg, const struct err *err, struct ray_pdb *pdbs, size_t count);
void gcs_pdbs(struct gcs *gcs, gcs_pdbs_fn fn, void *arg);

/* The GCS's key-value store. Strings are copied. */
typedef void (*gcs_done_fn)(void *arg, const struct err *err);
void gcs_kv_put(struct gcs *gcs, const char *space, const char *key, const char *value,
                bool overwrite, gcs_done_fn fn, void *arg);
/* A missing key is not an error. */
void gcs_kv_del(struct gcs *gcs, const char *space, const char *key, gcs_done_fn fn, void *arg);

/* Borrowed for the callback; `value` is followed by a NUL. */
struct gcs_kv {
    char *key;
    char *value;
    size_t len;
};
/* Gets the keys with a prefix, then each value; leaves out entries that are deleted meanwhile. */
typedef void (*gcs_kv_fn)(void *arg, const struct err *err, const struct gcs_kv *entries,
                          size_t count);
void gcs_kv_get_all(struct gcs *gcs, const char *space, const char *prefix, gcs_kv_fn fn,
                    void *arg);

/* Drops the calls with this `arg`: their callbacks do not run. */
void gcs_forget(struct gcs *gcs, const void *arg);

/* GetCoreWorkerStats(include_task_info, limit=0) from the worker at "IP:PORT"; both numberings of
 * CoreWorkerStats are understood. An answer from another worker (another worker_id: the port was
 * reused) is an error. */
typedef void (*core_worker_stats_fn)(void *arg, const struct err *err,
                                     struct ray_worker_stats *stats /* callee clears and frees */);
void gcs_core_worker_stats(struct gcs *gcs, const char *address, const char *worker_id,
                           core_worker_stats_fn fn, void *arg);

/* IsLocalWorkerDead: what the raylet at "IP:PORT" says of a worker of its node. A raylet of
 * Ray <= 2.36 does not know the call, which is an error. */
typedef void (*worker_is_dead_fn)(void *arg, const struct err *err, bool dead);
void gcs_worker_is_dead(struct gcs *gcs, const char *raylet, const char *worker_id,
                        worker_is_dead_fn fn, void *arg);

#endif
