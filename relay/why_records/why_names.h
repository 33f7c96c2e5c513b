/* The names of tasks, actors and processes in a report, the links of its chain, and who
 * submitted a task. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_WHY_NAMES_H
#define RAYDBG_RELAY_WHY_RECORDS_WHY_NAMES_H

#include "relay/why_records/why_records.h"
#include "relay/why_records/why_report.h"

/* The beginning of a task's id that the command line takes for it; a creation task's is its
 * actor's. */
char *why_short_id(const char *task_id, char out[ID_TEXT(ID_TASK_BYTES)]);
/* "die_segv (82891714)" of a task, "Trainer bob" of an actor. Both return `out`. */
#define WHY_NAME_TEXT 200
char *why_name_of_task(const struct ray_attempt *attempt, char out[WHY_NAME_TEXT]);
char *why_name_of_actor(const struct ray_actor *actor, char out[WHY_NAME_TEXT]);
/* "762@10.0.0.7": as other commands take it. */
char *why_name_of_worker(const struct why_records *records, const struct ray_worker *worker,
                         char out[WHY_NAME_TEXT]);
/* Add a link for the row with this id, if it is known. */
void why_link_worker(const struct why_records *records, const char *worker_id,
                     struct why_report *report);
void why_link_actor(const struct why_records *records, const char *actor_id,
                    struct why_report *report);
void why_link_task(const struct ray_attempt *attempt, struct why_report *report);
/* "failed", "waiting", "running", "finished". */
const char *why_state_name(enum ray_attempt_state state);

/* The process that submitted the task: its parent's worker, or its job's driver; NULL if it is not
 * known. */
const struct ray_worker *why_owner_of_task(const struct why_records *records,
                                           const struct ray_attempt *attempt);
/* The process that submitted a waiting task, if it has ended: Ray then never runs the task, and
 * lists it as it was for ever (docs/facts/ray.md#10.6). NULL if the owner lives or is not known; of
 * a call that is in its actor's queue, since the actor may run it all the same; and of an actor's
 * creation, which is the GCS's affair. */
const struct ray_worker *why_dead_owner_of_task(const struct why_records *records,
                                                const struct ray_attempt *attempt);
/* True if nothing that lives can start the waiting attempt: its job or its owner has ended. */
bool why_never_runs(const struct why_records *records, const struct ray_attempt *attempt);
const struct ray_worker *why_driver_of_job(const struct why_records *records, const char *job_id);

#endif
