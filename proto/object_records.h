/* Ray's records of the objects in its object store: the references to them, their sizes and their
 * locations. The same shape for every version of Ray.
 *
 * Sizes are bytes. Worker, node, job and actor ids are lower-case hex text, "" where unknown;
 * object ids are Ray's own 28 bytes, because there are many of them. Strings are owned by the
 * record they are in and are as Ray sent them (not yet fit for a terminal). */
#ifndef RAYDBG_PROTO_OBJECT_RECORDS_H
#define RAYDBG_PROTO_OBJECT_RECORDS_H

#include "proto/records.h"

#include <string.h>

/* 24 bytes for the task that created the object (for ray.put: that called it), 4 for an index. */
#define ID_OBJECT_BYTES 28

struct object_id {
    uint8_t bytes[ID_OBJECT_BYTES];
};

/* Eight bytes of an id, from the offset `at` on. */
static inline uint64_t object_id_word(const struct object_id *id, size_t at)
{
    uint64_t word;
    memcpy(&word, id->bytes + at, sizeof word);
    return word;
}

/* The last four bytes of an id. */
static inline uint32_t object_id_rest(const struct object_id *id)
{
    uint32_t rest;
    memcpy(&rest, id->bytes + ID_TASK_BYTES, sizeof rest);
    return rest;
}

/* Compares word by word, as ids are written: compilers compare 28 bytes with loads that overlap,
 * and a load that spans two smaller stores stalls the processor. */
static inline bool object_id_equal(const struct object_id *a, const struct object_id *b)
{
    return object_id_word(a, 0) == object_id_word(b, 0) &&
           object_id_word(a, 8) == object_id_word(b, 8) &&
           object_id_word(a, 16) == object_id_word(b, 16) && object_id_rest(a) == object_id_rest(b);
}

void object_id_hex(const struct object_id *id, char out[ID_TEXT(ID_OBJECT_BYTES)]);
/* The creating task's id; for a put see object_id_made_by(). */
void object_id_task(const struct object_id *id, char out[ID_TEXT(ID_TASK_BYTES)]);
/* True if ray.put made the object: the index of puts counts from 100,000,001, of results from 1. */
bool object_id_is_put(const struct object_id *id);
/* True if the id is that of an actor handle; `actor` is then the actor's id. */
bool object_id_is_actor_handle(const struct object_id *id, char actor[ID_TEXT(ID_ACTOR_BYTES)]);
/* True if the task with this id, 48 hex digits, returned or put the object. A put's id has the
 * number of the attempt in place of the task id's first byte: it cannot be used to ask for the
 * task, but its other bytes identify the task. */
bool object_id_made_by(const struct object_id *id, const char *task_id);
/* Exactly 56 hex digits of either case, followed by anything; false otherwise. */
bool object_id_parse(const char *hex, size_t len, struct object_id *out);

/* Ray's TaskStatus in the numbers of Ray >= 2.39; numbers of earlier versions are translated
 * (docs/facts/ray.md#1b). In an ObjectRefInfo it is NIL unless this process owns the object. The
 * owner gives FINISHED for an object that exists, including one from ray.put, and the task's state
 * for an object that does not exist yet. */
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
    uint32_t contained_in; /* number of objects owned by this process that contain it */
    int64_t size;          /* -1: unknown */
    int64_t local;         /* references in this process's Python */
    int64_t submitted;     /* uses by pending tasks */
    const char *call_site; /* "" if it was not recorded; interned in the record's pool */
};

enum ray_worker_type {
    RAY_WORKER = 0,
    RAY_DRIVER = 1,
    RAY_SPILL_WORKER = 2,
    RAY_RESTORE_WORKER = 3
};

/* One process and all its references (CoreWorkerStats, either numbering). */
struct ray_worker_objects {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" if it is no actor */
    char *ip;
    uint16_t port; /* of its gRPC server */
    int64_t pid;
    enum ray_worker_type type;
    int64_t objects_total; /* the count of refs that the process reports, before any limit */
    int64_t owned;         /* num_owned_objects */
    struct ray_object_ref *refs;
    size_t ref_count;
    struct ray_string_pool *pool; /* of the call sites: many refs share a few */
};

/* Counters of one raylet's object store (ObjectStoreStats). */
struct ray_store_stats {
    int64_t used, available /* Ray's `avail`: the capacity */, primary_copies_bytes, fallback;
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

/* An object's location, as its owner reports it (GetObjectLocationsOwner). */
struct ray_object_location {
    struct object_id id;
    bool known;     /* false: the process asked has no such reference */
    bool pending;   /* it is being created, or recreated */
    bool did_spill; /* it was spilled at some time */
    bool lost;      /* `node_ids` have an error in its place; false if unreported (Ray > 2.52) */
    int64_t size;   /* -1: unknown */
    char (*node_ids)[ID_TEXT(ID_UNIQUE_BYTES)]; /* the nodes with a copy in their store */
    size_t node_count;
    char *spilled_url; /* "" if it is not spilled */
    char spilled_node_id[ID_TEXT(ID_UNIQUE_BYTES)];
};

void ray_worker_objects_clear(struct ray_worker_objects *worker);
void ray_node_objects_clear(struct ray_node_objects *node);
void ray_object_locations_free(struct ray_object_location *locations, size_t count);

#endif
