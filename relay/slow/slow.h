/* Why a job is slow: findings from the attempts of its tasks. Times are us. Pure. */
#ifndef RAYDBG_RELAY_SLOW_SLOW_H
#define RAYDBG_RELAY_SLOW_SLOW_H

#include "relay/why_records/why_records.h"
#include "relay/why_records/why_report.h"

struct slow_query {
    const char *job;  /* the beginning of its id; NULL: the job that has submitted a task last */
    const char *name; /* a glob: only findings on tasks of such a name; NULL: all */
    int64_t since_us; /* leaves out attempts that ended before, since the epoch; 0: none */
};

struct slow_figure {
    const char *name; /* "overhead_ms" */
    double value;
};

/* Owns its texts. */
struct slow_finding {
    const char *code; /* of its rule, stable: "too_small" */
    char *name;       /* of the tasks; "driver"; "new processes" */
    size_t count;     /* of the tasks, or of the processes */
    int64_t
        execute_us; /* the median of the time in the user's code; -1: unknown, or of processes */
    char *cause, *advice; /* each a phrase without its full stop */
    int64_t cost_us;      /* about the time by which the job took longer: orders the findings */
    struct slow_figure figures[4];
    size_t figure_count;
};

struct slow_report {
    char job_id[ID_TEXT(ID_JOB_BYTES)]; /* "" if there is no task at all */
    size_t tasks;                       /* of the job; these figures know no glob */
    size_t names;                       /* that were looked at */
    size_t nodes;                       /* on which its tasks ran */
    int64_t busy_us;                    /* in which at least one task of the job waited or ran */
    double running;                     /* how many ran at a time in that time, on average */
    double cpus;                        /* of the live nodes, as Ray was told; -1: unknown */
    size_t kept;                        /* attempts that Ray has, of all jobs */
    int64_t dropped;                    /* state changes that it has forgotten */
    struct slow_finding *findings;      /* the most costly first */
    size_t count;
    struct why_list looked_for; /* by all rules that could judge */
    struct why_list unknown;    /* what could not be judged, and why */
};

/* The attempts need their timing. Returns -1, with `err` set and nothing to clear, if there is no
 * such job, or none of its tasks has such a name. */
int slow_make(const struct why_records *records, const struct slow_query *query,
              struct slow_report *out, struct err *err);
void slow_clear(struct slow_report *report);

/* "0.02 ms", "50 ms", "3.0 s", "2 m"; "?" for less than 0. Returns `out`. */
char *slow_span(int64_t us, char out[WHY_SPAN_TEXT]);

#endif
