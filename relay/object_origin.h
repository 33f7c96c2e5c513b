/* What an object's id tells of where it comes from. Pure.
 *
 * Ray makes an object's id of the id of a task, 24 bytes, and an index. What the task returns has
 * low indices, and is owned by who submitted the task. What is put while it runs has indices above
 * 100,000,000, is owned by who runs it, and has the number of the attempt in place of the task id's
 * first byte. */
#ifndef RAYDBG_RELAY_OBJECT_ORIGIN_H
#define RAYDBG_RELAY_OBJECT_ORIGIN_H

#include "proto/object_records.h"

enum object_origin_kind {
    ORIGIN_TASK,   /* `task_id` returns it; for `put`: it was put in an actor's creation */
    ORIGIN_HANDLE, /* no bytes: it stands for an actor; `task_id` creates that */
    ORIGIN_DRIVER, /* the driver of `job_id`, outside of any task, has put it */
    ORIGIN_ACTOR,  /* a method of `actor_id` has put it */
    ORIGIN_PUT,    /* a task whose id begins with another byte than `task_id` has put it */
};

struct object_origin {
    enum object_origin_kind kind;
    bool put;
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" for what no actor has to do with */
    char job_id[ID_TEXT(ID_JOB_BYTES)];
};

/* Whether its kind is ORIGIN_HANDLE. */
bool object_origin_is_handle(const struct object_id *id);
void object_origin_read(const struct object_id *id, struct object_origin *out);
/* Whether a task id is a driver's own, for what is not in any task. */
bool object_origin_is_driver(const char *task_id);

#endif
