/* The bodies of the dashboard's replies, turned into records. Pure: no sockets.
 *
 * State API rows (ray-facts.md 1a; checked with Ray 2.60.0, 2.44.1). Every field may be missing or
 * null: it is then unknown. A body that is not the API's shape is an error that says what it is. */
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

#endif
