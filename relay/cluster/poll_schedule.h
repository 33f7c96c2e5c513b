/* Decides what one refresh asks: everything of a small cluster, and of a large one only as much per
 * second as a GCS and a network can bear. Pure: times are the caller's clock. */
#ifndef RAYDBG_RELAY_CLUSTER_POLL_SCHEDULE_H
#define RAYDBG_RELAY_CLUSTER_POLL_SCHEDULE_H

#include "relay/cluster/cluster_view.h"

enum {
    POLL_SCHEDULE_ROWS = 10000, /* worker records that refreshes may fetch per second */
    POLL_SCHEDULE_WAITING_ROWS =
        20000,              /* the same for waiting workers, which each refresh fetches */
    POLL_SCHEDULE_ALL = 32, /* up to so many workers with a debugger are all asked each time */
    POLL_SCHEDULE_ATTACHED_RATE = 100, /* above that, so many running workers per second, */
    POLL_SCHEDULE_WAITING_RATE = 50,   /* and so many waiting ones, which do not move */
};

/* True if this refresh is to fetch the records of all workers, false for only those that wait.
 * `taken_us` is when all were last fetched and `count` their number; both are 0 before the first
 * time. */
bool poll_schedule_takes_all(int64_t taken_us, size_t count, int64_t now_us);

/* How long to wait after a refresh that took `took_us` and listed `waiting` waiting workers. */
int64_t poll_schedule_rest_us(int64_t took_us, size_t waiting);

/* Marks the workers to be asked what they run (cluster_view_running.wanted), and sets when to ask
 * them again. A worker that was never asked, or whose record has changed since, is always marked;
 * one that did not answer is asked less and less often, and one that is dead no more. */
void poll_schedule_choose(struct cluster_view *view, int64_t now_us);
/* Applies the answer of a marked worker: takes over what `stats` owns, or NULL if there was no
 * answer. Without one, the earlier answer holds while the worker's record is unchanged: a killed
 * worker stops answering some time before Ray reports it dead. */
void poll_schedule_answered(struct cluster_view_running *running, struct ray_worker_stats *stats,
                            int64_t now_us);

#endif
