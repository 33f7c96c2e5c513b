/* Calls to a node's agent: its log files, and the Python stacks and profiles of its processes.
 * Callbacks run on the loop's thread, never from within the call.
 *
 * An agent lives as long as its raylet. It speaks at GcsNodeInfo.metrics_agent_port from Ray 2.55
 * on, and at an address in the GCS's key-value store before (agent_client_address()). */
#ifndef RAYDBG_PROTO_AGENT_CLIENT_H
#define RAYDBG_PROTO_AGENT_CLIENT_H

#include "proto/rpc.h"

#include <stdbool.h>

struct agent_client;
struct agent_log;

struct agent_client *agent_client_create(struct rpc *rpc,
                                         int64_t deadline_ms); /* `rpc` is borrowed */
void agent_client_destroy(
    struct agent_client **client); /* callbacks are dropped; cancel logs before */
/* Drops the lists, stacks and profiles with this `arg`: their callbacks do not run. */
void agent_client_forget(struct agent_client *client, const void *arg);

/* The keys of the namespace "dashboard" that lead to the agent of a node (56 hex digits), and the
 * reading of their values: Ray >= 2.44 has the first, ["10.0.0.7", 52365, 38593], Ray before the
 * second, [52365, 38593]. */
#define AGENT_KEY_TEXT 128
void agent_client_keys(const char *node_id, char newer[AGENT_KEY_TEXT], char older[AGENT_KEY_TEXT]);
/* The port of the agent's gRPC server, 0 if the value has none. */
uint16_t agent_client_port(const char *json, size_t len);

/* ListLogs: the files whose name matches, such as "worker-29e849*". The callee borrows the names.
 */
typedef void (*agent_list_fn)(void *arg, const struct err *err, char *const *names, size_t count);
void agent_client_list(struct agent_client *client, const char *address, const char *glob,
                       agent_list_fn fn, void *arg);

struct agent_log_part {
    const char
        *file;     /* as agent_client_list() names it, or a whole path within the log directory */
    int32_t lines; /* the last ones; -1: from `start` on */
    int64_t start, end; /* bytes, -1: from the beginning, to the end; not with `lines` */
    bool follow;        /* goes on at the end, until cancelled */
};

struct agent_log_calls {
    void (*bytes)(void *arg, const char *bytes, size_t len);
    void (*end)(void *arg, const struct err *err); /* once, last; not after agent_log_cancel() */
};

/* StreamLog; without a deadline, since `bytes` may take its time: the caller cancels it. `calls`
 * must live as long as the log. The log is freed after `end`. */
struct agent_log *agent_client_read(struct agent_client *client, const char *address,
                                    const struct agent_log_part *part,
                                    const struct agent_log_calls *calls, void *arg);
void agent_log_cancel(struct agent_log **log);

/* GetTraceback: the stacks of a process of the node, as py-spy prints them; the callee borrows the
 * text. py-spy stops the process while it reads, for some milliseconds. `err` if the agent does not
 * answer, if its text is larger than AGENT_TEXT_MAX, or if py-spy could not: then err->why has its
 * words. `warning` is memray's, else "". */
enum { AGENT_TEXT_MAX = 16 << 20 };
typedef void (*agent_stack_fn)(void *arg, const struct err *err, const char *text,
                               const char *warning);
void agent_client_stack(struct agent_client *client, const char *address, int64_t pid, bool native,
                        agent_stack_fn fn, void *arg);

struct agent_profile {
    int64_t pid;
    uint32_t seconds; /* not 0; the deadline is so much later */
    bool native;      /* with the frames of C code */
    bool idle;        /* also threads that wait; ignored by agents before Ray 2.60 */
    bool memory;      /* of the memory instead of the CPU */
};

/* CpuProfiling: py-spy's samples of a process, 100 a second, as folded stacks: a line for each
 * stack, outermost frame first, and how often it was seen. MemoryProfiling: memray's HTML; memray
 * runs in the process, and stays there if the call is given up. */
void agent_client_profile(struct agent_client *client, const char *address,
                          const struct agent_profile *profile, agent_stack_fn fn, void *arg);

#endif
