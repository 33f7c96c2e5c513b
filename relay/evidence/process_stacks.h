/* Asks the agents of nodes for the Python stacks of processes, or for profiles of them, a few at a
 * time on each node: py-spy is a process of its own, and stops the one that it reads. Runs on the
 * loop's thread. */
#ifndef RAYDBG_RELAY_EVIDENCE_PROCESS_STACKS_H
#define RAYDBG_RELAY_EVIDENCE_PROCESS_STACKS_H

#include "relay/cluster/cluster.h"

struct ray_node;
struct ray_worker;
struct process_stacks;

struct process_stacks_query {
    bool native;      /* with the frames of C code */
    bool idle;        /* a profile: also threads that wait */
    uint32_t seconds; /* of a profile; 0: the stacks as they are now */
    bool memory;      /* a profile by memray, which runs in the process */
};

/* How many processes of a node are asked at a time. */
enum { PROCESS_STACKS_AT_A_TIME = 2, PROCESS_PROFILES_AT_A_TIME = 16 };

/* A process, and py-spy's text on it or what came instead. */
struct process_stack {
    const struct ray_worker *worker; /* given and borrowed, like `node` */
    const struct ray_node *node;
    char *text;    /* NULL if there is none */
    char *problem; /* if there is no text; in Ray's or py-spy's words */
    char *warning; /* memray's; NULL: none */
};

/* All have been asked. */
typedef void (*process_stacks_fn)(void *arg);
/* Fills in the `count` items, which the caller owns and which outlive the result. Never calls `fn`
 * from within. */
struct process_stacks *process_stacks_ask(struct cluster *cluster, struct process_stack *items,
                                          size_t count, const struct process_stacks_query *query,
                                          process_stacks_fn fn, void *arg);
/* `fn` does not run after it. */
void process_stacks_free(struct process_stacks **stacks);
/* Frees what was filled in. */
void process_stack_clear(struct process_stack *item);

#endif
