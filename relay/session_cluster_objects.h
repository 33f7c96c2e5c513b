/* The request `raydbg/clusterObjects`: all references of the session's cluster, grouped, sorted and
 * paged here. docs/objects.md has its arguments and its body. A session takes one sweep at a time
 * and keeps the last, so that a client can page through it; requests are answered in their order.
 */
#ifndef RAYDBG_RELAY_SESSION_CLUSTER_OBJECTS_H
#define RAYDBG_RELAY_SESSION_CLUSTER_OBJECTS_H

#include "dap/envelope.h"

struct session;
struct cluster_objects; /* a session's; NULL before its first request */

/* A handler of the session's. */
void session_cluster_objects_on_request(struct session *session, const char *json,
                                        const struct envelope *envelope);
/* Refuses the requests that wait, because `why`; the sweep is forgotten, too: the session's cluster
 * may be another one from here on. */
void session_cluster_objects_drop(struct session *session, const char *why);
/* Without a word. */
void session_cluster_objects_destroy(struct session *session);

#endif
