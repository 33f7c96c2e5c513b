/* The inside of a ray_source, for ray_source.c and ray_source_running.c. */
#ifndef RAYDBG_RELAY_CLUSTER_RAY_SOURCE_STATE_H
#define RAYDBG_RELAY_CLUSTER_RAY_SOURCE_STATE_H

#include "proto/dashboard.h"
#include "relay/cluster/ray_source.h"

/* Either a GCS and its object clients, or a dashboard. */
struct ray_source {
    struct loop *loop;
    struct credentials credentials;
    struct rpc *rpc;
    struct gcs *gcs;
    struct object_client *objects, *quick_objects;
    struct dashboard *dashboard;
    struct version_query *versions; /* not yet answered */
    int64_t version_us;             /* when the GCS last told its version; 0: not known */
    struct query *queries;          /* in progress, for ray_source_destroy() */
};

/* Detaches the calls in progress from their views; ray_source_running_free() frees them. */
void ray_source_running_drop(struct ray_source *source);
void ray_source_running_free(struct ray_source *source);

#endif
