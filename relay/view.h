/* One look at a cluster: the records that Ray gave, and the pauses that follow from them. Pure. */
#ifndef RAYDBG_RELAY_VIEW_H
#define RAYDBG_RELAY_VIEW_H

#include "proto/records.h"
#include "relay/pause.h"

/* What one worker runs. */
struct view_running {
    bool known; /* false: the worker did not answer */
    struct ray_worker_stats stats;
};

/* Owns everything in it. All zero is an empty view. */
struct view {
    struct ray_worker *workers;
    size_t worker_count;
    struct view_running
        *running;           /* one for each worker, in their order; NULL before it was asked */
    struct ray_task *tasks; /* what is known of task ids, from this look and earlier ones */
    size_t task_count;
    struct ray_actor *actors;
    size_t actor_count;
    struct ray_node *nodes;
    size_t node_count;
    struct ray_job *jobs;
    size_t job_count;
    struct ray_pdb *pdbs;
    size_t pdb_count;
};

void view_clear(struct view *view);

/* A live worker whose debugger is open. */
bool view_has_debugger(const struct ray_worker *worker);

const struct ray_worker *view_worker(const struct view *view, const char *worker_id);
const struct ray_task *view_task(const struct view *view, const char *task_id);
const struct ray_actor *view_actor(const struct view *view, const char *actor_id);
const struct ray_node *view_node(const struct view *view, const char *node_id);
const struct ray_job *view_job(const struct view *view, const char *job_id);

/* Takes over the records; a task that is known already is replaced. */
void view_add_tasks(struct view *view, struct ray_task *tasks, size_t count);
/* Drops the tasks that no worker runs any more and no pdb entry names. */
void view_drop_tasks(struct view *view);

/* Calls fn for each task id that a pause of this view is about, once for each mention. */
void view_each_task_id(const struct view *view, void (*fn)(void *arg, const char *task_id),
                       void *arg);

/* A pause for each live worker with a debugger, and each pdb entry that is not stale, by node, then
 * pid. */
void view_pauses(const struct view *view, struct pause_list *out);

/* "worker pid 7 on 10.0.0.7 died: SYSTEM_ERROR: …" (the caller frees), or NULL if the worker lives
 * or is not known. */
char *view_fate(const struct view *view, const char *worker_id);

#endif
