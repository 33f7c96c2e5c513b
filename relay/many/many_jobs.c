/* Tells when nothing more can pause: a session over everything that pauses waits for more, but not
 * for tasks of jobs that are over. */
#include "relay/many/many_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

struct many_jobs {
    char (*ids)[ID_TEXT(ID_JOB_BYTES)];
    size_t count;
};

struct many_jobs *many_jobs_create(void)
{
    return mem_alloc(sizeof(struct many_jobs));
}

void many_jobs_destroy(struct many_jobs **jobs)
{
    if (*jobs)
        free((*jobs)->ids);
    free(*jobs);
    *jobs = NULL;
}

void many_jobs_note(struct many_jobs *jobs, const char *job_id)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (text_equal(jobs->ids[i], job_id))
            return;
    if (!*job_id)
        return;
    jobs->ids = mem_resize(jobs->ids, jobs->count + 1, sizeof *jobs->ids);
    text_copy(jobs->ids[jobs->count++], sizeof *jobs->ids, job_id);
}

bool many_jobs_are_over(const struct many_jobs *jobs, struct cluster *cluster)
{
    cluster_renew_jobs(cluster);
    for (size_t i = 0; i < jobs->count; i++)
        if (!cluster_job_is_over(cluster, jobs->ids[i]))
            return false;
    return jobs->count > 0;
}
