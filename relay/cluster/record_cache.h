/* A cache of the cluster's nodes, workers, jobs, actors and tasks. Each is asked for when it is
 * first wanted and kept until it is renewed. Only for a cluster that is reached by its GCS.
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_CLUSTER_RECORD_CACHE_H
#define RAYDBG_RELAY_CLUSTER_RECORD_CACHE_H

#include "relay/cluster/ray_source.h"
#include "relay/io/loop.h"

struct record_cache;

enum record_cache_answer {
    RECORD_CACHE_WAIT, /* asked for; `changed` runs after each answer */
    RECORD_CACHE_YES,
    RECORD_CACHE_NO, /* the cluster has none, or the request failed: record_cache_problem() */
};

/* `loop` and `source` are borrowed. `changed` runs after each of the cluster's answers, never from
 * within a call. */
struct record_cache *record_cache_create(struct loop *loop, struct ray_source *source,
                                         loop_fn changed, void *arg);
void record_cache_destroy(struct record_cache **records);

/* From here on, records that may have changed are asked for again: workers, nodes, actors, jobs,
 * and tasks that no worker had run. Invalidates the records given so far. */
void record_cache_renew(struct record_cache *records);

/* Ids in hex; `*out` is valid with RECORD_CACHE_YES only. */
enum record_cache_answer record_cache_worker(struct record_cache *records, const char *worker_id,
                                             const struct ray_worker **out);
enum record_cache_answer record_cache_node(struct record_cache *records, const char *node_id,
                                           const struct ray_node **out);
enum record_cache_answer record_cache_actor(struct record_cache *records, const char *actor_id,
                                            const struct ray_actor **out);
enum record_cache_answer record_cache_task(struct record_cache *records, const char *task_id,
                                           const struct ray_task **out);
/* Workers report their tasks once a second: a task that the cluster has no event of is asked for
 * once more, 1.2 s later, and is RECORD_CACHE_NO until then. True while there is such a task. */
bool record_cache_expects_tasks(const struct record_cache *records);
/* The number of tasks that the second request found. */
size_t record_cache_came_late(const struct record_cache *records);
/* The process of a job's driver. */
enum record_cache_answer record_cache_driver(struct record_cache *records, const char *job_id,
                                             const struct ray_worker **out);
/* The process that an actor lives or lived in. */
enum record_cache_answer record_cache_actor_process(struct record_cache *records,
                                                    const char *actor_id,
                                                    const struct ray_worker **out);
/* Finds a task by an id whose first byte is not known: asks for all 256, once per task and for few
 * tasks in a cache's life. */
enum record_cache_answer record_cache_guess_task(struct record_cache *records, const char *task_id,
                                                 const struct ray_task **out);
/* Takes the id of a running task, for which no guess is then needed. */
void record_cache_hint(struct record_cache *records, const char *task_id);
/* The whole id for one whose first byte is not known, from a hint or a guess that was right; NULL
 * if there is none. */
const char *record_cache_hinted(const struct record_cache *records, const char *task_id);
/* All nodes; `*count` is their number. */
enum record_cache_answer record_cache_nodes(struct record_cache *records,
                                            const struct ray_node **out, size_t *count);

/* A node's name: its host name, or its ip if several live nodes share the host name; the id itself
 * if the node is not known (yet). Asks nothing. */
const char *record_cache_node_name(const struct record_cache *records, const char *node_id);
/* A node whose name is always the newest: record_cache_node_name() without a search. */
struct named_node {
    struct named_node *next; /* for the cache */
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    const char *name;
};
/* The node with its name, until the cache is destroyed; one for each id. Asks nothing. */
const struct named_node *record_cache_named_node(struct record_cache *records, const char *node_id);
/* A task's record; NULL if it was not asked for, or there is none. Asks nothing. */
const struct ray_task *record_cache_known_task(const struct record_cache *records,
                                               const char *task_id);
const struct ray_actor *record_cache_known_actor(const struct record_cache *records,
                                                 const char *actor_id);
/* "IP:PORT" of a process's or a raylet's gRPC server, the caller's to free; NULL if it has none. */
char *record_cache_address(const char *ip, uint16_t port);
/* The error of the last failed request since record_cache_renew(); "" if none failed. */
const char *record_cache_problem(const struct record_cache *records);

#endif
