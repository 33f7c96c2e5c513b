#include "relay/cluster.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster_state.h"
#include "relay/poll.h"
#include "relay/sweeper.h"

#include <stdlib.h>
#include <string.h>

enum { JOBS_MS = 1000 };

struct cluster *cluster_create(struct loop *loop, const struct address *address, struct err *err)
{
    struct source *source = source_create(loop, address, err);
    if (!source)
        return NULL;
    struct cluster *cluster = mem_alloc(sizeof *cluster);
    cluster->loop = loop;
    cluster->address = *address;
    cluster->source = source;
    cluster->facts.tasks_running = -1;
    return cluster;
}

void cluster_destroy(struct cluster **cluster)
{
    struct cluster *it = *cluster;
    if (!it)
        return;
    *cluster = NULL;
    source_destroy(&it->source);
    sweeper_destroy(&it->sweeper);
    while (it->waiters) {
        struct waiter *waiter = it->waiters;
        it->waiters = waiter->next;
        free(waiter);
    }
    while (it->fates) {
        struct fate_question *fate = it->fates;
        it->fates = fate->next;
        free(fate);
    }
    view_clear(&it->view);
    ray_workers_free(it->fresh, it->fresh_count);
    retry_clear(&it->task_retry);
    retry_clear(&it->other_retry);
    pause_list_clear(&it->pauses);
    free(it);
}

const struct address *cluster_address(const struct cluster *cluster)
{
    return &cluster->address;
}

struct source *cluster_source(const struct cluster *cluster)
{
    return cluster->source;
}

struct sweeper *cluster_sweeper(struct cluster *cluster)
{
    if (!cluster->sweeper)
        cluster->sweeper = sweeper_create(cluster->loop, cluster->source);
    return cluster->sweeper;
}

void cluster_refresh(struct cluster *cluster, cluster_done_fn fn, void *arg)
{
    struct waiter **at = &cluster->waiters;
    while (*at)
        at = &(*at)->next;
    *at = mem_alloc(sizeof **at);
    **at = (struct waiter){.fn = fn, .arg = arg};
    if (cluster->stage != STAGE_IDLE)
        return;
    cluster_look(cluster);
}

void cluster_refresh_cancel(struct cluster *cluster, const void *arg)
{
    struct waiter *lists[] = {cluster->waiters, cluster->told};
    for (size_t i = 0; i < 2; i++)
        for (struct waiter *waiter = lists[i]; waiter; waiter = waiter->next)
            if (waiter->arg == arg)
                waiter->fn = NULL;
}

const struct pause_list *cluster_pauses(const struct cluster *cluster)
{
    return &cluster->pauses;
}

int64_t cluster_rest_ms(const struct cluster *cluster)
{
    return poll_rest_us(cluster->took_us, cluster->waiting) / 1000;
}

bool cluster_names_pending(const struct cluster *cluster)
{
    bool by_id = cluster->address.kind == ADDRESS_GCS; /* the dashboard gives ids with the names */
    for (size_t i = 0; i < cluster->pauses.count; i++) {
        const struct pause *pause = &cluster->pauses.items[i];
        bool pending = by_id ? pause->name_pending : !pause->task_id[0] && !pause->task_name;
        if (pause->state != PAUSE_IDLE && pending)
            return true;
    }
    return false;
}

const struct cluster_facts *cluster_facts(const struct cluster *cluster)
{
    return &cluster->facts;
}

static void on_jobs_renewed(void *arg, const struct err *err, struct ray_job *jobs, size_t count)
{
    struct cluster *cluster = arg;
    cluster->jobs_asked = false;
    if (!err)
        view_set_jobs(&cluster->view, jobs, count);
}

void cluster_renew_jobs(struct cluster *cluster)
{
    int64_t now = loop_now_us();
    if (cluster->jobs_asked || now - cluster->jobs_us < (int64_t)JOBS_MS * 1000)
        return;
    cluster->jobs_asked = true;
    cluster->jobs_us = now;
    source_jobs(cluster->source, on_jobs_renewed, cluster);
}

bool cluster_job_is_over(const struct cluster *cluster, const char *job_id)
{
    const struct ray_job *job = view_job(&cluster->view, job_id);
    return job && job->is_dead;
}

/* --- fates --- */

static void fate_tell(struct fate_question *fate)
{
    struct cluster *cluster = fate->cluster;
    struct fate_question **at = &cluster->fates;
    while (*at != fate)
        at = &(*at)->next;
    *at = fate->next;
    char *sentence = view_fate(&cluster->view, fate->worker_id);
    if (fate->fn)
        fate->fn(fate->arg, sentence);
    free(sentence);
    free(fate);
}

static struct fate_question *next_refreshed(const struct cluster *cluster)
{
    struct fate_question *at = cluster->fates;
    while (at && at->single)
        at = at->next;
    return at;
}

/* What was known before is the answer if there was an error. */
static void on_fate_refreshed(void *arg, const struct err *err)
{
    struct cluster *cluster = arg;
    struct fate_question *fate;
    (void)err;
    while ((fate = next_refreshed(cluster)))
        fate_tell(fate);
}

static void on_fate_worker(void *arg, const struct err *err, struct ray_worker *workers,
                           size_t count)
{
    struct fate_question *fate = arg;
    if (!err)
        view_put_workers(&fate->cluster->view, workers, count);
    fate_tell(fate);
}

void cluster_fate(struct cluster *cluster, const char *worker_id, cluster_fate_fn fn, void *arg)
{
    struct fate_question *fate = mem_alloc(sizeof *fate);
    *fate =
        (struct fate_question){.next = cluster->fates, .cluster = cluster, .fn = fn, .arg = arg};
    text_copy(fate->worker_id, sizeof fate->worker_id, worker_id);
    fate->single = source_tells_single(cluster->source);
    cluster->fates = fate;
    if (fate->single)
        source_worker(cluster->source, worker_id, on_fate_worker, fate);
    else
        cluster_refresh(cluster, on_fate_refreshed, cluster);
}

void cluster_fate_cancel(struct cluster *cluster, const void *arg)
{
    for (struct fate_question *fate = cluster->fates; fate; fate = fate->next)
        if (fate->arg == arg)
            fate->fn = NULL;
}

/* --- looks --- */

void cluster_look_ended(struct cluster *cluster)
{
    struct err err = cluster->err;
    cluster->told = cluster->waiters;
    cluster->waiters = NULL;
    while (cluster->told) {
        struct waiter *waiter = cluster->told;
        cluster->told = waiter->next;
        if (waiter->fn)
            waiter->fn(waiter->arg, err.code ? &err : NULL);
        free(waiter);
    }
}
