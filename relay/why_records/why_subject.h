/* The meaning of a name: a task, an actor, a process, a node, a job, a placement group or an
 * object. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_WHY_SUBJECT_H
#define RAYDBG_RELAY_WHY_RECORDS_WHY_SUBJECT_H

#include "relay/why_records/why_records.h"

enum why_kind {
    WHY_TASK,
    WHY_ACTOR,
    WHY_WORKER, /* a process: a worker or a driver */
    WHY_NODE,
    WHY_JOB,
    WHY_GROUP,
    WHY_OBJECT,
};

/* Pointers into the records; the one of `kind` is set, except of an object. */
struct why_subject {
    enum why_kind kind;
    const struct ray_attempt *attempt; /* its last one */
    const struct ray_actor *actor;
    const struct ray_worker *worker;
    const struct ray_node *node;
    const struct ray_job *job;
    const struct ray_group *group;
    struct object_id object;
    size_t namesakes; /* of a task: how many tasks have the name, and how many of them failed, or
                         wait; 0 if it was found by its id */
    size_t namesakes_failed, namesakes_waiting;
};

/* A name is: a whole id or its beginning (4 hex digits or more), a task's name or function, an
 * actor's name, class or repr, PID@NODE, a node's address or host name, a job's id or submission
 * id, a placement group's name; or what raydbg or Ray prints of one: "square (82891714)",
 * "ObjectRef(00ff…)", "(square pid=762, ip=10.0.0.7)". Of several tasks of one name the one that
 * failed last is taken, else the one that waits longest, else the one that began last; of several
 * actors the one that died last, else the first. -1 with `err` set if nothing matches, or if things
 * of several kinds or ids do. */
int why_subject_find(const struct why_records *records, const char *name, struct why_subject *out,
                     struct err *err);

/* The node with this address, host name or beginning of an id; of several the last that started; or
 * NULL. */
const struct ray_node *why_subject_node(const struct why_records *records, const char *name);
/* "task", "actor", … */
const char *why_kind_name(enum why_kind kind);

#endif
