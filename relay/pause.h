/* One pause: a worker that waits in a debugger, with all that is known of what it was running.
 * Pure data and pure functions; the cluster fills it. */
#ifndef RAYDBG_RELAY_PAUSE_H
#define RAYDBG_RELAY_PAUSE_H

#include "base/err.h"
#include "proto/records.h"

#include <stdbool.h>

enum pause_debugger { PAUSE_DEBUGPY, PAUSE_PDB };

enum pause_state {
    PAUSE_WAITING,  /* a thread waits for a client */
    PAUSE_ATTACHED, /* a task runs with its debugger open and nobody waits: a client is attached, or
                       was (the GCS does not say which) */
    PAUSE_HELD,     /* a relay is attached and keeps it; clients or not */
    PAUSE_IDLE,     /* the debugger is open but the worker runs nothing: listed with --all only */
};

/* Strings are owned; NULL where unknown. Ids are "" where unknown. */
struct pause {
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    char *task_name;
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)];
    char *actor_class;
    char *actor_name;
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *node_ip;
    char *node_name; /* hostname */
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    int64_t pid;
    enum pause_debugger debugger;
    char *host; /* of the debugger's endpoint */
    uint16_t port;
    enum pause_state state;
    int64_t paused_threads; /* -1 if unknown */
    /* Several tasks run in the worker and the cluster cannot say which of them is paused (threaded
     * and async actors): `task_id` is the first, `candidates` has all, and `task_name` is what all
     * of them are called, or NULL. DAP threads decide. */
    bool ambiguous;
    /* Ray has not told the name of a task that runs here: it may, a second or so later. */
    bool name_pending;
    char (*candidates)[ID_TEXT(ID_TASK_BYTES)];
    size_t candidate_count;
    char *file; /* NULL until somebody attached, but for pdb */
    int64_t line;
    /* What a relay knows of a pause that it holds: why it stopped (DAP's word; NULL while it runs),
     * how many clients it has, which one drives (NULL: none), since when (epoch; 0: not held). */
    char *reason;
    int64_t clients;
    char *driver;
    int64_t held_ms;
    char breakpoint[33];                         /* pdb: the uuid that Ray has for it */
    char parent_task_id[ID_TEXT(ID_TASK_BYTES)]; /* which submitted the task */
    int64_t since_ms; /* epoch; 0 if unknown. pdb: the breakpoint; debugpy: the task's start */
};

struct pause_list {
    struct pause *items;
    size_t count;
};

const char *pause_state_name(enum pause_state state);      /* "waiting", … */
const char *pause_debugger_name(enum pause_debugger kind); /* "debugpy", "pdb" */
bool pause_debugger_parse(const char *name, enum pause_debugger *out);
bool pause_state_parse(const char *name, enum pause_state *out);
/* What `since_ms` is the time of: "breakpoint" (pdb), "task_start" (debugpy: the GCS does not know
 * when the breakpoint was reached), NULL if it is unknown. */
const char *pause_since_source(const struct pause *pause);

void pause_copy(struct pause *to, const struct pause *from);
void pause_clear(struct pause *pause);
void pause_list_clear(struct pause_list *list);
/* Whether two rows are the same pause, perhaps at different times: one worker's debugpy, or one
 * endpoint of pdb. */
bool pause_same(const struct pause *a, const struct pause *b);
/* Whether two rows say the same in everything. */
bool pause_equal(const struct pause *a, const struct pause *b);

/* The job id as Ray's own tools would count it: "01000000" is job "01", "0a010000" is "0a01". */
void pause_short_job(const char *job_id, char out[ID_TEXT(ID_JOB_BYTES)]);
/* NODE is the pause's node: an ip, a hostname, or an id prefix of at least 4 digits. */
bool pause_on_node(const struct pause *pause, const char *node);
/* ACTOR is the pause's actor: an id prefix of at least 4 digits, a class or a name. */
bool pause_of_actor(const struct pause *pause, const char *actor);
/* JOB is the pause's job, in full or as pause_short_job() gives it. */
bool pause_of_job(const struct pause *pause, const char *job);

/* What to call it in a message: "Trainer.step (c2668a) on 10.0.0.7 pid 5935". */
void pause_title(const struct pause *pause, char *out, size_t size);

/* The shortest prefix, of at least 6 digits, of `index`'s task id (worker id if it has no task)
 * that no other pause of the list has. */
void pause_short_id(const struct pause_list *list, size_t index,
                    char out[ID_TEXT(ID_UNIQUE_BYTES)]);

/* How many digits that is of each row's id, for the whole list at once; the caller frees. */
size_t *pause_short_lengths(const struct pause_list *list);

/* The pauses that TASK names: a task id or unique prefix (4 digits or more; a candidate's too), a
 * task name, an actor id or prefix, class or name, a worker id prefix, PID@NODE (node: ip,
 * hostname, or id prefix), PID alone. An exact match of a better kind (id, then name) hides the
 * others. `*matches` (caller frees) has indices. */
void pause_find(const struct pause_list *list, const char *task, size_t **matches, size_t *count);
/* Whether TASK names this pause, in any of these ways. */
bool pause_is_called(const struct pause *pause, const char *task);

#endif
