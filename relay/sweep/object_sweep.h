/* The references of the whole cluster, taken at one time: all raylets are asked in parallel for the
 * references of their workers (GetNodeStats), and the answers are joined: which process owns each
 * object, and which others refer to it. The model behind `raydbg memory`, raydbg/clusterObjects and
 * the relay's /objects. */
#ifndef RAYDBG_RELAY_SWEEP_OBJECT_SWEEP_H
#define RAYDBG_RELAY_SWEEP_OBJECT_SWEEP_H

#include "base/err.h"
#include "proto/object_records.h"
#include "relay/cluster/cluster.h"

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
    char *name; /* its host name, or its ip if several nodes share the name */
    /* False: the raylet did not answer; `problem` says why, and `store` is unknown. Those of its
     * processes that answered by themselves are in `processes` all the same. */
    bool asked;
    char *problem; /* "" if there is none */
    struct ray_store_stats store;
};

struct object_process {
    size_t node; /* index into nodes */
    struct ray_worker_objects *worker;
    char *actor_class; /* "" if it is no actor, or an unknown one */
    char *actor_name;
};

/* One reference, like a row of `ray memory`. A process that owns an object and has no reference of
 * its own left, but keeps the entry for others that refer to it, gives no row, here as there. */
struct object_row {
    const struct ray_object_ref *ref;
    uint32_t process; /* index into processes: the one that holds it */
    int32_t owner;    /* index into processes: the object's owner; -1: it is not among them */
    enum object_reference reference;
    /* The object's size, from any process that knows it; -1: none does. The owner knows it where a
     * borrower has ref->size -1, which `ray memory` shows. */
    int64_t size;
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
    /* Filled in afterwards by object_sweep_locate() and object_sweep_name_tasks(). Sorted by id,
     * and by object_task_compare(). */
    struct ray_object_location *locations;
    size_t location_count;
    struct ray_task *tasks;
    size_t task_count;
    char **call_sites; /* of a sweep that was read from JSON: the texts of its refs' call_site */
    size_t call_site_count;
};

/* Takes a sweep. `fn` runs once, never from within the call; the sweep is the callee's to free. If
 * a part of the cluster answered, that is success: nodes[].problem. Needs a GCS address: a
 * dashboard has no such data. */
typedef void (*object_sweep_fn)(void *arg, const struct err *err, struct object_sweep *sweep);
void object_sweep_take(struct cluster *cluster, object_sweep_fn fn, void *arg);
/* Asks the owners where these rows' objects are (copies, spilled): at most OBJECT_LOCATE_LIMIT
 * objects, the first ones. Then `fn` runs with the same sweep and no error: locations that no owner
 * reports stay unknown. The sweep must live until then, or until it is cancelled. */
#define OBJECT_LOCATE_LIMIT 5000
void object_sweep_locate(struct cluster *cluster, struct object_sweep *sweep,
                         const struct object_row *const *rows, size_t count, object_sweep_fn fn,
                         void *arg);
/* Asks for the tasks that made these rows' objects: each once, and the first OBJECT_TASK_LIMIT
 * unknown ones. Otherwise like object_sweep_locate(). */
#define OBJECT_TASK_LIMIT 2000
void object_sweep_name_tasks(struct cluster *cluster, struct object_sweep *sweep,
                             const struct object_row *const *rows, size_t count, object_sweep_fn fn,
                             void *arg);
/* Callbacks with this `arg` do not run after it; their results are freed, except a sweep that the
 * caller has given. */
void object_sweep_cancel(struct cluster *cluster, const void *arg);
void object_sweep_free(struct object_sweep **sweep);

/* Makes the rows from nodes and processes, which are set. Pure; also for tests and readers. */
void object_sweep_join(struct object_sweep *sweep);

/* All rows of one object: the first one's index, and how many. */
size_t object_sweep_rows_of(const struct object_sweep *sweep, const struct object_id *id,
                            size_t *count);
const struct ray_object_location *object_sweep_location(const struct object_sweep *sweep,
                                                        const struct object_id *id);
/* The task that made the object; NULL if it is unknown. */
const struct ray_task *object_sweep_task(const struct object_sweep *sweep,
                                         const struct object_id *id);

/* Orders tasks by their ids without the first byte, which a put's id lacks, and then by that
 * byte. */
int object_task_compare(const void *left, const void *right);
/* True if a driver has put it outside any task; `job_id` is then the driver's job. */
bool object_id_is_drivers(const struct object_id *id, char job_id[ID_TEXT(ID_JOB_BYTES)]);

#endif
