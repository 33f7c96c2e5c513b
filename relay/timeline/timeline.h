/* The attempts of a cluster's tasks as spans of time in lanes. Within a lane two spans are either
 * apart or one encloses the other. Times are us since the epoch, by the clock of the span's node.
 * Pure. */
#ifndef RAYDBG_RELAY_TIMELINE_TIMELINE_H
#define RAYDBG_RELAY_TIMELINE_TIMELINE_H

#include "relay/why_records/why_records.h"

enum timeline_kind {
    TIMELINE_WAIT,  /* from the submission of an attempt to its run */
    TIMELINE_PHASE, /* a part of a wait; `name` says what it waits for */
    TIMELINE_RUN,   /* from the start of an attempt in its process to its end */
    TIMELINE_EVENT, /* what the process has recorded; `name` is Ray's, "task:execute" */
    TIMELINE_PAUSE, /* within a run: a thread of its process was stopped in a debugger */
};

enum timeline_end {
    TIMELINE_FINISHED,
    TIMELINE_FAILED,
    TIMELINE_GOES_ON, /* it runs, or waits, at the time of the look */
    TIMELINE_UNKNOWN, /* its process, actor or job has ended, and Ray was told nothing more */
};

/* A pause of a process that a relay has recorded, by the relay's clock. */
struct timeline_pause {
    const char *worker_id, *task_id; /* task "": it is not known which of the process's */
    const char *reason, *file;       /* of DAP's `stopped`; file NULL: unknown */
    int64_t line;
    int64_t start_us, end_us; /* end 0: it goes on */
};

struct timeline_pauses {
    const struct timeline_pause *items;
    size_t count;
};

struct timeline_span {
    enum timeline_kind kind;
    enum timeline_end end; /* of a wait and of a run */
    bool start_unknown;    /* of a run that died before Ray was told of its start: begins with the
                              submission to its process */
    bool is_paused; /* of a run that goes on: a thread of its process is stopped in a debugger */
    int64_t start_us, end_us;
    const char *name; /* in the records, or static */
    const struct ray_attempt *attempt;
    const struct timeline_pause *pause; /* of a pause, else NULL */
    const char *node_id, *worker_id;    /* of a run: its process; "" if unknown */
    size_t lane;
};

/* A lane of a process; or, with the node TIMELINE_NO_NODE, of waiting attempts. */
struct timeline_lane {
    size_t node;                     /* index of timeline.nodes */
    size_t number;                   /* of the process's lanes, from 0 */
    const char *worker_id;           /* in the records; "" of waiting attempts */
    const struct ray_worker *worker; /* NULL if Ray has no row of it */
    int64_t pid;                     /* 0: unknown */
    bool is_driver;
};
#define TIMELINE_NO_NODE SIZE_MAX

struct timeline_node {
    const char *node_id;         /* in the records; "" if it is unknown */
    const struct ray_node *node; /* NULL if Ray has no row of it */
};

/* Borrows from the records and the pauses. */
struct timeline {
    struct timeline_span *spans; /* by lane and then by time, an enclosing span first */
    size_t count;
    struct timeline_lane *lanes; /* by node and process; those of waiting attempts last */
    size_t lane_count;
    struct timeline_node *nodes;
    size_t node_count;
    int64_t start_us, end_us; /* of all spans */
    int64_t now_us;
    size_t attempts, failed, running, paused, waiting; /* attempts, but no drivers */
    size_t processes;
    size_t left_out; /* waits without a lane: only TIMELINE_WAIT_LANES are made */
};

enum { TIMELINE_WAIT_LANES = 400 };

/* `job` is the beginning of a job's id; NULL: all jobs. The attempts need their timing. Of a pause,
 * the part is shown in which its task ran; `pauses` may be NULL. */
void timeline_make(const struct why_records *records, const char *job,
                   const struct timeline_pauses *pauses, struct timeline *out);
void timeline_clear(struct timeline *timeline);

#endif
