/* The request `raydbg/clusterObjects`: all references of the session's cluster, grouped, sorted and
 * paged by the relay. docs/objects.md has its arguments and its body. A session takes one sweep at
 * a time and keeps the last, for a client that pages through it. Requests are answered in order. */
#ifndef RAYDBG_RELAY_VARIABLES_CLUSTER_OBJECTS_H
#define RAYDBG_RELAY_VARIABLES_CLUSTER_OBJECTS_H

#include "dap/envelope.h"
#include "relay/variables/variables_context.h"

void cluster_objects_on_request(struct variables_context *context, const char *json,
                                const struct envelope *envelope);
/* Refuses the waiting requests with the text `why` (NULL: drops them without a response), and drops
 * the sweep: the session's cluster may be another one from here on. */
void cluster_objects_drop(struct variables_context *context, const char *why);
/* Frees all; the waiting requests get no response. */
void cluster_objects_destroy(struct variables_context *context);

#endif
