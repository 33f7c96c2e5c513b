/* The source of `raydbg memory`'s sweeps: the cluster, or a relay that knows it. Callbacks run on
 * the loop's thread, once, never from within the call that asked. One question at a time. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_SOURCE_H
#define RAYDBG_CLI_MEMORY_MEMORY_SOURCE_H

#include "cli/pauses/pause_source.h"
#include "relay/cluster/cluster.h"
#include "relay/locate/relay_address.h"
#include "relay/sweep/object_sweep.h"

struct memory_source;

/* Both borrow their arguments. */
struct memory_source *memory_source_of_cluster(struct loop *loop, struct cluster *cluster);
struct memory_source *memory_source_of_relay(struct loop *loop, const struct relay_address *relay);
/* Cancels a callback that has not run, and drops its result. */
void memory_source_destroy(struct memory_source **source);

/* Asks for a new sweep, which the callback frees; like object_sweep_take(). */
void memory_source_ask(struct memory_source *source, object_sweep_fn fn, void *arg);

/* Details that a sweep does not have by itself: the tasks that made the objects, and the locations
 * that their owners know. */
enum memory_detail { MEMORY_NAMES, MEMORY_NAMES_AND_LOCATIONS, MEMORY_LOCATIONS };

/* Asks for these details of the rows, then calls fn with the same sweep and without an error: a
 * detail without an answer stays unknown. The sweep and `rows` must live until then. */
void memory_source_detail(struct memory_source *source, struct object_sweep *sweep,
                          const struct object_row *const *rows, size_t count,
                          enum memory_detail what, object_sweep_fn fn, void *arg);

/* The list of pauses from the same cluster or relay; owned by the source. Ask it only while the
 * source is not asked. */
struct pause_source *memory_source_origin(struct memory_source *source);

/* The address of the cluster, or of the relay, for messages. */
const char *memory_source_name(const struct memory_source *source);

#endif
