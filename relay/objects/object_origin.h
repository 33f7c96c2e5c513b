/* Reads an object's origin from its id. Pure.
 *
 * Ray makes an object id from a task id, 24 bytes, and an index. A task's return values have low
 * indices and are owned by the process that submitted the task. Objects that the task puts
 * (ray.put) have indices above 100,000,000, are owned by the process that runs it, and have the
 * attempt's number in place of the task id's first byte. */
#ifndef RAYDBG_RELAY_OBJECTS_OBJECT_ORIGIN_H
#define RAYDBG_RELAY_OBJECTS_OBJECT_ORIGIN_H

#include "proto/object_records.h"

enum object_origin_kind {
    ORIGIN_TASK,   /* `task_id` returns it; with `put`: it was put while an actor was created */
    ORIGIN_HANDLE, /* no bytes: the id is that of the actor that `task_id` creates */
    ORIGIN_DRIVER, /* the driver of `job_id` has put it, outside any task */
    ORIGIN_ACTOR,  /* a method of `actor_id` has put it */
    ORIGIN_PUT,    /* a task has put it whose id differs from `task_id` in the first byte */
};

struct object_origin {
    enum object_origin_kind kind;
    bool put;
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" without an actor */
    char job_id[ID_TEXT(ID_JOB_BYTES)];
};

/* True if its kind is ORIGIN_HANDLE. */
bool object_origin_is_handle(const struct object_id *id);
void object_origin_read(const struct object_id *id, struct object_origin *out);
/* True if a task id is a driver's own, which it uses outside any task. */
bool object_origin_is_driver(const char *task_id);

#endif
