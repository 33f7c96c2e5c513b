/* Shared by a cluster's sweeps: the requests about objects that are under way, and a cache of
 * tasks. Other rooms use object_sweep.h. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_SWEEP_SWEEP_QUEUE_H
#define RAYDBG_RELAY_SWEEP_SWEEP_QUEUE_H

#include "relay/cluster/ray_source.h"
#include "relay/io/loop.h"
#include "relay/sweep/object_sweep.h"

struct sweep_queue;

/* The cluster's queue: made at the first call, destroyed with the cluster. */
struct sweep_queue *sweep_queue_of(struct cluster *cluster);

/* `loop` and `source` are borrowed. */
struct sweep_queue *sweep_queue_create(struct loop *loop, struct ray_source *source);
/* To be called after the source is destroyed, which drops its callbacks. */
void sweep_queue_destroy(struct sweep_queue **queue);
struct ray_source *sweep_queue_source(const struct sweep_queue *queue);
struct loop *sweep_queue_loop(const struct sweep_queue *queue);

/* --- a request about objects: the first member of the requester's own struct --- */

struct sweep_request {
    struct sweep_request *next;
    struct sweep_queue *queue;
    struct object_sweep *sweep; /* NULL once it is cancelled and the caller's */
    size_t outstanding;         /* answers still to come, and one of the requester's own */
    struct err err;             /* code 0: none */
    bool own_sweep;             /* `sweep` is freed if `fn` does not get it */
    object_sweep_fn fn;         /* NULL once it is cancelled */
    void *arg;
    struct timer *timer;
    /* All have answered: puts the answers into the sweep, which is not NULL. May be NULL. */
    void (*conclude)(struct sweep_request *request);
    void (*clear)(struct sweep_request *request); /* frees the other data; may be NULL */
};

/* `size` is that of the requester's struct, which is zeroed. `outstanding` starts at 1. */
void *sweep_request_create(struct sweep_queue *queue, size_t size, object_sweep_fn fn, void *arg);
/* Counts an answer. The last one ends the request: `fn` runs with the sweep or `err`. */
void sweep_request_answered(struct sweep_request *request);
/* Like sweep_request_answered() for the requester's own count, but `fn` runs from the loop, never
 * from within. */
void sweep_request_sent(struct sweep_request *request);
/* Keeps the first error. */
void sweep_request_fail(struct sweep_request *request, const struct err *err);
void sweep_queue_cancel(struct sweep_queue *queue, const void *arg);

/* --- tasks --- */

/* A cached task. Only tasks that are known for good, those that have begun and have a name, are
 * cached. NULL: ask for it. */
const struct ray_task *sweep_queue_task(const struct sweep_queue *queue, const char *task_id);
void sweep_queue_copy_task(struct ray_task *out, const struct ray_task *task);
/* Caches a copy of a task that is known for good. At 20,000 tasks the cache is emptied first. */
void sweep_queue_keep_task(struct sweep_queue *queue, const struct ray_task *task);

#endif
