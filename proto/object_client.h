/* Calls about objects, to core workers and raylets; both numberings of what was renumbered are
 * understood. Callbacks run on the loop's thread, exactly once, never from within the call; `err`
 * is NULL on success. What a callback is given is its to clear (or to move elsewhere, by value: the
 * struct that it points to is only lent); locations are its to free.
 *
 * Never harm a process of the cluster: ids are checked for their length before they are sent. */
#ifndef RAYDBG_PROTO_OBJECT_CLIENT_H
#define RAYDBG_PROTO_OBJECT_CLIENT_H

#include "proto/object_records.h"
#include "proto/rpc.h"

struct object_client;

/* `rpc` is borrowed. `version` is the cluster's; all 0 (unknown) is fine where messages tell
 * themselves, and an error where they don't. */
struct object_client *object_client_create(struct rpc *rpc, int64_t deadline_ms);
void object_client_set_version(struct object_client *client, struct ray_version version);
void object_client_destroy(struct object_client **client); /* callbacks in flight are dropped */
/* The callbacks with this `arg` do not run any more. */
void object_client_forget(struct object_client *client, const void *arg);

/* GetCoreWorkerStats(include_memory_info) of the worker at "IP:PORT". An answer of another worker
 * than `worker_id` ("": any) is an error. */
typedef void (*object_worker_fn)(void *arg, const struct err *err,
                                 struct ray_worker_objects *worker);
void object_client_worker(struct object_client *client, const char *address, const char *worker_id,
                          object_worker_fn fn, void *arg);

/* GetNodeStats of the raylet at "IP:PORT"; without `with_refs` only the store's counters. */
typedef void (*object_node_fn)(void *arg, const struct err *err, struct ray_node_objects *node);
void object_client_node(struct object_client *client, const char *address, bool with_refs,
                        object_node_fn fn, void *arg);

/* GetObjectLocationsOwner: what the worker at "IP:PORT", with this id, knows of these objects. The
 * answer is in the order of `ids`, one for each; `known` is false for what it has no reference to.
 * Ask the owner: a borrower answers, too, with what it happens to know, and one that has no
 * reference writes a warning into its log for each. An error if the version is not known. */
typedef void (*object_locations_fn)(void *arg, const struct err *err,
                                    struct ray_object_location *locations, size_t count);
void object_client_locations(struct object_client *client, const char *address,
                             const char *worker_id, const struct object_id *ids, size_t count,
                             object_locations_fn fn, void *arg);

#endif
