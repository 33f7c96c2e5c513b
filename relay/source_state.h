/* The inside of a source, for source.c and source_running.c. */
#ifndef RAYDBG_RELAY_SOURCE_STATE_H
#define RAYDBG_RELAY_SOURCE_STATE_H

#include "proto/dashboard.h"
#include "relay/source.h"

/* A gcs and who is asked for objects, or a dashboard. */
struct source {
    struct credentials credentials;
    struct rpc *rpc;
    struct gcs *gcs;
    struct object_client *objects, *quick_objects;
    struct dashboard *dashboard;
    struct version_question *versions; /* that were not answered */
    struct look *looks;                /* running ones, for source_destroy() */
};

/* The looks under way are not to touch their views any more; source_destroy() ends them. */
void source_running_drop(struct source *source);
void source_running_free(struct source *source);

#endif
