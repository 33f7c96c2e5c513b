/* The wait-for graph, as far as Ray's tables tell: a running task may wait for the calls that it
 * has made, and for the results that its process refers to; a call that waits in an actor's queue
 * for what the actor runs; a task that waits for an argument for what its owner has made one of; a
 * task without a node for those that hold what their node lacks for it, except CPUs, which Ray
 * lends on while a task blocks, also those of a placement group.
 *
 * A cycle is only a candidate for a deadlock: a task that has made a call need not wait for it. It
 * is proven if nothing that can be reached from it can go on: two looks agree, and Ray's gauge has
 * each task that runs in ray.get. */
#ifndef RAYDBG_RELAY_WHY_WHY_GRAPH_H
#define RAYDBG_RELAY_WHY_WHY_GRAPH_H

#include "relay/why_records/why_records.h"

enum { WHY_GRAPH_PATH = 16 };

/* A cycle through the attempt that was asked for, which is the first: each may wait for the next,
 * and the last for the first. */
struct why_cycle {
    const struct ray_attempt *items[WHY_GRAPH_PATH];
    size_t count;
};

/* False if there is none, or only one of tasks that have been in their states for less than
 * WHY_GRAPH_REST_MS. */
enum { WHY_GRAPH_REST_MS = 2000 };
bool why_graph_cycle(const struct why_records *records, const struct ray_attempt *attempt,
                     struct why_cycle *out);

/* All that an attempt may wait for, directly or not; the first is the attempt itself. */
enum { WHY_GRAPH_REACH = 64 };
struct why_reach {
    const struct ray_attempt *items[WHY_GRAPH_REACH];
    size_t count;
    bool cut; /* there is more */
};
void why_graph_reach(const struct why_records *records, const struct ray_attempt *attempt,
                     struct why_reach *out);
/* How much of a node's resource the running task or its actor has. */
double why_graph_held(const struct why_records *records, const struct ray_attempt *running,
                      const char *node_id, const char *resource);
/* True if the running task or its actor has some of a resource of which its node has too little
 * free for the waiting one (why_resources_lack()). */
bool why_graph_holds(const struct why_records *records, const struct ray_attempt *running,
                     const struct ray_attempt *waiting, bool with_cpus);
/* True if `from` may wait for `to`. */
bool why_graph_edge(const struct why_records *records, const struct ray_attempt *from,
                    const struct ray_attempt *to);

#endif
