/* Calls to the GCS about what failed and what waits; as gcs.h. */
#ifndef RAYDBG_PROTO_GCS_FAILURES_H
#define RAYDBG_PROTO_GCS_FAILURES_H

#include "proto/failure_records.h"
#include "proto/gcs.h"

/* GetTaskEvents: all attempts of one task, or of all tasks if `task_id` is NULL: 900 bytes for each
 * that the GCS remembers (100,000 by default). Needs the version. `dropped` is the number of state
 * changes that the GCS no longer has. */
typedef void (*gcs_attempts_fn)(void *arg, const struct err *err, struct ray_attempt *attempts,
                                size_t count, int64_t dropped);
void gcs_attempts(struct gcs *gcs, const char *task_id, gcs_attempts_fn fn, void *arg);
/* All attempts of all tasks, with their timing: 2 kB for each. */
void gcs_timeline(struct gcs *gcs, gcs_attempts_fn fn, void *arg);

/* gcs_actors() and gcs_jobs() with more rows: the actors of ended jobs, and the details of
 * submitted jobs. */
void gcs_all_actors(struct gcs *gcs, gcs_actors_fn fn, void *arg);
void gcs_submitted_jobs(struct gcs *gcs, gcs_jobs_fn fn, void *arg);

typedef void (*gcs_groups_fn)(void *arg, const struct err *err, struct ray_group *groups,
                              size_t count);
void gcs_groups(struct gcs *gcs, gcs_groups_fn fn, void *arg);

/* The callee clears the state; the struct itself is borrowed, NULL after an error. */
typedef void (*gcs_resources_fn)(void *arg, const struct err *err,
                                 struct ray_resource_state *state);
void gcs_resources(struct gcs *gcs, gcs_resources_fn fn, void *arg);

#endif
