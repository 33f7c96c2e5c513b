/* One pause: a worker that waits in a debugger, with everything known about the task that it runs.
 * Pure data and pure functions; relay/cluster fills it. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_H
#define RAYDBG_RELAY_PAUSE_PAUSE_H

#include "base/err.h"
#include "proto/records.h"

#include <stdbool.h>

enum pause_debugger {
    PAUSE_DEBUGPY,
    PAUSE_PDB,
    PAUSE_PYDEVD, /* a pydevd that has dialled the relay; its endpoint is its own end of that
                     connection */
};

enum pause_state {
    PAUSE_WAITING,  /* a thread waits for a client */
    PAUSE_ATTACHED, /* a task runs with its debugger open and no thread waits: a client is attached,
                       or was (the GCS does not say which) */
    PAUSE_HELD,     /* a relay is attached and holds the pause, with or without clients */
    PAUSE_IDLE,     /* the debugger is open but the worker runs nothing: listed with --all only */
};

/* Strings are owned; NULL where unknown. Ids are "" where unknown. A relay has two of these for
 * each of its sessions: the order of the members leaves no gaps. */
struct pause {
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char parent_task_id[ID_TEXT(ID_TASK_BYTES)]; /* the task that submitted this one */
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)];
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char run[33]; /* the id of the agent key of a process that has dialled the relay: each `raydbg
                     run` has a key of its own; or "" */
    /* Ray's uuid of the breakpoint. pdb: always; a process of `raydbg run`: of a step into a remote
     * task; debugpy: not known. */
    char breakpoint[33];
    char *task_name;
    char *actor_class;
    char *actor_name;
    char *node_ip;
    char *node_name; /* hostname */
    char *host;      /* of the debugger's endpoint */
    int64_t pid;
    int64_t paused_threads; /* -1 if unknown */
    enum pause_debugger debugger;
    enum pause_state state;
    uint16_t port; /* of the debugger's endpoint */
    /* Several tasks run in the worker (threaded and async actors) and the cluster does not know
     * which of them is paused: `task_id` is the first, `candidates` has all, and `task_name` is
     * their common name, or NULL. DAP's threads show which one it is. */
    bool ambiguous;
    /* Ray has not reported the name of a task that runs here: it may do so a second or so later. */
    bool name_pending;
    /* A client that had the stop of `stopped_ms` has left it there. */
    bool client_left;
    char (*candidates)[ID_TEXT(ID_TASK_BYTES)];
    size_t candidate_count;
    char *file; /* NULL until a client has attached, except with pdb */
    int64_t line;
    /* Known of a pause that a relay holds: the reason of DAP's `stopped` (NULL while it runs), the
     * number of clients, the client that drives (NULL: none), since when it is held (ms since the
     * epoch; 0: not held). */
    char *reason;
    int64_t clients;
    char *driver;
    int64_t held_ms;
    /* When its last stop came (ms since the epoch; 0: it runs, or that is not known), which tells
     * that stop from all others of its process. */
    int64_t stopped_ms;
    int64_t since_ms; /* epoch; 0 if unknown. pdb: the breakpoint; debugpy: the task's start */
};

struct pause_list {
    struct pause *items;
    size_t count;
};

const char *pause_state_name(enum pause_state state);      /* "waiting", … */
const char *pause_debugger_name(enum pause_debugger kind); /* "debugpy", "pdb", "pydevd" */
bool pause_debugger_parse(const char *name, enum pause_debugger *out);
bool pause_state_parse(const char *name, enum pause_state *out);
/* The event at `since_ms`: "breakpoint" (pdb), "task_start" (debugpy: the GCS does not know when
 * the breakpoint was reached), NULL if `since_ms` is unknown. */
const char *pause_since_source(const struct pause *pause);

void pause_copy(struct pause *to, const struct pause *from);
void pause_clear(struct pause *pause);
void pause_list_clear(struct pause_list *list);
/* True if two rows are the same pause, perhaps at different times: one worker's debugpy, one
 * endpoint of pdb, or one pydevd that has dialled the relay, whose worker id is known only later if
 * it is a driver's. */
bool pause_same(const struct pause *a, const struct pause *b);
/* The same, and it has not gone on between the two. Without `stopped_ms`, which an older relay does
 * not tell, two stops of one task at one line are the same. */
bool pause_same_stop(const struct pause *a, const struct pause *b);
/* A hash of an endpoint; `host` may be NULL. */
uint64_t pause_endpoint_hash(const char *host, uint16_t port);
/* True if two rows are equal in every field. */
bool pause_equal(const struct pause *a, const struct pause *b);

/* True if `list` shows that the worker of `pause` has stopped running its task. False for a pause
 * without a task: a driver's, or that of a thread that outlives the call which started it. */
bool pause_is_over(const struct pause *pause, const struct pause_list *list);
/* True if `node` is the pause's node: an ip, a hostname, or an id prefix of at least 4 digits. */
bool pause_on_node(const struct pause *pause, const char *node);
/* True if `actor` is the pause's actor: an id prefix of at least 4 digits, a class or a name. */
bool pause_of_actor(const struct pause *pause, const char *actor);
/* True if `job` is the pause's job, in full or in short. */
bool pause_of_job(const struct pause *pause, const char *job);

/* The pause's name in a message: "Trainer.step (c2668a) on 10.0.0.7 pid 5935". */
void pause_title(const struct pause *pause, char *out, size_t size);

/* The shortest prefix, of at least 6 digits, of `index`'s task id (worker id if it has no task)
 * that no other pause of the list has. */
void pause_short_id(const struct pause_list *list, size_t index,
                    char out[ID_TEXT(ID_UNIQUE_BYTES)]);

/* The lengths of all rows' pause_short_id(), computed at once; the caller frees. */
size_t *pause_short_lengths(const struct pause_list *list);

/* The pauses that `task` names: a task id or prefix (4 digits or more; a candidate's, too), a task
 * name, an actor id or prefix, class or name, a worker id or prefix, PID@NODE (node: ip, hostname,
 * or id prefix), PID alone. Only the best kind of match counts: a full id, then a name, PID, a task
 * id's prefix, another prefix. An idle worker matches only if nothing else does, another idle one
 * included. `*matches` (the caller frees) has indices. */
void pause_find(const struct pause_list *list, const char *task, size_t **matches, size_t *count);
/* True if `task` names this pause, in any of these ways. */
bool pause_is_called(const struct pause *pause, const char *task);

#endif
