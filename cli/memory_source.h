/* Where `raydbg memory` gets its sweeps from: the cluster, or a relay that knows it. Callbacks run
 * on the loop's thread, once, never from within the call that asked. One question at a time. */
#ifndef RAYDBG_CLI_MEMORY_SOURCE_H
#define RAYDBG_CLI_MEMORY_SOURCE_H

#include "cli/origin.h"
#include "relay/cluster.h"
#include "relay/object_sweep.h"
#include "relay/relay_address.h"

struct memory_source;

/* All borrow what they get. */
struct memory_source *memory_source_of_cluster(struct loop *loop, struct cluster *cluster);
struct memory_source *memory_source_of_relay(struct loop *loop, const struct relay_address *relay);
/* Drops a callback that has not run, and what it would have got. */
void memory_source_destroy(struct memory_source **source);

/* A new sweep, the callee's to free; as object_sweep_ask(). */
void memory_source_ask(struct memory_source *source, object_sweep_fn fn, void *arg);

/* What a sweep does not know by itself of its objects: the tasks that made them, and their owners'
 * word on where they are. */
enum memory_detail { MEMORY_NAMES, MEMORY_NAMES_AND_LOCATIONS, MEMORY_LOCATIONS };

/* Asks that for these rows. Then fn with the same sweep, and without an error: what nobody answered
 * stays unknown. The sweep and `rows` must live until then. */
void memory_source_detail(struct memory_source *source, struct object_sweep *sweep,
                          const struct object_row *const *rows, size_t count,
                          enum memory_detail what, object_sweep_fn fn, void *arg);

/* The same place's list of pauses; the source's own. It may be asked while the source is not. */
struct origin *memory_source_origin(struct memory_source *source);

/* Who is asked, for messages: the cluster's address, or the relay's. */
const char *memory_source_name(const struct memory_source *source);

#endif
