/* Turns the bodies of the dashboard's replies into records. Pure: no sockets.
 *
 * The rows are those of the State API (docs/facts/ray.md#1a; checked with Ray 2.60.0, 2.44.1). A
 * field that is missing or null is unknown. A body that does not have the API's shape is an error
 * that says what is wrong with it. */
#ifndef RAYDBG_PROTO_DASHBOARD_PARSE_H
#define RAYDBG_PROTO_DASHBOARD_PARSE_H

#include "base/err.h"
#include "proto/records.h"

/* All return 0, or -1 with `err` set; records are the caller's to free. `text` is NUL-terminated.
 */
int dashboard_parse_workers(const char *text, struct ray_worker **out, size_t *count,
                            struct err *err);
int dashboard_parse_tasks(const char *text, struct ray_task **out, size_t *count, struct err *err);
int dashboard_parse_actors(const char *text, struct ray_actor **out, size_t *count,
                           struct err *err);
int dashboard_parse_nodes(const char *text, struct ray_node **out, size_t *count, struct err *err);
int dashboard_parse_jobs(const char *text, struct ray_job **out, size_t *count, struct err *err);

/* /api/version. */
int dashboard_parse_version(const char *text, char *ray, size_t ray_size, char *python,
                            size_t python_size, struct err *err);

/* The session's name in /api/version, "session_2026-…"; and /api/profiling_enabled (Ray >= 2.60).
 */
int dashboard_parse_session(const char *text, char *session, size_t size, struct err *err);
int dashboard_parse_profiling(const char *text, bool *enabled, struct err *err);

#endif
