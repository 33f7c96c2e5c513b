/* Reads Ray's gauge `ray_tasks` from the metrics of a node: how many tasks of a function each
 * process runs, and how many of them are in ray.get. The gauge is up to TASK_GAUGE_LAG_MS old.
 * Pure.
 *
 * Source: Ray 2.9+, `ray_tasks{Name="f",State="RUNNING_IN_RAY_GET",JobId="01000000",…} 1.0`. The
 * tag Source="executor" tells the processes that run the tasks from their owners. A series of 2.9
 * may be negative. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_TASK_GAUGE_H
#define RAYDBG_RELAY_WHY_RECORDS_TASK_GAUGE_H

#include "proto/records.h"

/* Workers report every RAY_metrics_report_interval_ms, 10 s by default, and the agent's scrape may
 * miss one report. */
enum { TASK_GAUGE_LAG_MS = 16000 };

/* The tasks of one function and job that run on the node. */
struct task_gauge {
    char *function; /* as ray_attempt.func_or_class */
    char job_id[ID_TEXT(ID_JOB_BYTES)];
    int64_t in_get;  /* RUNNING_IN_RAY_GET */
    int64_t in_wait; /* RUNNING_IN_RAY_WAIT */
    int64_t running; /* all that run but are not in ray.get, also those in ray.wait or in await */
};

struct task_gauges {
    struct task_gauge *items;
    size_t count;
};

/* Lines of other metrics, and lines that cannot be read, are skipped. */
void task_gauges_read(const char *text, struct task_gauges *out);
void task_gauges_clear(struct task_gauges *gauges);
/* NULL if the node has no such task. */
const struct task_gauge *task_gauges_find(const struct task_gauges *gauges, const char *function,
                                          const char *job_id);

#endif
