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

/* `loop` and `source` are borrowed. `changed` runs after each of the cluster's answers, never from
 * within a call. */
struct directory *directory_create(struct loop *loop, struct source *source, loop_fn changed,
                                   void *arg);
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
/* Workers report their tasks once a second: a task that the cluster has no event of is asked for
 * once more by itself, 1.2 s later; DIRECTORY_NO meanwhile. Whether any is to be. */
bool directory_expects_tasks(const struct directory *directory);
/* Counts the tasks that were found so. */
size_t directory_came_late(const struct directory *directory);
/* The process of a job's driver. */
enum directory_answer directory_driver(struct directory *directory, const char *job_id,
                                       const struct ray_worker **out);
/* The process that an actor lives in, or has lived in. */
enum directory_answer directory_actor_process(struct directory *directory, const char *actor_id,
                                              const struct ray_worker **out);
/* A task of which all but the id's first byte is known: all 256 are asked for, once and for few
 * tasks in a directory's life. */
enum directory_answer directory_guess_task(struct directory *directory, const char *task_id,
                                           const struct ray_task **out);
/* The id of a task that runs: no guess is needed for it. */
void directory_hint(struct directory *directory, const char *task_id);
/* The id that fits one without its first byte, by a hint or a good guess; NULL if none does. */
const char *directory_hinted(const struct directory *directory, const char *task_id);
/* All nodes; `*count` of them. */
enum directory_answer directory_nodes(struct directory *directory, const struct ray_node **out,
                                      size_t *count);

/* How a node is called: its host name, or its ip where several live nodes share that; the id itself
 * if it is not known (yet). Asks nothing. */
const char *directory_node_name(const struct directory *directory, const char *node_id);
/* What is known of a task; NULL if it was not asked, or there is none. Asks nothing. */
const struct ray_task *directory_known_task(const struct directory *directory, const char *task_id);
const struct ray_actor *directory_known_actor(const struct directory *directory,
                                              const char *actor_id);
/* "IP:PORT" of a process's or a raylet's gRPC server, the caller's to free; NULL if it has none. */
char *directory_address(const char *ip, uint16_t port);
/* Why the last question that failed did; "" if none has. */
const char *directory_problem(const struct directory *directory);

#endif
