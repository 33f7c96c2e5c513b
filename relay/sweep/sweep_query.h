/* Filters, groups and sorts the rows of a sweep. Pure. In a group, the bytes of an object count
 * once, and each reference to it counts. */
#ifndef RAYDBG_RELAY_SWEEP_SWEEP_QUERY_H
#define RAYDBG_RELAY_SWEEP_SWEEP_QUERY_H

#include "relay/sweep/object_sweep.h"
#include "relay/sweep/sweep_json.h"

enum object_group_by {
    OBJECT_BY_NOTHING, /* one group with all rows */
    OBJECT_BY_NODE,    /* of the process that refers to it, as in `ray memory` */
    OBJECT_BY_CALL_SITE,
    OBJECT_BY_OWNER, /* the process that owns it */
    /* The task that made it: its name if it was asked for, else its id (a put's begins with "??":
     * object_id_made_by()); for a driver "driver of job 01000000". */
    OBJECT_BY_TASK,
    OBJECT_BY_ACTOR, /* the actor whose process refers to it */
    OBJECT_BY_JOB,
    OBJECT_BY_COUNT,
};
enum object_sort_by {
    OBJECT_SORT_SIZE,
    OBJECT_SORT_REFS,
    OBJECT_SORT_PID,
    OBJECT_SORT_AGE, /* since its creating task began; unknown ages are last */
    OBJECT_SORT_COUNT,
};
/* "node", "call-site", … and "size", "refs", "pid", "age"; NULL past the last. */
const char *object_group_name(enum object_group_by by);
const char *sweep_query_sort_name(enum object_sort_by by);
bool object_group_parse(const char *name, enum object_group_by *out);
bool sweep_query_sort_parse(const char *name, enum object_sort_by *out);

/* Ray's text, and so a group's key, for a call site that was not recorded. */
#define OBJECT_NO_CALL_SITE "disabled"

struct sweep_query {
    enum object_group_by group_by;
    /* The order of groups, and of rows within each: largest first, but smallest pid first. */
    enum object_sort_by sort_by;
    /* Only rows that have this text (any case) in call site, reference type, ip, node name, pid,
     * actor class, task name, or the id of the object or its task; NULL: all. */
    const char *filter;
    /* Only objects made by this task, or held by `task_worker`: the beginning of an id, or a name
     * (of tasks that were asked for); NULL: all. */
    const char *task;
    /* The worker that runs `task`, for example by a pause; NULL: unknown. */
    const char *task_worker;
    const char *worker_id; /* only references of this process; NULL: all */
};

struct object_group {
    char *key; /* what the rows have in common, for display: "10.0.0.7 (node-1)", a call site, … */
    const struct object_row **rows; /* sorted */
    size_t row_count;               /* references */
    size_t objects;                 /* different objects */
    int64_t bytes;                  /* of the objects; unknown sizes count as 0 */
    size_t unknown;                 /* objects of unknown size */
    size_t by_reference[OBJECT_REFERENCE_UNKNOWN + 1]; /* rows of each kind */
    int64_t bytes_by_reference[OBJECT_REFERENCE_UNKNOWN + 1];
};

struct object_report {
    struct object_group *groups;
    size_t group_count;
    size_t rows, objects;
    int64_t bytes;
    const struct object_row **all; /* the array that the groups' rows are parts of */
};

/* The sweep must outlive the report. */
struct object_report *sweep_query_run(const struct sweep_query *query,
                                      const struct object_sweep *sweep);
void object_report_free(struct object_report **report);

#endif
