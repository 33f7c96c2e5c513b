/* The records of a cluster from which a cause follows. All times are ms since the epoch. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_WHY_RECORDS_H
#define RAYDBG_RELAY_WHY_RECORDS_WHY_RECORDS_H

#include "base/err.h"
#include "base/hash_index.h"
#include "proto/failure_records.h"
#include "relay/why_records/attempt_lists.h"
#include "relay/why_records/task_gauge.h"

/* The kinds of records, for what could not be asked. */
enum why_part {
    WHY_ATTEMPTS,
    WHY_WORKERS,
    WHY_ACTORS,
    WHY_NODES,
    WHY_JOBS,
    WHY_GROUPS,
    WHY_RESOURCES,
    WHY_PARTS,
};

/* The end of the standard error of a process, or of a node's raylet, or of what a node tells of the
 * runtime_envs that it sets up for a job; `problem` says why there is none. */
struct why_log {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* "" of a raylet, and of runtime_envs */
    bool of_runtime_env;
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *file; /* NULL if it was not found */
    char *text; /* NUL-terminated */
    char *problem;
};

/* The references of a process, or of the owner of something that waits. */
struct why_refs {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    struct ray_worker_objects *objects; /* NULL if it did not answer */
    char *problem;
};

/* The tasks that run on a node, by its metrics; or `problem`: why it has none. */
struct why_gauges {
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    struct task_gauges gauges;
    char *problem;
};

/* A task that is stopped in a debugger. Ray's pdb up to Ray 2.34 tells neither process nor task:
 * then it is one of the job's tasks of a name. */
struct why_pause {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char task_id[ID_TEXT(ID_TASK_BYTES)]; /* "": of the process's tasks it is not known which */
    char job_id[ID_TEXT(ID_JOB_BYTES)];   /* only without the two above, as the next two */
    char *task_name;
    int64_t since_ms; /* 0: unknown */
    char *location;   /* "app.py:22"; NULL if it is not known */
    char *holder;     /* "vim drives it through the relay 127.0.0.1:4713"; NULL: no client has it */
    bool is_pdb;      /* Ray's legacy debugger */
    bool is_post_mortem; /* an exception stopped it, not a breakpoint */
};

/* The answer of an object's owner. */
struct why_location {
    struct ray_object_location *location; /* NULL if the owner did not answer */
    char *problem;
};

/* Owns everything in it. Attempts are sorted by task id and number; all else is in Ray's order. */
struct why_records {
    int64_t now_ms;
    int64_t since_ms; /* for an overview: what failed before is left out */
    struct ray_attempt *attempts;
    size_t attempt_count;
    int64_t dropped; /* state changes that the GCS has forgotten */
    struct ray_worker *workers;
    size_t worker_count;
    struct ray_actor *actors;
    size_t actor_count;
    struct ray_node *nodes;
    size_t node_count;
    struct ray_job *jobs;
    size_t job_count;
    struct ray_group *groups;
    size_t group_count;
    struct ray_resource_state resources;
    struct err problems[WHY_PARTS]; /* code 0: the part was answered */
    struct why_log *logs;
    size_t log_count;
    struct why_refs *refs;
    size_t refs_count;
    struct why_gauges *gauges;
    size_t gauges_count;
    struct why_pause *pauses;
    size_t pause_count;
    /* The attempts of a first look, some time before: asked for if there may be a deadlock. */
    struct ray_attempt *earlier;
    size_t earlier_count;
    int64_t earlier_ms;                      /* when it was taken; 0: there was none */
    struct why_location location;            /* of the object in question */
    struct hash_index worker_ids, actor_ids; /* these by why_records_index() */
    struct attempt_lists lists;
};

/* "the free resources" */
const char *why_records_part_name(enum why_part part);
/* True if a part was not answered. */
bool why_records_has_gaps(const struct why_records *records);

void why_records_clear(struct why_records *records);
/* Forgets the references, so that they can be asked for anew. */
void why_records_clear_refs(struct why_records *records);
/* Makes look-ups of workers, actors and attempts quick, and says on which nodes actors are created;
 * call it when the tables are there, and after a change to them. */
void why_records_index(struct why_records *records);
/* Frees what that made: all is found by scans then. why_records_clear() does it, too. */
void why_records_clear_index(struct why_records *records);

/* Each NULL if there is none; ids may be "". */
const struct ray_worker *why_records_worker(const struct why_records *records,
                                            const char *worker_id);
const struct ray_actor *why_records_actor(const struct why_records *records, const char *actor_id);
const struct ray_node *why_records_node(const struct why_records *records, const char *node_id);
const struct ray_job *why_records_job(const struct why_records *records, const char *job_id);
const struct ray_group *why_records_group(const struct why_records *records, const char *group_id);
const struct why_log *why_records_log(const struct why_records *records, const char *worker_id);
const struct why_refs *why_records_refs(const struct why_records *records, const char *worker_id);
/* The pause in which the attempt is stopped, or may be, or NULL. What Ray's table of processes
 * tells has neither location nor holder. */
const struct why_pause *why_records_pause(const struct why_records *records,
                                          const struct ray_attempt *attempt);
/* Of the tasks of which a pause may be, of a process or of a name, how many run and how many of
 * these are stopped; both 1 if the pause is known to be the attempt's, and 0 if it has none. If
 * fewer are stopped than run, it is not known whether the attempt is. A relay, or a console, tells
 * of a process that it holds only that one of its tasks is stopped: then more may be (`at_least`).
 */
struct why_stops {
    size_t running, stopped;
    bool at_least;
};
struct why_stops why_records_stops(const struct why_records *records,
                                   const struct ray_attempt *attempt);
const struct why_gauges *why_records_gauges(const struct why_records *records, const char *node_id);
/* The last attempt of a task. */
const struct ray_attempt *why_records_attempt(const struct why_records *records,
                                              const char *task_id);
/* The first attempt of a list, or the one behind `after`, which is in it; NULL if there is none. In
 * the order of the attempts; without an index by a scan.
 *
 *     const struct ray_attempt *it = NULL;
 *     while ((it = why_records_next(records, ATTEMPTS_RUNNING, "", it)))
 *         … */
const struct ray_attempt *why_records_next(const struct why_records *records,
                                           enum attempt_list kind, const char *key,
                                           const struct ray_attempt *after);
/* True if a later attempt of the same task is known. */
bool why_records_is_retried(const struct why_records *records, const struct ray_attempt *attempt);
/* The attempt of the same task before this one; NULL if Ray has none. */
const struct ray_attempt *why_records_previous(const struct why_records *records,
                                               const struct ray_attempt *attempt);
/* True for the one attempt that a task is listed and counted by: its last. The row that Ray keeps
 * for a driver is no task. */
bool why_records_stands_for_task(const struct why_records *records,
                                 const struct ray_attempt *attempt);

/* True for a process whose row says that it lives and whose node lives: Ray leaves the rows of a
 * dead node's workers unchanged. */
bool why_records_is_alive(const struct why_records *records, const struct ray_worker *worker);
/* True for an attempt that Ray lists as RUNNING, unless its process or its actor is known to be
 * gone or, where nothing is known of the process, its job: if its owner dies, Ray is told nothing
 * more of it. */
bool why_records_is_running(const struct why_records *records, const struct ray_attempt *attempt);
/* True if the attempt's job has ended and nothing that lives can still start the attempt. Ray gives
 * a detached actor's calls, and the tasks that these start, the job that has made the actor (core
 * worker, `ActorHandle::CreationJobID`): they go on after that job's end. */
bool why_records_job_is_over(const struct why_records *records, const struct ray_attempt *attempt);
/* The process that an actor had before the one that it has, or had last: the last that ended of
 * those in which its calls were. NULL if Ray has no record of any. */
const struct ray_worker *why_records_previous_process(const struct why_records *records,
                                                      const struct ray_actor *actor);
/* The last attempt to create the actor; NULL if there is none. */
const struct ray_attempt *why_records_creation(const struct why_records *records,
                                               const struct ray_actor *actor);
/* When a process ended: with its node, if that died first; 0 if it lives. */
int64_t why_records_end_ms(const struct why_records *records, const struct ray_worker *worker);
/* The address of a node, "" if it is unknown. */
const char *why_records_ip(const struct why_records *records, const char *node_id);

#endif
