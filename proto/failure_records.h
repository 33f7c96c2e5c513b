/* Ray's records of what failed and what waits: attempts of tasks with their errors, causes of
 * actors' deaths, placement groups, and the resources of nodes. The same shape for every version of
 * Ray; conventions as in records.h. */
#ifndef RAYDBG_PROTO_FAILURE_RECORDS_H
#define RAYDBG_PROTO_FAILURE_RECORDS_H

#include "proto/object_records.h"

/* 18 bytes: 14 of its own, 4 of its job. */
#define ID_GROUP_BYTES 18

struct ray_resource {
    char *name; /* "CPU"; of a placement group's bundle "CPU_group_<group id>" */
    double amount;
};

struct ray_resources {
    struct ray_resource *items;
    size_t count;
};

/* enum ray_task_status continued: the states of an attempt, in the numbers of Ray >= 2.39. */
enum ray_attempt_state {
    RAY_ATTEMPT_UNKNOWN = 0,
    RAY_ATTEMPT_PENDING_ARGS = 1,
    RAY_ATTEMPT_PENDING_NODE = 2,
    RAY_ATTEMPT_SUBMITTED = 5,
    RAY_ATTEMPT_RUNNING = 8,
    RAY_ATTEMPT_FINISHED = 11,
    RAY_ATTEMPT_FAILED = 12,
    RAY_ATTEMPT_STATES = 14, /* how many there are */
};

enum ray_task_type {
    RAY_NORMAL_TASK = 0,
    RAY_ACTOR_CREATION_TASK = 1,
    RAY_ACTOR_TASK = 2,
    RAY_DRIVER_TASK = 3,
};

/* Ray's ErrorType; a number is never reused. */
enum ray_error_type {
    RAY_ERROR_WORKER_DIED = 0,
    RAY_ERROR_ACTOR_DIED = 1,
    RAY_ERROR_TASK_EXECUTION_EXCEPTION = 3,
    RAY_ERROR_TASK_CANCELLED = 5,
    RAY_ERROR_ACTOR_CREATION_FAILED = 6,
    RAY_ERROR_RUNTIME_ENV_SETUP_FAILED = 7,
    RAY_ERROR_OWNER_DIED = 9,
    RAY_ERROR_OUT_OF_MEMORY = 22,
    RAY_ERROR_NODE_DIED = 23,
    RAY_ERROR_ACTOR_UNAVAILABLE = 25,
    RAY_ERROR_WORKER_STARTUP_FAILED = 33,
};
/* "TASK_CANCELLED"; NULL for a number that is newer than the table. */
const char *ray_error_type_name(int type);
/* The type in plain words: "somebody cancelled it with ray.cancel"; NULL as above. */
const char *ray_error_type_words(int type);

enum ray_death_context {
    RAY_DEATH_NONE,
    RAY_DEATH_CREATION_FAILED, /* __init__ raised */
    RAY_DEATH_RUNTIME_ENV,
    RAY_DEATH_DIED,
    RAY_DEATH_UNSCHEDULABLE,
    RAY_DEATH_OUT_OF_MEMORY,
};

/* ActorDiedErrorContext.Reason, from Ray 2.40 on. */
enum ray_death_reason {
    RAY_REASON_UNKNOWN,
    RAY_REASON_WORKER_DIED,
    RAY_REASON_OWNER_DIED,
    RAY_REASON_NODE_DIED,
    RAY_REASON_RAY_KILL,
    RAY_REASON_OUT_OF_SCOPE,
    RAY_REASON_REF_DELETED,
};

/* Why an actor died (ActorDeathCause). */
struct ray_actor_death {
    enum ray_death_context context;
    enum ray_death_reason reason; /* of RAY_DEATH_DIED */
    bool never_started;
    char owner_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* the worker that owned the actor */
    char *message; /* in Ray's words, or the exception's; NULL if it has none */
};

/* A range of a file; -1 where unknown. */
struct ray_log_range {
    char *file; /* the whole path on its node; NULL if unknown */
    int64_t start, end;
};

/* A span that a process has recorded while it ran or submitted an attempt (ProfileEvents):
 * "task::NAME" for the whole of it, "task:deserialize_arguments", "task:execute", "submit_task". */
struct ray_event {
    char *name;
    int64_t start_ns, end_ns; /* since the epoch, by the clock of the process's node */
};

struct ray_timing {
    int64_t state_ns[RAY_ATTEMPT_STATES]; /* as ray_attempt.state_ms */
    struct ray_event *events;
    size_t event_count;
};

/* One attempt of a task (TaskEvents). */
struct ray_attempt {
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char parent_task_id[ID_TEXT(ID_TASK_BYTES)];
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    /* Of an actor's creation it is known from the first of its events on, within a second. */
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char group_id[ID_TEXT(ID_GROUP_BYTES)];
    char *name;
    char *func_or_class;
    int type; /* enum ray_task_type */
    int attempt;
    int64_t pid;
    enum ray_attempt_state state;         /* the last one that Ray was told */
    int64_t state_ms[RAY_ATTEMPT_STATES]; /* when each state began; 0: it has not */
    struct ray_resources resources;       /* that it needs */
    /* The labels that its node must have, from Ray 2.49 on. A value is "eu", "!eu", "in(eu,us)" or
     * "!in(eu,us)". */
    struct ray_labels selector;
    bool installs_packages; /* its runtime_env has pip, uv or conda */
    bool has_fallback;      /* other labels will do, too: those of its fallback_strategy */
    bool has_error;
    int error_type;      /* if has_error */
    char *error_message; /* in Ray's words; NULL if there is none */
    struct ray_actor_death death;
    struct ray_log_range out, err;
    /* How the function ended, from the profile event of its execution; NULL if Ray has none. */
    char *raised_type;         /* "<class 'SystemExit'>" */
    char *raised_value;        /* "1" */
    char *raised_traceback;    /* Python's */
    struct ray_timing *timing; /* NULL unless it was asked for */
};

struct ray_group {
    char group_id[ID_TEXT(ID_GROUP_BYTES)];
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char *name;
    const char *state;            /* "PENDING", "CREATED", … */
    const char *scheduling_state; /* "NO_RESOURCES", "INFEASIBLE", … */
    const char *strategy;         /* "PACK", … */
    struct ray_resources *bundles;
    size_t bundle_count;
};

/* A live node's resources (NodeState). */
struct ray_node_resources {
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    struct ray_resources free,
        total; /* a resource of which nothing is free may be missing in `free` */
};

/* Tasks and actors that wait for the same resources. */
struct ray_demand {
    struct ray_resources shape;
    int64_t count;
};

/* GetClusterResourceState. */
struct ray_resource_state {
    struct ray_node_resources *nodes;
    size_t node_count;
    struct ray_demand *demands;
    size_t demand_count;
};

void ray_resources_clear(struct ray_resources *resources);
/* 0 if there is none of that name. */
double ray_resources_amount(const struct ray_resources *resources, const char *name);
void ray_actor_death_clear(struct ray_actor_death *death);
/* True if the attempt has finished or failed. */
bool ray_attempt_is_over(const struct ray_attempt *attempt);
void ray_attempts_free(struct ray_attempt *attempts, size_t count);
void ray_groups_free(struct ray_group *groups, size_t count);
void ray_resource_state_clear(struct ray_resource_state *state);

#endif
