/* What Ray says of objects in its object store: who refers to them, how big they are, where they
 * are. The same shape for every version of Ray.
 *
 * Sizes are bytes. Worker, node, job and actor ids are lower-case hex text, "" where unknown;
 * object ids are Ray's own 28 bytes, because there are many of them. Strings are owned by the
 * record they are in and are as Ray sent them (not yet fit for a terminal). */
#ifndef RAYDBG_PROTO_OBJECT_RECORDS_H
#define RAYDBG_PROTO_OBJECT_RECORDS_H

#include "proto/records.h"

/* 24 bytes of the task that made it (for ray.put: that called it), 4 of an index. */
#define ID_OBJECT_BYTES 28

struct object_id {
    uint8_t bytes[ID_OBJECT_BYTES];
};

void object_id_hex(const struct object_id *id, char out[ID_TEXT(ID_OBJECT_BYTES)]);
/* The creating task's id; what it is for a put, see object_id_made_by(). */
void object_id_task(const struct object_id *id, char out[ID_TEXT(ID_TASK_BYTES)]);
/* Whether ray.put made it: its index counts from 100,000,001, a result's from 1. */
bool object_id_is_put(const struct object_id *id);
/* Whether it stands for a handle of an actor, with that actor's id. */
bool object_id_is_actor_handle(const struct object_id *id, char actor[ID_TEXT(ID_ACTOR_BYTES)]);
/* Whether the task with this id, 48 hex digits, returned or put it. In a put's id the number of the
 * attempt stands in place of the task's first byte: so the task cannot be asked for by a put's id,
 * but is known again by the others. */
bool object_id_made_by(const struct object_id *id, const char *task_id);
/* Exactly 56 hex digits of either case, followed by anything; false otherwise. */
bool object_id_parse(const char *hex, size_t len, struct object_id *out);

/* Ray's TaskStatus in the numbers of Ray >= 2.39, which earlier ones are translated to
 * (ray-facts.md 1b). In an ObjectRefInfo it is NIL unless this process owns the object: the owner
 * says FINISHED for what exists, ray.put's too, and the task's state for what is yet to come. */
enum ray_task_status {
    RAY_TASK_NIL = 0,
    RAY_TASK_FINISHED = 11,
    RAY_TASK_FAILED = 12,
};
const char *ray_task_status_name(int status); /* "SUBMITTED_TO_WORKER"; "UNKNOWN" */

/* One process's reference to one object (ObjectRefInfo). */
struct ray_object_ref {
    struct object_id id;
    bool pinned;           /* pinned_in_memory: a value in this process uses the bytes */
    int8_t status;         /* enum ray_task_status */
    int32_t attempt;       /* of the creating task; 0 if this process does not own it */
    uint32_t contained_in; /* how many objects that this process owns hold it */
    int64_t size;          /* -1: unknown */
    int64_t local;         /* references in this process's Python */
    int64_t submitted;     /* uses by tasks that are pending */
    const char *call_site; /* "" if it was not recorded; interned in the record's pool */
};

enum ray_worker_type {
    RAY_WORKER = 0,
    RAY_DRIVER = 1,
    RAY_SPILL_WORKER = 2,
    RAY_RESTORE_WORKER = 3
};

/* One process and all references it has (CoreWorkerStats, either numbering). */
struct ray_worker_objects {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" if it is no actor */
    char *ip;
    uint16_t port; /* of its gRPC server */
    int64_t pid;
    enum ray_worker_type type;
    int64_t objects_total; /* what it says the count of refs is, before any limit */
    int64_t owned;         /* num_owned_objects */
    struct ray_object_ref *refs;
    size_t ref_count;
    struct ray_string_pool *pool; /* of the call sites: many refs, few places */
};

/* Counters of one raylet's object store (ObjectStoreStats). */
struct ray_store_stats {
    int64_t used, available /* Ray calls it avail: the capacity */, primary_copies_bytes, fallback;
    int64_t objects, primary_copies;
    int64_t spilled_bytes, spilled_objects, restored_bytes, restored_objects;
    double spill_seconds, restore_seconds;
    int64_t created_objects, created_bytes; /* ever */
    bool pulls_queued;                      /* fetches wait for memory */
};

/* GetNodeStats of one raylet. */
struct ray_node_objects {
    struct ray_store_stats store;
    struct ray_worker_objects *workers; /* its workers and drivers; none without memory info */
    size_t worker_count;
};

/* Where an object is, by its owner (GetObjectLocationsOwner). */
struct ray_object_location {
    struct object_id id;
    bool known;     /* false: the process asked has no such reference */
    bool pending;   /* it is being made (again) */
    bool did_spill; /* it was spilled at some time */
    bool lost;      /* an error stands in for it at `node_ids`; Ray > 2.52 does not tell: false */
    int64_t size;   /* -1: unknown */
    char (*node_ids)[ID_TEXT(ID_UNIQUE_BYTES)]; /* with a copy in their store */
    size_t node_count;
    char *spilled_url; /* "" if it is not spilled */
    char spilled_node_id[ID_TEXT(ID_UNIQUE_BYTES)];
};

void ray_worker_objects_clear(struct ray_worker_objects *worker);
void ray_node_objects_clear(struct ray_node_objects *node);
void ray_object_locations_free(struct ray_object_location *locations, size_t count);

#endif
