/* Builds the requests whose shape depends on Ray's version or on the caller's input. Pure.
 *
 * A filter that a GCS does not understand, or an id of the wrong length in it, ends the GCS process
 * (docs/facts/ray.md#0.1): no request that is built elsewhere may have an id. */
#ifndef RAYDBG_PROTO_REQUEST_H
#define RAYDBG_PROTO_REQUEST_H

#include "base/buf.h"
#include "base/err.h"
#include "proto/object_records.h"

#include <stdbool.h>

/* The encodings of GetTaskEvents' filter by task id. */
enum task_filter {
    TASK_FILTER_NONE, /* unknown: send no filter at all */
    TASK_FILTER_V1,   /* Ray 2.9 to 2.40: the bare id */
    TASK_FILTER_V2,   /* Ray 2.41 on: a list of (predicate, id) */
};

/* A V2 filter ends a V1 GCS. The adjacent releases 2.40.0 and 2.41.0 were both read. NONE for an
 * unknown version, for one before 2.9, and for 3.0.0: every build from master calls itself 3.0.0,
 * before and after the change. */
enum task_filter task_filter_of(struct ray_version version);

/* For 3.0.0: a request that harms neither kind of GCS and tells them apart. A V1 GCS reads its
 * filter by name as a string, finds no such task and answers with grpc's status 0 (measured: 2.9.3,
 * 2.40.0). A V2 GCS reads it as a malformed message and answers 13 INTERNAL "Unable to parse
 * request" (measured: 2.44.1, 2.60.0). */
bool task_filter_needs_probe(struct ray_version version);
void request_filter_probe(struct buf *out);
enum task_filter task_filter_from_probe(int grpc_status);

/* TaskStatus's number of RUNNING: 6 up to 2.38, 8 from 2.39 on (adjacent releases, both read). */
int task_filter_status_running(struct ray_version version);

/* The encodings of the objects in GetObjectLocationsOwner. A worker may read an encoding that it
 * does not understand as an id of the wrong length, which ends the worker. */
enum locations_form {
    LOCATIONS_FORM_NONE, /* the version is unknown: do not ask */
    LOCATIONS_FORM_V1,   /* Ray 2.9 and 2.10: one object */
    LOCATIONS_FORM_V2,   /* from Ray 2.11 on (adjacent releases, both read): any number */
};
enum locations_form locations_form_of(struct ray_version version);

/* All of these append the encoded request to `out`. */

/* Fails, and adds nothing, unless `task_id` is 48 hex digits and `filter` is known. */
int request_task(enum task_filter filter, const char *task_id, struct buf *out, struct err *err);
/* Asks for live workers with a thread that waits for a debugger. Ray before 2.36.1 does not know
 * the filter and returns all workers. */
void request_waiting_workers(struct buf *out);
/* These fail, and add nothing, unless the id has the right number of hex digits: 56 for a worker,
 * 32 for an actor. */
int request_worker(const char *worker_id, struct buf *out, struct err *err);
int request_actor(const char *actor_id, struct buf *out, struct err *err);
int request_worker_stats(const char *worker_id, struct buf *out, struct err *err);
/* Asks for memory info. With `worker_id` "" no id is sent, and any worker answers. */
int request_worker_objects(const char *worker_id, struct buf *out, struct err *err);
int request_worker_is_dead(const char *worker_id, struct buf *out, struct err *err);
void request_node_stats(bool with_refs, struct buf *out);
void request_jobs(struct buf *out);
void request_all_actors(struct buf *out); /* also those of ended jobs */
void request_kv_get(const char *space, const char *key, struct buf *out);
void request_kv_put(const char *space, const char *key, const char *value, bool overwrite,
                    struct buf *out);
void request_kv_del(const char *space, const char *key, struct buf *out);
void request_kv_keys(const char *space, const char *prefix, struct buf *out);
/* Fails, and adds nothing, unless `worker_id` is 56 hex digits and `form` takes `count` ids. */
int request_locations(enum locations_form form, const char *worker_id, const struct object_id *ids,
                      size_t count, struct buf *out, struct err *err);

#endif
