/* A client of the State API of Ray's dashboard, for networks where only the dashboard's port is
 * reachable (docs/facts/ray.md#1a and #3). Uses libwebsockets' HTTP client on the given context;
 * callbacks run on the context's thread. Fields that the dashboard does not give are "", 0 or NULL
 * in the records. The calling conventions are those of gcs.h. */
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
/* /api/v0/tasks?detail=1, filtered to running tasks, of one worker or (NULL) of all: one call for
 * all costs the GCS as much as one call for one worker (docs/facts/ray.md#5). An id that is not 56
 * hex digits is never sent; it counts as NULL. */
void dashboard_tasks(struct dashboard *dashboard, const char *worker_id, gcs_tasks_fn fn,
                     void *arg);
void dashboard_actors(struct dashboard *dashboard, gcs_actors_fn fn, void *arg);
void dashboard_nodes(struct dashboard *dashboard, gcs_nodes_fn fn, void *arg);
void dashboard_jobs(struct dashboard *dashboard, gcs_jobs_fn fn, void *arg);

/* The name of the session whose dashboard it is, from /api/version. */
typedef void (*dashboard_session_fn)(void *arg, const struct err *err, const char *session);
void dashboard_session(struct dashboard *dashboard, dashboard_session_fn fn, void *arg);
/* True if the operator allows stacks and profiles (/api/profiling_enabled); also if this version of
 * Ray has no such switch. */
typedef void (*dashboard_profiling_fn)(void *arg, const struct err *err, bool enabled);
void dashboard_profiling(struct dashboard *dashboard, dashboard_profiling_fn fn, void *arg);

#endif
