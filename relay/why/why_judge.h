/* Judges one subject: the rules. */
#ifndef RAYDBG_RELAY_WHY_WHY_JUDGE_H
#define RAYDBG_RELAY_WHY_WHY_JUDGE_H

#include "relay/why_records/why_report.h"
#include "relay/why_records/why_subject.h"

/* Fills an empty report. */
void why_judge(const struct why_records *records, const struct why_subject *subject,
               struct why_report *report);

/* More that a judgement needs. */
enum { WHY_LOGS = 16, WHY_REFS = 32, WHY_RAYLETS = 4, WHY_GAUGES = 8 };
struct why_needs {
    const struct ray_worker *logs_of[WHY_LOGS]; /* processes whose last words to read */
    size_t log_count;
    const struct ray_worker *refs_of[WHY_REFS]; /* processes whose references to ask for */
    size_t ref_count;
    const struct ray_node *raylets[WHY_RAYLETS]; /* nodes whose raylets' last words to read */
    size_t raylet_count;
    const char *env_job; /* the job for which these nodes may set up runtime_envs; or NULL */
    const struct ray_node *gauges_of[WHY_GAUGES]; /* nodes whose metrics to read */
    size_t gauges_count;
    bool second_look; /* at the attempts, some time after the first: there may be a deadlock */
    const struct ray_worker
        *owner; /* of the subject, an object: to be asked where it is; or NULL */
};

/* Call it before why_judge(), with the records that a first look gave. */
void why_judge_needs(const struct why_records *records, const struct why_subject *subject,
                     struct why_needs *needs);

#endif
