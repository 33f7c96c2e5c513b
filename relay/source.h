/* Where a cluster's records come from: the GCS, or the dashboard. One interface for both. */
#ifndef RAYDBG_RELAY_SOURCE_H
#define RAYDBG_RELAY_SOURCE_H

#include "proto/gcs.h"
#include "proto/object_client.h"
#include "relay/address.h"
#include "relay/loop.h"
#include "relay/view.h"

struct source;

struct source *source_create(struct loop *loop, const struct address *address, struct err *err);
/* Callbacks that have not run are dropped. */
void source_destroy(struct source **source);

/* As in gcs.h; the dashboard has no pdb entries, and no single tasks: those give none. */
void source_version(struct source *source, gcs_version_fn fn, void *arg);
void source_workers(struct source *source, gcs_workers_fn fn, void *arg);
void source_nodes(struct source *source, gcs_nodes_fn fn, void *arg);
void source_actors(struct source *source, gcs_actors_fn fn, void *arg);
void source_jobs(struct source *source, gcs_jobs_fn fn, void *arg);
void source_pdbs(struct source *source, gcs_pdbs_fn fn, void *arg);
void source_task(struct source *source, const char *task_id, gcs_tasks_fn fn, void *arg);

/* Whether the cluster tells of single workers and actors, and of those workers that wait, so that
 * these may be called: a GCS of Ray 2.36 or later, once source_version() has answered. */
bool source_tells_single(const struct source *source);
void source_waiting_workers(struct source *source, gcs_workers_fn fn, void *arg);
void source_worker(struct source *source, const char *worker_id, gcs_workers_fn fn, void *arg);
void source_actor(struct source *source, const char *actor_id, gcs_actors_fn fn, void *arg);

/* As in gcs.h, always overwriting. The dashboard has no store: there `fn` runs from within, without
 * an error, and gets nothing. */
void source_kv_put(struct source *source, const char *space, const char *key, const char *value,
                   gcs_done_fn fn, void *arg);
void source_kv_del(struct source *source, const char *space, const char *key, gcs_done_fn fn,
                   void *arg);
void source_kv_get_all(struct source *source, const char *space, const char *prefix, gcs_kv_fn fn,
                       void *arg);
/* A GCS's callbacks with this `arg` do not run any more. */
void source_kv_forget(struct source *source, const void *arg);

/* Who to ask about objects; NULL for a dashboard, which cannot be asked. It knows the version once
 * source_version() has answered. */
struct object_client *source_objects(struct source *source);
/* The same for who looks at a stop: whoever does not answer within 2 s is not waited for. */
struct object_client *source_quick_objects(struct source *source);

/* core_worker_stats(); a dashboard gives an error, from within. */
void source_worker_stats(struct source *source, const char *address, const char *worker_id,
                         core_worker_stats_fn fn, void *arg);

/* Asks the workers of the view that are wanted (view_running.wanted) what they run, some at a time;
 * a dashboard tells all, and the tasks with it. What is not told becomes unknown: this does not
 * fail. The workers of a node that does not answer, and all of them if none does, are waited for
 * once. `done` may run from within. The view's workers must not be changed before. */
void source_running(struct source *source, struct view *view, loop_fn done, void *arg);

#endif
