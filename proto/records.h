/* What Ray says of its cluster, the same shape whether it came from the GCS or the dashboard.
 *
 * Ids are lower-case hex text; "" where unknown. Strings are owned by the record set they are in
 * and are as Ray sent them (not yet fit for a terminal). Times are ms since the epoch, 0 if
 * unknown. */
#ifndef RAYDBG_PROTO_RECORDS_H
#define RAYDBG_PROTO_RECORDS_H

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
    int64_t paused_threads; /* threads in debugpy.wait_for_client(); 0 once a client attached */
    char *exit_type;        /* NULL while alive, e.g. "SYSTEM_ERROR" */
    char *exit_detail;
    int64_t start_ms, end_ms;
};

struct ray_task {
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char parent_task_id[ID_TEXT(ID_TASK_BYTES)]; /* which submitted it, and so owns its results */
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" for a normal task */
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *name;          /* TaskInfoEntry.name: "square", "Trainer.step", or what the user gave */
    char *func_or_class; /* func_or_class_name */
    int64_t pid;
    int attempt;
    int64_t running_ms; /* when it began to run */
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
};

struct ray_node {
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *ip;
    char *hostname;
    uint16_t manager_port; /* the raylet's gRPC server */
    bool is_alive;
    bool is_head;
};

struct ray_job {
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    bool is_dead;
    char *entrypoint;
    char *driver_ip;
    int64_t driver_pid;
};

/* An entry of the legacy debugger: KV namespace "ray_pdb", key RAY_PDB_<uuid> (pdb-facts.md 1a).
 * Ray <= 2.34 leaves node, worker, actor and task ids out. */
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

/* What one worker says of itself (GetCoreWorkerStats). */
struct ray_worker_stats {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)]; /* "" if it is no actor */
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    int64_t pid;
    int64_t running_tasks; /* count; right even where the ids are not told */
    char (*running_task_ids)[ID_TEXT(ID_TASK_BYTES)];
    size_t running_task_id_count;
};

/* Frees what the records own and the array itself; NULL is fine. */
void ray_workers_free(struct ray_worker *workers, size_t count);
void ray_tasks_free(struct ray_task *tasks, size_t count);
void ray_actors_free(struct ray_actor *actors, size_t count);
void ray_nodes_free(struct ray_node *nodes, size_t count);
void ray_jobs_free(struct ray_job *jobs, size_t count);
void ray_pdbs_free(struct ray_pdb *pdbs, size_t count);
void ray_worker_stats_clear(struct ray_worker_stats *stats);

/* Writes an id that Ray sent into ID_TEXT(id_len) characters: "" for one of another length than
 * `id_len`, and for a nil one (all 0xFF). */
void ray_id_set(char *out, size_t id_len, const uint8_t *bytes, size_t len);

/* "2.60.0", "3.0.0.dev0"; false if it does not begin with two numbers. */
bool ray_version_parse(const char *text, struct ray_version *out);
/* Negative, 0 or positive, as strcmp. */
int ray_version_compare(struct ray_version a, int major, int minor, int patch);

#endif
