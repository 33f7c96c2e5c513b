/* The inside of a cluster: cluster.c has its life and public functions, cluster_refresh.c a
 * refresh. */
#ifndef RAYDBG_RELAY_CLUSTER_CLUSTER_STATE_H
#define RAYDBG_RELAY_CLUSTER_CLUSTER_STATE_H

#include "base/invariant.h"
#include "relay/cluster/backoff.h"
#include "relay/cluster/cluster.h"
#include "relay/cluster/cluster_view.h"
#include "relay/cluster/ray_source.h"

/* A refresh goes through stages. Each makes several requests at once and ends when all are
 * answered. WORKERS asks for the workers and pdb entries, and for the version and the nodes if they
 * are unknown or old; RUNNING asks the workers with an open debugger what they run, and then for
 * the version if it has become old; TASKS asks for the tasks, and for actors, jobs and nodes that
 * have become unknown. */
enum stage { STAGE_IDLE, STAGE_WORKERS, STAGE_RUNNING, STAGE_TASKS };

struct waiter {
    struct waiter *next;
    cluster_done_fn fn;
    void *arg;
};

struct death_query {
    struct death_query *next;
    struct cluster *cluster;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    bool single;               /* has a call of its own instead of waiting for a refresh */
    bool refreshed;            /* if not `single`: the refresh has ended */
    bool thorough;             /* ask the worker's raylet, too, if the cluster knows nothing */
    struct err err;            /* the cluster's; code 0: it answered */
    struct err raylet;         /* the raylet's; code 0: it answered, or was not asked */
    cluster_death_cause_fn fn; /* NULL: cancelled */
    void *arg;
};

struct cluster {
    uint32_t magic;
    struct loop *loop;
    struct cluster_address address;
    struct ray_source *source;
    struct cluster_view view;
    struct pause_list pauses;
    struct cluster_facts facts;
    enum stage stage;
    size_t outstanding;
    struct err err; /* of this refresh; code 0 for none */
    bool version_known, nodes_known, jobs_known;
    bool jobs_asked; /* by cluster_renew_jobs() */
    int64_t jobs_us;
    /* The records of all workers as they came, until keep_fresh() moves some to the view. */
    struct ray_worker *fresh;
    size_t fresh_count;
    bool fresh_told;
    int64_t all_us; /* when all workers were last fetched, and how many they were */
    size_t all_count;
    int64_t look_us, took_us; /* when the refresh began, and how long the last one took */
    size_t waiting;           /* number of rows in the last list of waiting workers */
    int64_t nodes_us;         /* when all nodes were last fetched */
    int64_t silent_us;        /* since when the cluster has not answered; 0: it answers */
    size_t left;              /* number of workers that this refresh found no longer waiting */
    struct backoff task_retry, other_retry;
    struct waiter *waiters;
    struct waiter *told; /* waiters of the ended refresh, while their callbacks run */
    struct death_query *death_queries;
    struct cluster_part *parts; /* the last part added is first */
};
INVARIANT_MAGIC(cluster, 0x3cfebfb7)
#define cluster_checked(object) cluster_checked_at(INVARIANT_HERE, object)

/* cluster_refresh.c: begins a refresh. cluster_refresh_ended() follows, never from within the call.
 */
void cluster_refresh_begin(struct cluster *cluster);
/* cluster.c: ends a refresh; `cluster->err` has its error. */
void cluster_refresh_ended(struct cluster *cluster);
/* Updates `silent_us`; `err` is NULL if the cluster answered. Only ERR_UNREACHABLE counts as
 * silence. */
void cluster_note_answer(struct cluster *cluster, const struct err *err);

#endif
