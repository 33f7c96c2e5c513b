/* The records that Ray gave of a cluster, and the pauses that follow from them. Pure. */
#ifndef RAYDBG_RELAY_CLUSTER_CLUSTER_VIEW_H
#define RAYDBG_RELAY_CLUSTER_CLUSTER_VIEW_H

#include "base/hash_index.h"
#include "proto/records.h"
#include "relay/pause/pause.h"

/* The tasks that one worker runs, by its last answer. */
struct cluster_view_running {
    bool known; /* false: the worker has not answered since its record last changed */
    struct ray_worker_stats stats;
    bool wanted; /* this refresh is to ask it */
    bool dead;   /* its raylet said so, and its record may never say so: it has no pause */
    /* For poll_schedule: the worker's record when it was last asked; 0 before. */
    bool asked;
    bool moved; /* its record has changed since its last answer */
    uint16_t debugger_port;
    int64_t paused_threads;
    int64_t again_us;
    unsigned failures; /* in a row */
};

/* An index from id to row, for the first `count` rows of an array. */
struct cluster_view_ids {
    struct hash_index ids;
    size_t count;
};

/* Owns everything in it. All zero is an empty view. Rows may be appended to the arrays; after any
 * other direct change, call cluster_view_forget_ids(). */
struct cluster_view {
    struct ray_worker *workers;
    size_t worker_count;
    struct cluster_view_running
        *running;           /* one for each worker, in their order; NULL: no worker was asked */
    struct ray_task *tasks; /* the known tasks, from this refresh and earlier ones */
    size_t task_count, task_room;
    struct ray_actor *actors;
    size_t actor_count;
    struct ray_node *nodes;
    size_t node_count;
    struct ray_job *jobs;
    size_t job_count;
    struct ray_pdb *pdbs;
    size_t pdb_count;
    /* Built by the look-ups on demand. */
    struct cluster_view_ids worker_ids, task_ids, actor_ids, node_ids, job_ids;
};

void cluster_view_clear(struct cluster_view *view);

/* True for a live worker whose debugger is open. */
bool cluster_view_has_debugger(const struct ray_worker *worker);
/* True if the worker's node is known to be dead. Ray leaves the records of that node's workers
 * unchanged. */
bool cluster_view_node_is_dead(const struct cluster_view *view, const struct ray_worker *worker);
/* Marks the workers of dead nodes as dead; call it after new records of workers or nodes. */
void cluster_view_bury_workers(struct cluster_view *view);

const struct ray_worker *cluster_view_worker(const struct cluster_view *view,
                                             const char *worker_id);
const struct ray_task *cluster_view_task(const struct cluster_view *view, const char *task_id);
const struct ray_actor *cluster_view_actor(const struct cluster_view *view, const char *actor_id);
const struct ray_node *cluster_view_node(const struct cluster_view *view, const char *node_id);
const struct ray_job *cluster_view_job(const struct cluster_view *view, const char *job_id);

/* The job of a driver, by its id or, if that is empty, by the driver's process. */
const struct ray_job *cluster_view_driver_job(const struct cluster_view *view,
                                              const struct ray_worker *worker, const char *job_id);

/* Drops all indexes; call it after replacing or moving rows of an array. */
void cluster_view_forget_ids(struct cluster_view *view);
void cluster_view_ids_clear(struct cluster_view_ids *ids); /* drops one index */

/* Take over the records and replace the earlier ones. What a known worker runs is kept. */
void cluster_view_set_workers(struct cluster_view *view, struct ray_worker *workers, size_t count);
void cluster_view_set_actors(struct cluster_view *view, struct ray_actor *actors, size_t count);
void cluster_view_set_nodes(struct cluster_view *view, struct ray_node *nodes, size_t count);
void cluster_view_set_jobs(struct cluster_view *view, struct ray_job *jobs, size_t count);
void cluster_view_set_pdbs(struct cluster_view *view, struct ray_pdb *pdbs, size_t count);

/* Take over the records of some workers, or actors, and leave the others unchanged. */
void cluster_view_put_workers(struct cluster_view *view, struct ray_worker *workers, size_t count);
void cluster_view_put_actors(struct cluster_view *view, struct ray_actor *actors, size_t count);

/* Takes over the records of all waiting workers. Calls `left` for each other worker that waited
 * before and apparently no longer does; the caller asks for its record. */
void cluster_view_put_waiting(struct cluster_view *view, struct ray_worker *workers, size_t count,
                              void (*left)(void *arg, const char *worker_id), void *arg);

/* Takes over the records; a known task is replaced. */
void cluster_view_add_tasks(struct cluster_view *view, struct ray_task *tasks, size_t count);
/* Drops the tasks that no worker runs and no pdb entry names. */
void cluster_view_drop_tasks(struct cluster_view *view);
/* Drops the actors that no worker, task or pdb entry names. */
void cluster_view_drop_actors(struct cluster_view *view);

/* Calls fn for each task id that a pause of this view is about, once for each mention. */
void cluster_view_each_task_id(const struct cluster_view *view,
                               void (*fn)(void *arg, const char *task_id), void *arg);

/* One pause for each live worker with a debugger and each pdb entry that is not stale, sorted by
 * node address, pid and port. */
void cluster_view_pauses(const struct cluster_view *view, struct pause_list *out);

enum death_kind {
    DEATH_UNKNOWN,  /* it lives, or nothing is known of its end */
    DEATH_ORDINARY, /* its job was over, it was idle, …: no failure */
    DEATH_OTHER,
};
/* "worker pid 7 on 10.0.0.7 died: SYSTEM_ERROR: …", "worker pid 7 on 10.0.0.7 went with its node,
 * which Ray declared dead at 12:00:03 UTC: …" (the caller frees), or NULL with DEATH_UNKNOWN. */
char *cluster_view_death_cause(const struct cluster_view *view, const char *worker_id,
                               enum death_kind *kind);

#endif
