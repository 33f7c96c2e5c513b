/* The processes whose stacks are asked for. Pure. */
#ifndef RAYDBG_RELAY_PYTHON_STACK_STACK_PROCESSES_H
#define RAYDBG_RELAY_PYTHON_STACK_STACK_PROCESSES_H

#include "relay/why_records/why_subject.h"

struct stack_select {
    const char *name; /* of a task, an actor, a process, a node or a job; NULL: all */
    const char *node; /* only on this one: its address, host name or id; NULL: on all */
    bool idle;        /* without a name: also processes that run nothing */
};

/* Pointers into the records; the caller frees `items`. Only live processes of live nodes. */
struct stack_processes {
    const struct ray_worker **items;
    size_t count;
    size_t idle; /* processes that run nothing, and were left out */
};

/* -1 with `err` set if nothing has the name, if what has it has no live process, or if a table that
 * is needed could not be asked. Several tasks of one name: all that run. */
int stack_processes_find(const struct why_records *records, const struct stack_select *select,
                         struct stack_processes *out, struct err *err);

#endif
