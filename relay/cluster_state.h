/* The inside of a cluster: cluster.c is its life and its public side, cluster_look.c a refresh. */
#ifndef RAYDBG_RELAY_CLUSTER_STATE_H
#define RAYDBG_RELAY_CLUSTER_STATE_H

#include "relay/cluster.h"
#include "relay/retry.h"
#include "relay/source.h"
#include "relay/view.h"

/* A refresh goes through stages; each asks several things at once and ends when all are answered:
 * the workers and what is not known yet of version, nodes, actors and jobs; what the workers with
 * an open debugger run; the tasks, and once more what has become unknown; done. */
enum stage { STAGE_IDLE, STAGE_WORKERS, STAGE_RUNNING, STAGE_TASKS };

struct waiter {
    struct waiter *next;
    cluster_done_fn fn;
    void *arg;
};

struct fate_question {
    struct fate_question *next;
    struct cluster *cluster;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    bool single;        /* it has a call of its own, and does not wait for a refresh */
    cluster_fate_fn fn; /* NULL: cancelled */
    void *arg;
};

struct cluster {
    struct loop *loop;
    struct address address;
    struct source *source;
    struct view view;
    struct pause_list pauses;
    struct cluster_facts facts;
    enum stage stage;
    size_t outstanding;
    struct err err; /* of this refresh; code 0 for none */
    bool version_known, nodes_known, jobs_known;
    bool jobs_asked; /* by cluster_renew_jobs() */
    int64_t jobs_us;
    /* The records of all workers, until those of the view are replaced by what is kept of them. */
    struct ray_worker *fresh;
    size_t fresh_count;
    bool fresh_told;
    int64_t all_us; /* when all workers were asked for last, and how many they were */
    size_t all_count;
    int64_t look_us, took_us; /* when the look began, and how long the last one took */
    size_t waiting;           /* how many rows the last list of those that wait had */
    size_t left;              /* how many were found not to wait any more, in this look */
    struct retry task_retry, other_retry;
    struct waiter *waiters;
    struct waiter *told; /* those whose refresh has ended, while they are told */
    struct fate_question *fates;
    struct sweeper *sweeper; /* NULL before it is used */
};

/* cluster_look.c: begins a refresh; cluster_look_ended() follows, not from within. */
void cluster_look(struct cluster *cluster);
/* cluster.c: `cluster->err` says whether it went well. */
void cluster_look_ended(struct cluster *cluster);

#endif
