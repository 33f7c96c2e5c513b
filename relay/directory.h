/* What the cluster says of its nodes, workers, jobs, actors and tasks, each asked when it is first
 * wanted and kept until it is renewed. For a cluster that is reached by its GCS. Everything runs on
 * the loop's thread. */
#ifndef RAYDBG_RELAY_DIRECTORY_H
#define RAYDBG_RELAY_DIRECTORY_H

#include "relay/loop.h"
#include "relay/source.h"

struct directory;

enum directory_answer {
    DIRECTORY_WAIT, /* it is asked; `changed` runs when there is more */
    DIRECTORY_YES,
    DIRECTORY_NO, /* the cluster has none, or does not say: directory_problem() */
};

/* `source` is borrowed. `changed` runs after each of the cluster's answers, never from within a
 * call. */
struct directory *directory_create(struct source *source, loop_fn changed, void *arg);
void directory_destroy(struct directory **directory);

/* From here on what may have changed is asked again: workers, nodes, actors, tasks that nobody ran
 * yet. Records that were given are not valid any more. */
void directory_renew(struct directory *directory);

/* Ids in hex; `*out` is set with DIRECTORY_YES only. */
enum directory_answer directory_worker(struct directory *directory, const char *worker_id,
                                       const struct ray_worker **out);
enum directory_answer directory_node(struct directory *directory, const char *node_id,
                                     const struct ray_node **out);
enum directory_answer directory_actor(struct directory *directory, const char *actor_id,
                                      const struct ray_actor **out);
enum directory_answer directory_task(struct directory *directory, const char *task_id,
                                     const struct ray_task **out);
/* The process of a job's driver. */
enum directory_answer directory_driver(struct directory *directory, const char *job_id,
                                       const struct ray_worker **out);
/* All nodes; `*count` of them. */
enum directory_answer directory_nodes(struct directory *directory, const struct ray_node **out,
                                      size_t *count);

/* Whether a task id is a driver's own, which runs what is not in any task; its job's id then. */
bool directory_is_driver_task(const char *task_id, char job_id[ID_TEXT(ID_JOB_BYTES)]);

/* How a node is called: its host name, or its ip where several live nodes share that; the id itself
 * if it is not known (yet). Asks nothing. */
const char *directory_node_name(const struct directory *directory, const char *node_id);
/* What is known of a task; NULL if it was not asked, or there is none. Asks nothing. */
const struct ray_task *directory_known_task(const struct directory *directory, const char *task_id);
/* Why the last question that failed did; "" if none has. */
const char *directory_problem(const struct directory *directory);

#endif
