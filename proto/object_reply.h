/* Decodes what core workers and raylets say of objects. Pure: any bytes are fine, and give an error
 * or records, never a crash. All return 0, or -1 with `err` set and nothing to free.
 *
 * The version tells what the messages do not tell themselves; an unknown one (all 0) is taken for a
 * new one. Time and memory grow with the bytes, and not faster. */
#ifndef RAYDBG_PROTO_OBJECT_REPLY_H
#define RAYDBG_PROTO_OBJECT_REPLY_H

#include "base/err.h"
#include "proto/object_records.h"

/* GetCoreWorkerStatsReply. References without an id of 28 bytes are left out. */
int object_reply_worker(const uint8_t *bytes, size_t len, struct ray_version version,
                        struct ray_worker_objects *out, struct err *err);
/* GetNodeStatsReply. A worker that says nothing of itself is left out. */
int object_reply_node(const uint8_t *bytes, size_t len, struct ray_version version,
                      struct ray_node_objects *out, struct err *err);
/* GetObjectLocationsOwnerReply to a question for `count` objects, which `out` has room for: all 0
 * but for the ids. On failure what `out` holds is not changed. The message tells its numbering. */
int object_reply_locations(const uint8_t *bytes, size_t len, struct ray_object_location *out,
                           size_t count, struct err *err);

#endif
