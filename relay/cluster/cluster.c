#include "relay/cluster/cluster.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/cluster_state.h"
#include "relay/cluster/poll_schedule.h"
#include "relay/io/socket.h"

#include <stdlib.h>
#include <string.h>

enum { JOBS_MS = 1000 };

struct cluster *cluster_create(struct loop *loop, const struct cluster_address *address,
                               struct err *err)
{
    struct ray_source *source = ray_source_create(loop, address, err);
    if (!source)
        return NULL;
    struct cluster *cluster = mem_alloc(sizeof *cluster);
    cluster_set_magic(cluster);
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
    ray_source_destroy(&it->source);
    while (it->parts) {
        struct cluster_part *part = it->parts;
        it->parts = part->next;
        part->destroy(part);
    }
    while (it->waiters) {
        struct waiter *waiter = it->waiters;
        it->waiters = waiter->next;
        free(waiter);
    }
    while (it->death_queries) {
        struct death_query *query = it->death_queries;
        it->death_queries = query->next;
        free(query);
    }
    cluster_view_clear(&it->view);
    ray_workers_free(it->fresh, it->fresh_count);
    backoff_clear(&it->task_retry);
    backoff_clear(&it->other_retry);
    pause_list_clear(&it->pauses);
    cluster_clear_magic(it);
    free(it);
}

const struct cluster_address *cluster_address(const struct cluster *cluster)
{
    return &cluster->address;
}

struct ray_source *cluster_source(const struct cluster *cluster)
{
    return cluster->source;
}

struct loop *cluster_loop(const struct cluster *cluster)
{
    return cluster->loop;
}

void cluster_add_part(struct cluster *cluster, struct cluster_part *part)
{
    part->next = cluster->parts;
    cluster->parts = part;
}

struct cluster_part *cluster_find_part(const struct cluster *cluster, const void *kind)
{
    struct cluster_part *at = cluster->parts;
    while (at && at->kind != kind)
        at = at->next;
    return at;
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
    cluster_refresh_begin(cluster);
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
    return poll_schedule_rest_us(cluster->took_us, cluster->waiting) / 1000;
}

bool cluster_names_pending(const struct cluster *cluster)
{
    bool by_id =
        cluster->address.kind == CLUSTER_ADDRESS_GCS; /* the dashboard gives ids with the names */
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

size_t cluster_nodes_away(const struct cluster *cluster, const char **first)
{
    size_t count = 0;
    *first = NULL;
    for (size_t i = 0; i < cluster->view.node_count; i++) {
        const struct ray_node *node = &cluster->view.nodes[i];
        if (!node->is_alive || text_empty(node->ip) || socket_is_address_here(node->ip))
            continue;
        *first = *first ? *first : node->ip;
        count++;
    }
    return count;
}

const char *cluster_node_here(const struct cluster *cluster)
{
    const char *found = NULL;
    for (size_t i = 0; i < cluster->view.node_count; i++) {
        const struct ray_node *node = &cluster->view.nodes[i];
        bool here = node->is_alive && !text_empty(node->ip) && socket_is_address_here(node->ip);
        if (here && (!found || text_starts(found, "127.")))
            found = node->ip;
    }
    return found;
}

static void on_jobs_renewed(void *arg, const struct err *err, struct ray_job *jobs, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    cluster->jobs_asked = false;
    if (!err)
        cluster_view_set_jobs(&cluster->view, jobs, count);
}

void cluster_renew_jobs(struct cluster *cluster)
{
    int64_t now = loop_now_us();
    if (cluster->jobs_asked || now - cluster->jobs_us < (int64_t)JOBS_MS * 1000)
        return;
    cluster->jobs_asked = true;
    cluster->jobs_us = now;
    ray_source_jobs(cluster->source, on_jobs_renewed, cluster);
}

bool cluster_job_is_over(const struct cluster *cluster, const char *job_id)
{
    const struct ray_job *job = cluster_view_job(&cluster->view, job_id);
    return job && job->is_dead;
}

/* --- refreshes --- */

void cluster_note_answer(struct cluster *cluster, const struct err *err)
{
    if (!err || err->code != ERR_UNREACHABLE)
        cluster->silent_us = 0;
    else if (!cluster->silent_us)
        cluster->silent_us = loop_now_us();
}

void cluster_refresh_ended(struct cluster *cluster)
{
    struct err err = cluster->err;
    cluster_note_answer(cluster, err.code ? &err : NULL);
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
