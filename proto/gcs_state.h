/* The internals of gcs.h, for the files that implement it: gcs.c (calls, the version, records, a
 * core worker), gcs_kv.c (the key-value store), gcs_failures.c. */
#ifndef RAYDBG_PROTO_GCS_STATE_H
#define RAYDBG_PROTO_GCS_STATE_H

#include "base/buf.h"
#include "proto/gcs.h"
#include "proto/gcs_failures.h"
#include "proto/inflight.h"
#include "proto/request.h"

struct gcs {
    struct rpc *rpc;
    struct rpc_channel *channel;
    int64_t deadline_ms;
    struct ray_version version;
    enum task_filter filter; /* NONE until the version is known */
    struct inflight *calls;
};

struct gcs_call {
    struct inflight inflight; /* dropped when the gcs is destroyed */
    struct gcs *gcs;
    void (*handle)(struct gcs_call *call, const struct rpc_reply *reply);
    union {
        gcs_version_fn version;
        gcs_workers_fn workers;
        gcs_tasks_fn tasks;
        gcs_actors_fn actors;
        gcs_nodes_fn nodes;
        gcs_jobs_fn jobs;
        gcs_done_fn done;
        core_worker_stats_fn stats;
        worker_is_dead_fn is_dead;
        gcs_attempts_fn attempts;
        gcs_groups_fn groups;
        gcs_resources_fn resources;
    } fn;
    struct gcs_kv_scan *scan; /* of a call for keys or for one value */
    char *space, *key;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* the worker that must answer */
    char *ray_version, *python_version;       /* of a probe, for its callback */
};

/* gcs.c */
/* `handle` runs with the reply, unless the call is dropped before; the call is freed after. */
struct gcs_call *gcs_call_new(struct gcs *gcs,
                              void (*handle)(struct gcs_call *call, const struct rpc_reply *reply),
                              void *arg);
/* Sends the call; frees the contents of `request`. */
void gcs_call_send(struct gcs_call *call, struct rpc_channel *channel, const char *method,
                   struct buf *request);
/* The same by rpc_bulk_call(), for a call that is made once for each pause. */
void gcs_call_send_bulk(struct gcs_call *call, struct rpc_channel *channel, const char *method,
                        struct buf *request);
/* The callback of a call that rpc_refuse() answers. */
void gcs_call_on_reply(void *arg, const struct rpc_reply *reply);
/* True if the GCS answered. Otherwise `err` is the reply's error, with a hint for the user. */
bool gcs_call_answered(const struct rpc_reply *reply, struct err *err);

/* gcs_kv.c */
/* Call for each reply to the scan that arrives after its call was dropped; the last one frees the
 * scan. */
void gcs_kv_scan_drop(struct gcs_kv_scan *scan);

#endif
