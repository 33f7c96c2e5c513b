/* The inside of a record_cache, for its files: record_cache.c (everything except tasks) and
 * record_cache_tasks.c. */
#ifndef RAYDBG_RELAY_CLUSTER_RECORD_CACHE_STATE_H
#define RAYDBG_RELAY_CLUSTER_RECORD_CACHE_STATE_H

#include "base/invariant.h"
#include "relay/cluster/object_id_map.h"
#include "relay/cluster/record_cache.h"

enum { HINTS_MAX = 64 };

enum known { UNASKED, ASKING, KNOWN, FAILED };

/* A task that was asked for, and its answer. */
struct record_cache_task {
    struct record_cache *records;
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    enum known known;
    struct ray_task *record; /* an array of one; NULL if there is none */
    bool guessed;            /* a guessed id: most likely there is no such task */
    bool late;               /* the first answer was empty; the second is pending */
    int64_t late_us;         /* when the first answer came; INT64_MAX once asked again */
};

struct hint {
    char task_id[ID_TEXT(ID_TASK_BYTES)]; /* the whole id if `found` */
    bool found;
    bool tried; /* all first bytes were tried */
};

struct record_cache {
    uint32_t magic;
    struct loop *loop;
    struct ray_source *source;
    loop_fn changed;
    void *arg;
    enum known workers_known, nodes_known, actors_known, jobs_known, version_known;
    /* All sorted by id. */
    struct ray_worker *workers;
    size_t worker_count;
    struct ray_node *nodes;
    const char **node_names; /* of `nodes`, for record_cache_node_name() */
    size_t node_count;
    struct named_node *named_nodes; /* those that were given out */
    struct ray_actor *actors;
    size_t actor_count;
    struct ray_job *jobs;
    size_t job_count;
    struct record_cache_task **tasks;
    size_t task_count, asked; /* the tasks before `asked` were asked for */
    size_t in_flight;
    size_t late, came_late;
    struct timer *again; /* asks again for late tasks */
    struct object_id_map by_task;
    struct hint hints[HINTS_MAX];
    size_t hint_count, next_hint, guesses;
    char problem[512];
};
INVARIANT_MAGIC(record_cache, 0xc02373ab)
#define record_cache_checked(object) record_cache_checked_at(INVARIANT_HERE, object)

/* The state after an answer, KNOWN or FAILED; keeps the error's text. */
enum known record_cache_note(struct record_cache *records, const struct err *err);
/* Asks for the version unless it is known and not old: requests for tasks, and to workers about
 * objects, need it. */
void record_cache_ask_version(struct record_cache *records);

/* record_cache_tasks.c. */
void record_cache_ask_tasks(struct record_cache *records);
/* Keeps only tasks that a worker has run: they cannot change. */
void record_cache_renew_tasks(struct record_cache *records);
void record_cache_drop_tasks(struct record_cache *records);

#endif
