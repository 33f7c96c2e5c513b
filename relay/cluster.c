#include "relay/cluster.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/source.h"
#include "relay/sweeper.h"
#include "relay/view.h"

#include <stdlib.h>
#include <string.h>

/* A refresh goes through stages; each asks several things at once and ends when all are answered:
 * the workers and what is not known yet of version, nodes, actors and jobs; what the workers with
 * an open debugger run; the tasks, and once more what has become unknown; done. */
enum stage { STAGE_IDLE, STAGE_WORKERS, STAGE_RUNNING, STAGE_TASKS };

struct waiter {
    struct waiter *next;
    cluster_done_fn fn;
    void *arg;
};

struct fate_question {
    struct fate_question *next;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    cluster_fate_fn fn;
    void *arg;
};

enum { JOBS_MS = 1000 };

struct cluster {
    struct loop *loop;
    struct address address;
    struct source *source;
    struct view view;
    struct pause_list pauses;
    struct cluster_facts facts;
    enum stage stage;
    size_t outstanding;
    struct err err; /* of this refresh; code 0 for none */
    bool version_known, actors_known, nodes_known, jobs_known;
    bool jobs_asked; /* by cluster_renew_jobs() */
    int64_t jobs_us;
    struct waiter *waiters;
    struct waiter *told; /* those whose refresh has ended, while they are told */
    struct fate_question *fates;
    struct sweeper *sweeper; /* NULL before it is used */
};

static void next_stage(struct cluster *cluster);

static void answered(struct cluster *cluster)
{
    if (--cluster->outstanding == 0)
        next_stage(cluster);
}

/* --- answers --- */

static void note_error(struct cluster *cluster, const struct err *err)
{
    if (!cluster->err.code)
        cluster->err = *err;
}

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct cluster *cluster = arg;
    (void)version;
    if (err) {
        note_error(cluster, err);
    } else {
        cluster->version_known = true;
        text_copy(cluster->facts.ray_version, sizeof cluster->facts.ray_version,
                  ray_version ? ray_version : "");
        text_copy(cluster->facts.python_version, sizeof cluster->facts.python_version,
                  python_version ? python_version : "");
    }
    answered(cluster);
}

static void drop_workers(struct view *view)
{
    struct view old = {
        .workers = view->workers, .worker_count = view->worker_count, .running = view->running};
    view->workers = NULL;
    view->worker_count = 0;
    view->running = NULL;
    view_clear(&old);
}

static void on_workers(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct cluster *cluster = arg;
    if (err) {
        note_error(cluster, err);
    } else {
        drop_workers(&cluster->view);
        cluster->view.workers = workers;
        cluster->view.worker_count = count;
        cluster->facts.workers_alive = 0;
        for (size_t i = 0; i < count; i++)
            cluster->facts.workers_alive += workers[i].is_alive && !workers[i].is_driver;
    }
    answered(cluster);
}

static void on_nodes(void *arg, const struct err *err, struct ray_node *nodes, size_t count)
{
    struct cluster *cluster = arg;
    if (!err) {
        ray_nodes_free(cluster->view.nodes, cluster->view.node_count);
        cluster->view.nodes = nodes;
        cluster->view.node_count = count;
        cluster->nodes_known = true;
        cluster->facts.nodes_alive = 0;
        for (size_t i = 0; i < count; i++)
            cluster->facts.nodes_alive += nodes[i].is_alive;
    }
    answered(cluster);
}

static void on_actors(void *arg, const struct err *err, struct ray_actor *actors, size_t count)
{
    struct cluster *cluster = arg;
    if (!err) {
        ray_actors_free(cluster->view.actors, cluster->view.actor_count);
        cluster->view.actors = actors;
        cluster->view.actor_count = count;
        cluster->actors_known = true;
    }
    answered(cluster);
}

static void on_jobs(void *arg, const struct err *err, struct ray_job *jobs, size_t count)
{
    struct cluster *cluster = arg;
    if (!err) {
        ray_jobs_free(cluster->view.jobs, cluster->view.job_count);
        cluster->view.jobs = jobs;
        cluster->view.job_count = count;
        cluster->jobs_known = true;
    }
    answered(cluster);
}

static void on_pdbs(void *arg, const struct err *err, struct ray_pdb *pdbs, size_t count)
{
    struct cluster *cluster = arg;
    if (!err) {
        ray_pdbs_free(cluster->view.pdbs, cluster->view.pdb_count);
        cluster->view.pdbs = pdbs;
        cluster->view.pdb_count = count;
        /* A job that has ended leaves its entries behind. */
        cluster->jobs_known = cluster->jobs_known && count == 0;
    }
    answered(cluster);
}

static void on_running(void *arg)
{
    answered(arg);
}

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct cluster *cluster = arg;
    if (err)
        log_info("a task's name is not known: %s", err->what);
    else
        view_add_tasks(&cluster->view, tasks, count);
    answered(cluster);
}

/* --- stages --- */

static void ask_workers(struct cluster *cluster)
{
    /* One for each of the calls below, and one for this function. */
    cluster->outstanding = 4;
    if (!cluster->version_known) {
        cluster->outstanding++;
        source_version(cluster->source, on_version, cluster);
    }
    source_workers(cluster->source, on_workers, cluster);
    source_pdbs(cluster->source, on_pdbs, cluster);
    if (cluster->nodes_known)
        answered(cluster);
    else
        source_nodes(cluster->source, on_nodes, cluster);
    answered(cluster);
}

static void ask_running(struct cluster *cluster)
{
    cluster->outstanding = 1;
    source_running(cluster->source, &cluster->view, on_running, cluster);
}

static void ask_task(void *arg, const char *task_id)
{
    struct cluster *cluster = arg;
    /* An event can come before the one that says when the task began to run. */
    const struct ray_task *known = view_task(&cluster->view, task_id);
    if (known && known->running_ms)
        return;
    cluster->outstanding++;
    source_task(cluster->source, task_id, on_task, cluster);
}

struct unknowns {
    bool actor, job, node;
};

static struct unknowns find_unknowns(const struct cluster *cluster)
{
    const struct view *view = &cluster->view;
    struct unknowns unknown = {0};
    for (size_t i = 0; view->running && i < view->worker_count; i++) {
        const struct ray_worker *worker = &view->workers[i];
        const struct ray_worker_stats *stats = &view->running[i].stats;
        if (!view_has_debugger(worker))
            continue;
        unknown.actor |= stats->actor_id[0] && !view_actor(view, stats->actor_id);
        unknown.job |= stats->job_id[0] && !view_job(view, stats->job_id);
        unknown.node |= worker->node_id[0] && !view_node(view, worker->node_id);
    }
    for (size_t i = 0; i < view->pdb_count; i++)
        unknown.actor |= view->pdbs[i].actor_id[0] && !view_actor(view, view->pdbs[i].actor_id);
    unknown.job |= view->pdb_count > 0 && !cluster->jobs_known;
    return unknown;
}

static void ask_tasks(struct cluster *cluster)
{
    struct unknowns unknown = find_unknowns(cluster);
    cluster->outstanding = 1;
    view_each_task_id(&cluster->view, ask_task, cluster);
    if (unknown.actor) {
        cluster->outstanding++;
        source_actors(cluster->source, on_actors, cluster);
    }
    if (unknown.job) {
        cluster->outstanding++;
        source_jobs(cluster->source, on_jobs, cluster);
    }
    if (unknown.node) {
        cluster->outstanding++;
        source_nodes(cluster->source, on_nodes, cluster);
    }
    answered(cluster);
}

static void tell_fates(struct cluster *cluster)
{
    while (cluster->fates) {
        struct fate_question *fate = cluster->fates;
        cluster->fates = fate->next;
        char *sentence = view_fate(&cluster->view, fate->worker_id);
        fate->fn(fate->arg, sentence);
        free(sentence);
        free(fate);
    }
}

static void finish(struct cluster *cluster)
{
    struct err err = cluster->err;
    cluster->stage = STAGE_IDLE;
    cluster->told = cluster->waiters;
    cluster->waiters = NULL;
    if (!err.code) {
        view_drop_tasks(&cluster->view);
        pause_list_clear(&cluster->pauses);
        view_pauses(&cluster->view, &cluster->pauses);
    }
    while (cluster->told) {
        struct waiter *waiter = cluster->told;
        cluster->told = waiter->next;
        if (waiter->fn)
            waiter->fn(waiter->arg, err.code ? &err : NULL);
        free(waiter);
    }
}

static void next_stage(struct cluster *cluster)
{
    if (cluster->err.code || cluster->stage == STAGE_TASKS) {
        finish(cluster);
    } else if (cluster->stage == STAGE_WORKERS) {
        cluster->stage = STAGE_RUNNING;
        ask_running(cluster);
    } else {
        cluster->stage = STAGE_TASKS;
        ask_tasks(cluster);
    }
}

/* --- the public side --- */

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
    cluster->stage = STAGE_WORKERS;
    cluster->err = (struct err){0};
    ask_workers(cluster);
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
    if (err)
        return;
    ray_jobs_free(cluster->view.jobs, cluster->view.job_count);
    cluster->view.jobs = jobs;
    cluster->view.job_count = count;
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

static void on_fate_refreshed(void *arg, const struct err *err)
{
    (void)err; /* what was known before is the answer then */
    tell_fates(arg);
}

void cluster_fate(struct cluster *cluster, const char *worker_id, cluster_fate_fn fn, void *arg)
{
    struct fate_question *fate = mem_alloc(sizeof *fate);
    *fate = (struct fate_question){.next = cluster->fates, .fn = fn, .arg = arg};
    text_copy(fate->worker_id, sizeof fate->worker_id, worker_id);
    cluster->fates = fate;
    cluster_refresh(cluster, on_fate_refreshed, cluster);
}

void cluster_fate_cancel(struct cluster *cluster, const void *arg)
{
    struct fate_question **at = &cluster->fates;
    while (*at) {
        struct fate_question *fate = *at;
        if (fate->arg != arg) {
            at = &fate->next;
            continue;
        }
        *at = fate->next;
        free(fate);
    }
}
