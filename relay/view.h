/* One look at a cluster: the records that Ray gave, and the pauses that follow from them. Pure. */
#ifndef RAYDBG_RELAY_VIEW_H
#define RAYDBG_RELAY_VIEW_H

#include "base/hash_index.h"
#include "proto/records.h"
#include "relay/pause.h"

/* What one worker runs, as it said when it was asked last. */
struct view_running {
    bool known; /* false: the worker has not answered since its record is as it is */
    struct ray_worker_stats stats;
    bool wanted; /* it is to be asked in this look */
    /* For who decides when to ask again: its record when it was asked, 0 and nothing before. */
    bool asked;
    bool moved; /* its record has changed since its last answer */
    uint16_t debugger_port;
    int64_t paused_threads;
    int64_t again_us;
    unsigned failures; /* in a row */
};

/* Where in an array an id is, for the first `count` of its rows. */
struct view_ids {
    struct hash_index ids;
    size_t count;
};

/* Owns everything in it. All zero is an empty view. Rows may be appended to the arrays; who does
 * anything else to one calls the function for it, or view_forget_ids(). */
struct view {
    struct ray_worker *workers;
    size_t worker_count;
    struct view_running
        *running;           /* one for each worker, in their order; NULL before it was asked */
    struct ray_task *tasks; /* what is known of task ids, from this look and earlier ones */
    size_t task_count, task_room;
    struct ray_actor *actors;
    size_t actor_count;
    struct ray_node *nodes;
    size_t node_count;
    struct ray_job *jobs;
    size_t job_count;
    struct ray_pdb *pdbs;
    size_t pdb_count;
    /* Made by the look-ups as they need them. */
    struct view_ids worker_ids, task_ids, actor_ids, node_ids, job_ids;
};

void view_clear(struct view *view);

/* A live worker whose debugger is open. */
bool view_has_debugger(const struct ray_worker *worker);

const struct ray_worker *view_worker(const struct view *view, const char *worker_id);
const struct ray_task *view_task(const struct view *view, const char *task_id);
const struct ray_actor *view_actor(const struct view *view, const char *actor_id);
const struct ray_node *view_node(const struct view *view, const char *node_id);
const struct ray_job *view_job(const struct view *view, const char *job_id);

/* Rows were replaced or moved within an array. */
void view_forget_ids(struct view *view);
void view_ids_clear(struct view_ids *ids); /* of one array */

/* Take over the records, in place of those before. What a worker runs stays known. */
void view_set_workers(struct view *view, struct ray_worker *workers, size_t count);
void view_set_actors(struct view *view, struct ray_actor *actors, size_t count);
void view_set_nodes(struct view *view, struct ray_node *nodes, size_t count);
void view_set_jobs(struct view *view, struct ray_job *jobs, size_t count);
void view_set_pdbs(struct view *view, struct ray_pdb *pdbs, size_t count);

/* Takes over the records of some workers, or actors, and leaves the others as they are. */
void view_put_workers(struct view *view, struct ray_worker *workers, size_t count);
void view_put_actors(struct view *view, struct ray_actor *actors, size_t count);

/* Takes over the records of all workers that wait. `left` is called for each other one that waited
 * before and, as far as is known, does not any more: what became of it is to be asked. */
void view_put_waiting(struct view *view, struct ray_worker *workers, size_t count,
                      void (*left)(void *arg, const char *worker_id), void *arg);

/* Takes over the records; a task that is known already is replaced. */
void view_add_tasks(struct view *view, struct ray_task *tasks, size_t count);
/* Drops the tasks that no worker runs any more and no pdb entry names. */
void view_drop_tasks(struct view *view);
/* Drops the actors that no pause is of. */
void view_drop_actors(struct view *view);

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
