/* The attempts of one job, prepared for the rules. A state's time is by the clock of the process
 * that submitted the attempt, a run's time by that of the process that ran it: the clocks of two
 * nodes may differ, so rules compare times of one clock, or spans. Pure. */
#ifndef RAYDBG_RELAY_SLOW_SLOW_RUNS_H
#define RAYDBG_RELAY_SLOW_SLOW_RUNS_H

#include "relay/slow/slow.h"

struct slow_interval {
    int64_t start_us, end_us;
};

/* An attempt of a task or of an actor's call. 0: unknown, or it has not happened. */
struct slow_run {
    const struct ray_attempt *attempt;
    /* By the submitter's clock: */
    int64_t submitted_us;
    int64_t queued_us; /* its arguments are there: it waits for a node */
    int64_t sent_us;   /* to its process */
    int64_t over_us;   /* finished or failed */
    /* By its process's clock: */
    int64_t start_us, end_us; /* arguments and results included; end: until now if it goes on */
    int64_t execute_us;       /* in the user's code; -1: it has not finished, or is not known */
};

/* The runs of one name. */
struct slow_group {
    const char *name;
    const struct slow_run *runs; /* by start */
    size_t count;
    size_t timed;       /* runs with execute_us */
    int64_t execute_us; /* their median; -1: none */
};

struct slow_runs {
    struct slow_run *items; /* by name and start */
    size_t count;
    struct slow_group *groups;
    size_t group_count;
    const struct slow_run **by_process; /* those that started, by process and start */
    size_t started;
    size_t tasks;
    int64_t since_us;            /* when the first was submitted */
    int64_t busy_us, running_us; /* see slow_report; running_us: the sum of all runs */
};

/* `job_id` is a whole id. Borrows from the records. */
void slow_runs_make(const struct why_records *records, const char *job_id, int64_t since_us,
                    struct slow_runs *out);
void slow_runs_clear(struct slow_runs *runs);

/* The time that Ray took for a run besides the user's code, in its process; execute_us is known. */
int64_t slow_runs_rest(const struct slow_run *run);
/* How long it waited behind others, by one clock; -1 if that is not known. */
int64_t slow_runs_wait(const struct slow_run *run);
bool slow_runs_same_process(const struct slow_run *a, const struct slow_run *b);
/* True if one task, or the driver, submitted both. */
bool slow_runs_same_parent(const struct slow_run *a, const struct slow_run *b);
/* The time that the intervals cover, overlaps once; sorts them. */
int64_t slow_runs_covered(struct slow_interval *intervals, size_t count);
/* Sorts the values; -1 if there are none. */
int64_t slow_runs_median(int64_t *values, size_t count);

#endif
