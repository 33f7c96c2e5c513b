/* The part of a session that variables.h and cluster_objects.h work with. A session has one and
 * renews it before each call (session_variables()). */
#ifndef RAYDBG_RELAY_VARIABLES_VARIABLES_CONTEXT_H
#define RAYDBG_RELAY_VARIABLES_VARIABLES_CONTEXT_H

#include "relay/annotate/annotate.h"
#include "relay/client/client.h"
#include "relay/cluster/cluster.h"
#include "relay/hub/hub.h"

#include <stdbool.h>

struct variables;
struct cluster_objects;

/* All pointers are borrowed from the session, except the last two. */
struct variables_context {
    struct loop *loop;
    struct client *client;
    struct member *member;   /* its hub is NULL before an attach */
    struct cluster *cluster; /* NULL before an attach, and for a direct connection */
    const struct annotate_options *options;
    bool object_scope; /* each frame gets the scope `Object store` */
    /* A task of a session over many tasks: the client looks at few of them. */
    bool one_of_many;
    bool takes_invalidated; /* the client's supportsInvalidatedEvent */
    bool authenticated;
    struct variables *objects;               /* owned; NULL until the client looks at variables */
    struct cluster_objects *cluster_objects; /* owned; NULL until the client asks for them */
};

#endif
