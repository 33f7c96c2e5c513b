/* Ray's records of its cluster, in the same shape from the GCS and from the dashboard.
 *
 * Ids are lower-case hex text; "" where unknown. Strings are owned by the record set they are in
 * and are as Ray sent them (not yet fit for a terminal). Times are ms since the epoch, 0 if
 * unknown. */
#ifndef RAYDBG_PROTO_RECORDS_H
#define RAYDBG_PROTO_RECORDS_H

#include "proto/runtime_env.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hex digits and the NUL. Ray: task 24 bytes, actor 16, job 4, node/worker/cluster 28. */
#define ID_TASK_BYTES 24
#define ID_ACTOR_BYTES 16
#define ID_JOB_BYTES 4
#define ID_UNIQUE_BYTES 28
#define ID_TEXT(bytes) (2 * (bytes) + 1)

struct ray_version {
    int major, minor, patch; /* all 0 if unknown */
};

struct ray_worker {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *ip;
    uint16_t port; /* of its gRPC server, 0 if unknown */
    int64_t pid;
    bool is_alive;
    bool is_driver;         /* worker_type DRIVER */
    uint16_t debugger_port; /* 0: never opened */
    int64_t paused_threads; /* ray_worker_paused_threads() */
    char *exit_type;        /* NULL while alive, e.g. "SYSTEM_ERROR" */
    char *exit_detail;
    char *
        init_error; /* the exception of an actor's __init__ that ended it; NULL if there was none */
    int64_t memory_at_death; /* bytes; 0 if Ray does not tell */
    int64_t launch_ms;       /* its raylet began to start it; from the GCS only */
    int64_t start_ms, end_ms;
};

/* The threads in debugpy.wait_for_client(), from Ray's record; 0 once a client is attached. It may
 * be wrong: the GCS reads the record, adds to the count and writes it back, so that of two threads
 * which pause or go on at once only one may count. A count below zero arrives as 2^32 - 1. */
int64_t ray_worker_paused_threads(int64_t recorded);

struct ray_task {
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char parent_task_id[ID_TEXT(ID_TASK_BYTES)]; /* the submitting task: it owns the results */
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" for a normal task */
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *name;          /* TaskInfoEntry.name: "square", "Trainer.step", or the user's name */
    char *func_or_class; /* func_or_class_name */
    int64_t pid;
    int attempt;
    int64_t running_ms; /* when it began to run */
};

struct ray_actor_death;
struct ray_resources;

struct ray_label {
    char *key, *value;
};

struct ray_labels {
    struct ray_label *items;
    size_t count;
};

struct ray_actor {
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)];
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *class_name;
    char *name; /* "" if it has none */
    char *repr_name;
    char *state; /* "ALIVE", … */
    int64_t pid;
    /* From the GCS only: */
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* of its last process */
    char owner_id[ID_TEXT(ID_UNIQUE_BYTES)];  /* the worker that made it */
    int64_t max_restarts;                     /* -1: any number */
    int64_t restarts;
    int64_t start_ms, end_ms;
    struct ray_actor_death *death;   /* NULL unless Ray says why it died; failure_records.h */
    struct ray_resources *resources; /* that it needs; NULL if it needs none */
    struct ray_labels selector;      /* of its node: ray_attempt.selector */
    bool installs_packages;
};

struct ray_node {
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *ip;
    char *hostname;
    uint16_t manager_port; /* the raylet's gRPC server */
    uint16_t agent_port;   /* its agent's gRPC server; 0 if unknown, as before Ray 2.55 */
    uint16_t metrics_port; /* its agent's Prometheus metrics, by HTTP; 0 if unknown */
    bool is_alive;
    bool is_head;
    int64_t start_ms;
    int64_t end_ms;           /* when Ray declared it dead */
    const char *end_reason;   /* NodeDeathInfo's: "UNEXPECTED_TERMINATION"; NULL if unknown */
    char *end_detail;         /* why, in Ray's words; NULL or "" if it does not say */
    struct ray_labels labels; /* "ray.io/node-id", and those of `ray start --labels` */
};

struct ray_job {
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    bool is_dead;
    char *entrypoint;
    char *driver_ip;
    int64_t driver_pid;
    bool is_internal;               /* of Ray's own: the dashboard's, for example */
    enum runtime_packages packages; /* of its workers */
    int64_t start_ms, end_ms;
    /* Of a job that was submitted, if the request asked for it; NULL otherwise. */
    char *submission_id;
    char *submission_status;  /* "FAILED" */
    char *submission_message; /* in Ray's words */
    bool has_exit_code;
    int exit_code; /* of the driver, if has_exit_code */
};

/* An entry of the legacy debugger: KV namespace "ray_pdb", key RAY_PDB_<uuid>
 * (docs/facts/pdb.md#1a). Ray <= 2.34 leaves node, worker, actor and task ids out. */
struct ray_pdb {
    char uuid[33];
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)];
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char *address; /* "localhost:39947" */
    char *proctitle;
    char *file;
    int64_t line;
    char *traceback;
    int64_t since_ms;
};

/* One worker's report about itself (GetCoreWorkerStats). */
struct ray_worker_stats {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" if it is no actor */
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    int64_t pid;
    int64_t running_tasks; /* count; correct even if the ids are missing */
    char (*running_task_ids)[ID_TEXT(ID_TASK_BYTES)];
    size_t running_task_id_count;
};

/* Frees what the records own and the array itself; NULL is fine. */
void ray_workers_free(struct ray_worker *workers, size_t count);
void ray_tasks_free(struct ray_task *tasks, size_t count);
void ray_actors_free(struct ray_actor *actors, size_t count);
void ray_labels_clear(struct ray_labels *labels);
void ray_nodes_free(struct ray_node *nodes, size_t count);
void ray_jobs_free(struct ray_job *jobs, size_t count);
void ray_pdbs_free(struct ray_pdb *pdbs, size_t count);
void ray_worker_stats_clear(struct ray_worker_stats *stats);

/* Writes an id from Ray as hex into `out`, which has ID_TEXT(id_len) characters: "" if its length
 * is not `id_len`, or if it is nil (all 0xFF). */
void record_set_id(char *out, size_t id_len, const uint8_t *bytes, size_t len);

/* "2.60.0", "3.0.0.dev0"; false if it does not begin with two numbers. */
bool ray_version_parse(const char *text, struct ray_version *out);
/* Negative, 0 or positive, like strcmp(). */
int ray_version_compare(struct ray_version a, int major, int minor, int patch);

#endif
