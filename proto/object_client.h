/* Calls to core workers and raylets about objects; understands both numberings of the messages that
 * Ray has renumbered. Callbacks run on the loop's thread, exactly once, never from within the call;
 * `err` is NULL on success. A callback clears the record that it gets, or copies it by value to
 * keep it: the struct itself is only borrowed. It frees locations.
 *
 * Never harm a process of the cluster: the length of each id is checked before it is sent. */
#ifndef RAYDBG_PROTO_OBJECT_CLIENT_H
#define RAYDBG_PROTO_OBJECT_CLIENT_H

#include "proto/object_records.h"
#include "proto/rpc.h"

struct object_client;

/* `rpc` is borrowed. `version` is the cluster's. With all 0 (unknown), object_client_locations()
 * gives an error; the other calls assume a new version where a message does not show its own
 * numbering. */
struct object_client *object_client_create(struct rpc *rpc, int64_t deadline_ms);
void object_client_set_version(struct object_client *client, struct ray_version version);
void object_client_destroy(struct object_client **client); /* callbacks in flight are dropped */
/* Drops the calls with this `arg`: their callbacks do not run. */
void object_client_forget(struct object_client *client, const void *arg);

/* GetCoreWorkerStats(include_memory_info) of the worker at "IP:PORT". An answer from a worker other
 * than `worker_id` ("": any) is an error. */
typedef void (*object_worker_fn)(void *arg, const struct err *err,
                                 struct ray_worker_objects *worker);
void object_client_worker(struct object_client *client, const char *address, const char *worker_id,
                          object_worker_fn fn, void *arg);

/* GetNodeStats of the raylet at "IP:PORT"; without `with_refs` only the store's counters. */
typedef void (*object_node_fn)(void *arg, const struct err *err, struct ray_node_objects *node);
void object_client_node(struct object_client *client, const char *address, bool with_refs,
                        object_node_fn fn, void *arg);

/* GetObjectLocationsOwner: what the worker with this id, at "IP:PORT", knows of these objects. The
 * answer has one entry for each of `ids`, in their order; `known` is false for an object to which
 * the worker has no reference. Ask the owner: a borrower answers, too, with what it happens to
 * know, and a worker without a reference logs a warning for each object. An error if the version is
 * not known. */
typedef void (*object_locations_fn)(void *arg, const struct err *err,
                                    struct ray_object_location *locations, size_t count);
void object_client_locations(struct object_client *client, const char *address,
                             const char *worker_id, const struct object_id *ids, size_t count,
                             object_locations_fn fn, void *arg);

#endif
