/* `raydbg list --failed` and `--running`: a row for each task, with its cause. Pure. */
#ifndef RAYDBG_CLI_WHY_TASK_LIST_H
#define RAYDBG_CLI_WHY_TASK_LIST_H

#include "cli/why/why_output.h"

struct task_list_select {
    bool failed;            /* those that failed since records->since_ms; else those that run */
    const char *job, *node; /* only those of a job, on a node: an address, a host name or an id's
                               beginning; or NULL */
};

/* Both show the tasks of records that have them: without an error in problems[WHY_ATTEMPTS]. */

/* A table, with lines below it that say what it is of and what is not known, and the next command.
 * `cluster` is its address. */
void task_list_table(const struct why_records *records, const struct task_list_select *select,
                     const char *cluster, const struct why_style *style, struct buf *out);
/* An array of objects: task_id task_name job_id node_id node_ip pid worker_id state attempt
 * since_ms code cause. */
void task_list_json(const struct why_records *records, const struct task_list_select *select,
                    struct buf *out);

#endif
