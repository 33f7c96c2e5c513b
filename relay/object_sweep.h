/* The whole cluster's references, in one look: every raylet is asked for its workers'
 * (GetNodeStats, all in parallel), and what they say is joined: who owns each object, who else
 * refers to it. The model behind `raydbg memory`, raydbg/clusterObjects and the relay's /objects.
 */
#ifndef RAYDBG_RELAY_OBJECT_SWEEP_H
#define RAYDBG_RELAY_OBJECT_SWEEP_H

#include "base/err.h"
#include "proto/object_records.h"
#include "relay/cluster.h"

/* Why a reference exists, in the words of `ray memory`. */
enum object_reference {
    OBJECT_LOCAL_REFERENCE,    /* a variable in that process's Python */
    OBJECT_PINNED_IN_MEMORY,   /* a value in that process uses the object's bytes */
    OBJECT_USED_BY_PENDING,    /* an argument of a task that has not ended */
    OBJECT_CAPTURED_IN_OBJECT, /* another object holds it */
    OBJECT_ACTOR_HANDLE,       /* a handle of an actor, counted as an object */
    OBJECT_REFERENCE_UNKNOWN,
};
/* "LOCAL_REFERENCE", … */
const char *object_reference_name(enum object_reference reference);

struct object_node {
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *ip;
    char *name; /* its host name, or ip where several nodes of the cluster share one */
    bool asked; /* false: the raylet did not answer; `problem` says why, and `store` is not known.
                   Those of its processes that answered by themselves are there all the same */
    char *problem; /* "" if there is none */
    struct ray_store_stats store;
};

struct object_process {
    size_t node; /* index into nodes */
    struct ray_worker_objects *worker;
    char *actor_class; /* "" if it is no actor, or the cluster does not know it */
    char *actor_name;
};

/* One reference: a row of `ray memory`. What a process only keeps for others' sake (it owns the
 * object and has no reference of its own left) is no row, as it is none there. */
struct object_row {
    const struct ray_object_ref *ref;
    uint32_t process; /* index into processes: who holds it */
    int32_t owner;    /* the same of who owns the object; -1: its owner is not among them */
    enum object_reference reference;
    int64_t size; /* the object's, by whoever knows it: its owner does where a borrower, and so
                     `ray memory`, says ref->size -1; -1: nobody does */
};

/* Owns everything in it. */
struct object_sweep {
    int64_t taken_ms; /* epoch */
    struct object_node *nodes;
    size_t node_count;
    struct object_process *processes;
    size_t process_count;
    struct object_row *rows; /* by id, then process: rows of one object are neighbours */
    size_t row_count;
    size_t unanswered; /* nodes whose raylet did not answer */
    /* What was asked afterwards, object_sweep_locate() and object_sweep_name_tasks(). Sorted: by
     * id, and by object_task_compare(). */
    struct ray_object_location *locations;
    size_t location_count;
    struct ray_task *tasks;
    size_t task_count;
    char **call_sites; /* of a sweep that was read from JSON: what its refs' call_site points to */
    size_t call_site_count;
};

/* Asks all. `fn` runs once, never from within; the sweep is the callee's to free. A cluster that
 * could be asked in part is success: nodes[].problem. Needs a GCS address: the dashboard has none
 * of this. */
typedef void (*object_sweep_fn)(void *arg, const struct err *err, struct object_sweep *sweep);
void object_sweep_ask(struct cluster *cluster, object_sweep_fn fn, void *arg);
/* Asks the owners where these rows' objects are (copies, spilled). At most OBJECT_LOCATE_LIMIT
 * objects, the first ones; then fn, with the same sweep and no error: what no owner tells stays
 * unknown. The sweep must live until then, or until it is cancelled. */
#define OBJECT_LOCATE_LIMIT 5000
void object_sweep_locate(struct cluster *cluster, struct object_sweep *sweep,
                         const struct object_row *const *rows, size_t count, object_sweep_fn fn,
                         void *arg);
/* Asks for the tasks that made these rows' objects, each once, the first OBJECT_TASK_LIMIT ones
 * that are not known; the same otherwise. */
#define OBJECT_TASK_LIMIT 2000
void object_sweep_name_tasks(struct cluster *cluster, struct object_sweep *sweep,
                             const struct object_row *const *rows, size_t count, object_sweep_fn fn,
                             void *arg);
/* The callbacks with this `arg` do not run any more; what they would have got is freed, but for a
 * sweep that the caller has given. */
void object_sweep_cancel(struct cluster *cluster, const void *arg);
void object_sweep_free(struct object_sweep **sweep);

/* Pure: joins what was read into rows. Nodes and processes are set. For tests and readers, too. */
void object_sweep_join(struct object_sweep *sweep);

/* All rows of one object: the first one's index, and how many. */
size_t object_sweep_rows_of(const struct object_sweep *sweep, const struct object_id *id,
                            size_t *count);
const struct ray_object_location *object_sweep_location(const struct object_sweep *sweep,
                                                        const struct object_id *id);
/* The task that made it. */
const struct ray_task *object_sweep_task(const struct object_sweep *sweep,
                                         const struct object_id *id);

/* Tasks without their ids' first byte, by which a put does not know its task; then by that. */
int object_task_compare(const void *left, const void *right);
/* Whether a driver has put it, outside of any task; its job then. */
bool object_id_is_drivers(const struct object_id *id, char job_id[ID_TEXT(ID_JOB_BYTES)]);

#endif
