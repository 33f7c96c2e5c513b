/* Decodes the replies of core workers and raylets about objects. Pure: any bytes give an error or
 * records, never a crash. All return 0, or -1 with `err` set and nothing to free.
 *
 * The version decides where a message does not show its own numbering; an unknown version (all 0)
 * counts as a new one. Time and memory are linear in the bytes. */
#ifndef RAYDBG_PROTO_OBJECT_REPLY_H
#define RAYDBG_PROTO_OBJECT_REPLY_H

#include "base/err.h"
#include "proto/object_records.h"

/* GetCoreWorkerStatsReply. References without an id of 28 bytes are left out. */
int object_reply_worker(const uint8_t *bytes, size_t len, struct ray_version version,
                        struct ray_worker_objects *out, struct err *err);
/* GetNodeStatsReply. A worker without stats is left out. */
int object_reply_node(const uint8_t *bytes, size_t len, struct ray_version version,
                      struct ray_node_objects *out, struct err *err);
/* GetObjectLocationsOwnerReply for `count` objects. `out` has an entry for each, all 0 except its
 * id; on failure `out` is not changed. The message shows its own numbering. */
int object_reply_locations(const uint8_t *bytes, size_t len, struct ray_object_location *out,
                           size_t count, struct err *err);

#endif
