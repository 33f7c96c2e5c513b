/* The State API of Ray's dashboard, for where only its port is reachable (ray-facts.md 1a, 3).
 * Speaks HTTP with libwebsockets' client on the given context; callbacks on its thread. What the
 * dashboard cannot tell is "" / 0 / NULL in the records. Calling conventions as in gcs.h. */
#ifndef RAYDBG_PROTO_DASHBOARD_H
#define RAYDBG_PROTO_DASHBOARD_H

#include "proto/gcs.h"

struct lws_context;
struct dashboard;

/* `url` is "http://HOST:PORT" or "https://…", with an optional path prefix and no query.
 * Every reply has a deadline and a size cap; a redirect, an HTML page, 401/403, a slow or huge
 * reply each get their own error. */
struct dashboard *dashboard_create(struct lws_context *context, const char *url,
                                   const struct credentials *credentials, int64_t deadline_ms,
                                   struct err *err);
void dashboard_destroy(struct dashboard **dashboard);

/* /api/version */
void dashboard_version(struct dashboard *dashboard, gcs_version_fn fn, void *arg);
/* /api/v0/workers?detail=1 */
void dashboard_workers(struct dashboard *dashboard, gcs_workers_fn fn, void *arg);
/* /api/v0/tasks?detail=1, filtered to what runs, on one worker or (NULL) on all: one call for all
 * costs the GCS as much as one call for one worker (ray-facts.md 5). An id that is not 56 hex
 * digits is never sent; it counts as NULL. */
void dashboard_tasks(struct dashboard *dashboard, const char *worker_id, gcs_tasks_fn fn,
                     void *arg);
void dashboard_actors(struct dashboard *dashboard, gcs_actors_fn fn, void *arg);
void dashboard_nodes(struct dashboard *dashboard, gcs_nodes_fn fn, void *arg);
void dashboard_jobs(struct dashboard *dashboard, gcs_jobs_fn fn, void *arg);

#endif
