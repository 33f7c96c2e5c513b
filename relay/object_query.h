/* Filters, groups and sorts the rows of a sweep. Pure. An object that several processes refer to
 * counts its bytes once in a group, and its references each. */
#ifndef RAYDBG_RELAY_OBJECT_QUERY_H
#define RAYDBG_RELAY_OBJECT_QUERY_H

#include "relay/object_json.h"
#include "relay/object_sweep.h"

enum object_group_by {
    OBJECT_BY_NOTHING, /* one group with all rows */
    OBJECT_BY_NODE,    /* of the process that refers to it, as in `ray memory` */
    OBJECT_BY_CALL_SITE,
    OBJECT_BY_OWNER, /* the process that owns it */
    OBJECT_BY_TASK,  /* the task that made it: by its name where it was asked, else by its id (a
                        put's  begins "??": object_id_made_by()); a driver: "driver of job 01000000"
                      */
    OBJECT_BY_ACTOR, /* whose process refers to it */
    OBJECT_BY_JOB,
    OBJECT_BY_COUNT,
};
enum object_sort_by {
    OBJECT_SORT_SIZE,
    OBJECT_SORT_REFS,
    OBJECT_SORT_PID,
    OBJECT_SORT_AGE, /* since its creating task began; what is not known is last */
    OBJECT_SORT_COUNT,
};
/* "node", "call-site", … and "size", "refs", "pid", "age"; NULL past the last. */
const char *object_group_name(enum object_group_by by);
const char *object_sort_name(enum object_sort_by by);
bool object_group_parse(const char *name, enum object_group_by *out);
bool object_sort_parse(const char *name, enum object_sort_by *out);

/* What Ray, and so a group, says in place of a call site that was not recorded. */
#define OBJECT_NO_CALL_SITE "disabled"

struct object_query {
    enum object_group_by group_by;
    enum object_sort_by
        sort_by; /* of groups, and of rows within each; largest, pid: smallest first */
    /* Only rows that have this text (any case) in call site, reference, ip, node name, pid, class,
     * task's name, the object's or its task's id; NULL: all. */
    const char *filter;
    const char *task; /* only objects made by this task, or held by `task_worker`: an id's beginning
                         or a name (known of those that were asked for); NULL: all */
    const char *task_worker; /* the worker that runs `task`, by whoever knows (a pause does); NULL:
                                nobody does */
    const char *worker_id;   /* only what this process refers to; NULL: all */
};

struct object_group {
    char *key; /* what the rows have in common, for people: "10.0.0.7 (node-1)", a call site, … */
    const struct object_row **rows;                    /* sorted */
    size_t row_count;                                  /* references */
    size_t objects;                                    /* different ones */
    int64_t bytes;                                     /* of them; unknown sizes count as 0 */
    size_t unknown;                                    /* objects of unknown size */
    size_t by_reference[OBJECT_REFERENCE_UNKNOWN + 1]; /* rows of each kind */
    int64_t bytes_by_reference[OBJECT_REFERENCE_UNKNOWN + 1];
};

struct object_report {
    struct object_group *groups;
    size_t group_count;
    size_t rows, objects;
    int64_t bytes;
    const struct object_row **all; /* what the groups' rows are parts of */
};

/* The sweep must outlive the report. */
struct object_report *object_query_run(const struct object_query *query,
                                       const struct object_sweep *sweep);
void object_report_free(struct object_report **report);

#endif
