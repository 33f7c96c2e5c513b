/* One expression's values in many tasks: equal ones together, numbers with statistics, outliers
 * marked. Pure. */
#ifndef RAYDBG_RELAY_COMPARE_H
#define RAYDBG_RELAY_COMPARE_H

#include "relay/crowd.h"

#include <stdbool.h>

enum compare_outcome {
    COMPARE_VALUE,
    COMPARE_ERROR,     /* the evaluation failed: `text` says how */
    COMPARE_NOT_ASKED, /* `text` says why: "running" */
};

struct compare;

struct compare *compare_create(const char *expression);
void compare_destroy(struct compare **compare);
/* One task's answer: `text` as the debuggee shows the value; `type` may be NULL. */
void compare_add(struct compare *compare, const struct crowd_member *who,
                 enum compare_outcome outcome, const char *text, const char *type);

/* What follows works out the result at its first call; nothing is added after. */

/* A table for a terminal or a debug console: the largest group first. */
void compare_text(struct compare *compare, struct buf *out);
/* An object; docs/many.md has its schema. Numbers are null where JSON has none for them. */
void compare_json(struct compare *compare, struct buf *out);
/* A line for each task, under a line of titles. */
void compare_csv(struct compare *compare, struct buf *out);

/* The number that Python's repr of a number means: int, float, numpy's scalars, 0-d arrays and
 * tensors. False for anything else (True and False, too). */
bool compare_number(const char *text, double *out);

/* The finite ones' minimum, maximum, mean; counts of those that are not. */
struct compare_numbers {
    size_t count; /* all numbers */
    size_t nan, inf;
    double min, max, mean, median;
    double near_min, near_max; /* of those that are no outliers */
};

/* Marks the outliers among `values`: finite ones by their distance from the median, in median
 * absolute deviations; NaN and infinities if they are the minority. Of fewer than four nothing is
 * an outlier. */
void compare_judge(const double *values, size_t count, struct compare_numbers *numbers,
                   bool *outliers);

#endif
