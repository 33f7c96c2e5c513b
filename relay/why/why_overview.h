/* The answer without a name: what makes no progress, and what failed or died lately. */
#ifndef RAYDBG_RELAY_WHY_WHY_OVERVIEW_H
#define RAYDBG_RELAY_WHY_WHY_OVERVIEW_H

#include "relay/why/why_judge.h"

/* Things of one kind and name that are in the same state for the same reason. */
struct why_row {
    const char *kind;  /* "task", "actor", "node", "job", "group" */
    const char *state; /* "failed", "waiting", "paused", "dead"; "retried" of a task and "restarted"
                          of an actor that goes on after a failure */
    const char *name;  /* in the records */
    const char *
        id; /* of the one that is `cause` is about: the last that failed, or the first that waits */
    size_t count;
    int64_t at_ms; /* when that one failed, or began to wait; 0: unknown */
    const char *code;
    char *cause;
};

struct why_overview {
    struct why_row
        *rows; /* what waits first, the longest first; then what failed, the last first */
    size_t count;
    size_t tasks_running, tasks_waiting, tasks_failed, tasks_finished;
};

void why_overview_make(const struct why_records *records, struct why_overview *out);
void why_overview_clear(struct why_overview *overview);
/* Adds the records that an overview needs, like why_judge_needs() for one subject. */
void why_overview_needs(const struct why_records *records, struct why_needs *needs);

#endif
