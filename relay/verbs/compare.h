/* The values of one expression in many tasks: equal values are grouped, numbers get statistics,
 * outliers are marked. Pure. */
#ifndef RAYDBG_RELAY_VERBS_COMPARE_H
#define RAYDBG_RELAY_VERBS_COMPARE_H

#include "relay/verbs/task_set.h"

#include <stdbool.h>

enum compare_outcome {
    COMPARE_VALUE,
    COMPARE_ERROR,     /* the evaluation failed: `text` says how */
    COMPARE_NOT_ASKED, /* `text` says why: "running" */
};

struct compare;

struct compare *compare_create(const char *expression);
void compare_destroy(struct compare **compare);
/* Adds one task's answer. `text` is a value as the debuggee shows it; `type` may be NULL. */
void compare_add(struct compare *compare, const struct task_list_item *who,
                 enum compare_outcome outcome, const char *text, const char *type);

/* The first call of any of these computes the result; no compare_add() may follow it. */

/* A table for a terminal or a debug console: the largest group first. */
void compare_text(struct compare *compare, struct buf *out);
/* An object; docs/many.md has its schema. NaN and infinities are null. */
void compare_json(struct compare *compare, struct buf *out);
/* A line for each task, under a line of titles. */
void compare_csv(struct compare *compare, struct buf *out);

/* Reads a number from Python's repr of it: int, float, numpy's scalars, 0-d arrays and tensors.
 * False for anything else, True and False included. */
bool compare_number(const char *text, double *out);

/* Minimum, maximum, mean and median of the finite numbers, and counts of the others. */
struct compare_numbers {
    size_t count; /* all numbers */
    size_t nan, inf;
    double min, max, mean, median;
    double near_min, near_max; /* of the finite numbers that are not outliers */
};

/* Marks the outliers among `values`: finite ones by their distance from the median, in median
 * absolute deviations; NaN and infinities if they are the minority. Fewer than four have none. */
void compare_judge(const double *values, size_t count, struct compare_numbers *numbers,
                   bool *outliers);

#endif
