/* The rules, a table of pure functions; the inside of slow.h. */
#ifndef RAYDBG_RELAY_SLOW_SLOW_RULES_H
#define RAYDBG_RELAY_SLOW_SLOW_RULES_H

#include "relay/slow/slow_cpus.h"
#include "relay/slow/slow_runs.h"

/* The input of the rules. */
struct slow_job {
    const struct why_records *records;
    struct slow_runs runs;
    struct slow_cpus cpus;
};

struct slow_rule {
    const char *code;
    const char *looks_for; /* "tasks too small" */
    bool of_job;           /* it judges the whole job: `group` is NULL */
    bool needs_cpus;       /* it cannot judge if it is not known when CPUs were free */
    /* True if it has filled the finding, except its code. */
    bool (*find)(const struct slow_job *job, const struct slow_group *group,
                 struct slow_finding *out);
};

/* Of the rules for one group, the first that finds something speaks. */
const struct slow_rule *slow_rules_all(size_t *count);

/* The rules of other files. */
bool slow_loop_find(const struct slow_job *job, const struct slow_group *group,
                    struct slow_finding *out);
bool slow_waits_find_free(const struct slow_job *job, const struct slow_group *group,
                          struct slow_finding *out);
bool slow_waits_find_taken(const struct slow_job *job, const struct slow_group *group,
                           struct slow_finding *out);
bool slow_waits_find_starts(const struct slow_job *job, const struct slow_group *group,
                            struct slow_finding *out);

/* Fill a finding. */
void slow_rules_group(struct slow_finding *out, const struct slow_group *group);
void slow_rules_figure(struct slow_finding *out, const char *name, double value);
void slow_rules_ms(struct slow_finding *out, const char *name, int64_t us);

/* 1: the finding costs too little for a job to be named. */
enum { SLOW_LEAST_PERCENT = 1 };

#endif
