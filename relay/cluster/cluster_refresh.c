/* One refresh: the requests of each stage, and how their answers change the model. */
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/cluster_state.h"
#include "relay/cluster/poll_schedule.h"

#include <stdlib.h>

enum {
    SINGLES_MOST = 32, /* above this, one list of all costs less than single calls */
    NODES_MS = 1000,   /* node records older than this are fetched again */
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
    struct cluster *cluster = cluster_checked(arg);
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

static void on_workers(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    if (err) {
        note_error(cluster, err);
    } else {
        ray_workers_free(cluster->fresh, cluster->fresh_count);
        cluster->fresh = workers;
        cluster->fresh_count = count;
        cluster->fresh_told = true;
        cluster->all_us = loop_now_us();
        cluster->all_count = count;
    }
    answered(cluster);
}

/* `workers` has one record, or none if the cluster does not know the worker. */
static void on_worker(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    if (err)
        log_info("a worker's state is not known: %s", err->what);
    else
        cluster_view_put_workers(&cluster->view, workers, count);
    answered(cluster);
}

static void ask_worker(struct cluster *cluster, const char *worker_id)
{
    cluster->outstanding++;
    ray_source_worker(cluster->source, worker_id, on_worker, cluster);
}

/* The worker no longer waits: a client attached, its task ended, or it died. */
static void on_left(void *arg, const char *worker_id)
{
    struct cluster *cluster = cluster_checked(arg);
    if (++cluster->left <= SINGLES_MOST)
        ask_worker(cluster, worker_id);
}

static void on_waiting(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    cluster->waiting = count;
    if (err)
        note_error(cluster, err);
    else
        cluster_view_put_waiting(&cluster->view, workers, count, on_left, cluster);
    if (cluster->left > SINGLES_MOST) {
        cluster->outstanding++;
        ray_source_workers(cluster->source, on_workers, cluster);
    }
    answered(cluster);
}

static void on_nodes(void *arg, const struct err *err, struct ray_node *nodes, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    if (!err) {
        cluster_view_set_nodes(&cluster->view, nodes, count);
        cluster->nodes_known = true;
        cluster->nodes_us = loop_now_us();
        cluster->facts.nodes_alive = 0;
        for (size_t i = 0; i < count; i++)
            cluster->facts.nodes_alive += nodes[i].is_alive;
    }
    answered(cluster);
}

static void on_actors(void *arg, const struct err *err, struct ray_actor *actors, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    if (!err)
        cluster_view_set_actors(&cluster->view, actors, count);
    answered(cluster);
}

static void on_actor(void *arg, const struct err *err, struct ray_actor *actors, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    if (!err)
        cluster_view_put_actors(&cluster->view, actors, count);
    answered(cluster);
}

static void on_jobs(void *arg, const struct err *err, struct ray_job *jobs, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    if (!err) {
        cluster_view_set_jobs(&cluster->view, jobs, count);
        cluster->jobs_known = true;
    }
    answered(cluster);
}

static void on_pdbs(void *arg, const struct err *err, struct ray_pdb *pdbs, size_t count)
{
    struct cluster *cluster = cluster_checked(arg);
    if (!err) {
        cluster_view_set_pdbs(&cluster->view, pdbs, count);
        /* An ended job leaves its entries behind, so fetch the jobs again. */
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
    struct cluster *cluster = cluster_checked(arg);
    if (err)
        log_info("a task's name is not known: %s", err->what);
    else
        cluster_view_add_tasks(&cluster->view, tasks, count);
    answered(cluster);
}

/* --- stages --- */

/* A dead node leaves its workers' records unchanged, so the nodes are fetched again. */
static bool nodes_are_due(const struct cluster *cluster)
{
    int64_t now = loop_now_us();
    return !cluster->nodes_known ||
           (now - cluster->nodes_us > (int64_t)NODES_MS * 1000 &&
            poll_schedule_takes_all(cluster->nodes_us, cluster->view.node_count, now));
}

static bool version_is_due(const struct cluster *cluster)
{
    return !cluster->version_known || ray_source_version_is_old(cluster->source);
}

static void ask_version(struct cluster *cluster)
{
    cluster->outstanding++;
    ray_source_version(cluster->source, on_version, cluster);
}

static void ask_workers(struct cluster *cluster)
{
    bool all = !ray_source_tells_single(cluster->source) ||
               poll_schedule_takes_all(cluster->all_us, cluster->all_count, loop_now_us());
    /* One for each of the calls below, and one for this function. */
    cluster->outstanding = 4;
    cluster->left = 0;
    if (version_is_due(cluster))
        ask_version(cluster);
    if (all)
        ray_source_workers(cluster->source, on_workers, cluster);
    else
        ray_source_waiting_workers(cluster->source, on_waiting, cluster);
    ray_source_pdbs(cluster->source, on_pdbs, cluster);
    if (nodes_are_due(cluster))
        ray_source_nodes(cluster->source, on_nodes, cluster);
    else
        answered(cluster);
    answered(cluster);
}

/* Workers that are wanted by id, in addition to those with an open debugger. */
static void collect_named(const struct cluster *cluster, struct hash_index *out)
{
    for (size_t i = 0; i < cluster->view.pdb_count; i++)
        hash_index_add(out, hash_text(cluster->view.pdbs[i].worker_id, 0), 0);
    for (const struct death_query *at = cluster->death_queries; at; at = at->next)
        hash_index_add(out, hash_text(at->worker_id, 0), 0);
}

/* Keeps only the workers that a pause may be about; the list may have 100,000. */
static void keep_fresh(struct cluster *cluster)
{
    struct hash_index named = {0};
    struct ray_worker *gone = mem_array(cluster->fresh_count, sizeof *gone);
    size_t kept = 0, dropped = 0;
    collect_named(cluster, &named);
    cluster->facts.workers_alive = 0;
    for (size_t i = 0; i < cluster->fresh_count; i++) {
        const struct ray_worker *worker = &cluster->fresh[i];
        cluster->facts.workers_alive += worker->is_alive && !worker->is_driver &&
                                        !cluster_view_node_is_dead(&cluster->view, worker);
        size_t cursor = 0;
        uintptr_t any;
        if (worker->debugger_port ||
            hash_index_next(&named, hash_text(worker->worker_id, 0), &cursor, &any))
            cluster->fresh[kept++] = *worker;
        else
            gone[dropped++] = *worker;
    }
    cluster_view_set_workers(&cluster->view, mem_resize(cluster->fresh, kept, sizeof *gone), kept);
    ray_workers_free(gone, dropped);
    hash_index_clear(&named);
    cluster->fresh = NULL;
    cluster->fresh_count = 0;
    cluster->fresh_told = false;
}

/* Asks for the workers of pdb entries that appeared after all workers were last fetched. */
static void ask_named(struct cluster *cluster)
{
    size_t asked = 0;
    for (size_t i = 0; i < cluster->view.pdb_count && asked < SINGLES_MOST; i++) {
        const char *id = cluster->view.pdbs[i].worker_id;
        if (!*id || cluster_view_worker(&cluster->view, id) ||
            !backoff_due(&cluster->other_retry, id, loop_now_us()))
            continue;
        ask_worker(cluster, id);
        asked++;
    }
}

static void ask_running(struct cluster *cluster)
{
    cluster->outstanding = 1;
    poll_schedule_choose(&cluster->view, loop_now_us());
    ray_source_running(cluster->source, &cluster->view, on_running, cluster);
}

static void ask_task(void *arg, const char *task_id)
{
    struct cluster *cluster = cluster_checked(arg);
    /* The first event of a task may lack the time when it began to run: ask until it is known. */
    const struct ray_task *known = cluster_view_task(&cluster->view, task_id);
    if ((known && known->running_ms) || !backoff_due(&cluster->task_retry, task_id, loop_now_us()))
        return;
    cluster->outstanding++;
    ray_source_task(cluster->source, task_id, on_task, cluster);
}

/* Ids that a pause refers to and the view has no record of. */
struct unknowns {
    struct cluster *cluster;
    const char **actors; /* room for one per worker and pdb entry */
    size_t actor_count;
    bool job, node;
};

static bool is_due(struct unknowns *unknown, const char *id)
{
    return *id && backoff_due(&unknown->cluster->other_retry, id, loop_now_us());
}

static void note_actor(struct unknowns *unknown, const char *actor_id)
{
    if (*actor_id && !cluster_view_actor(&unknown->cluster->view, actor_id) &&
        is_due(unknown, actor_id))
        unknown->actors[unknown->actor_count++] = actor_id;
}

static void find_unknowns(struct unknowns *unknown)
{
    const struct cluster_view *view = &unknown->cluster->view;
    for (size_t i = 0; i < view->worker_count; i++) {
        const struct ray_worker *worker = &view->workers[i];
        const struct ray_worker_stats *stats = &view->running[i].stats;
        if (!cluster_view_has_debugger(worker))
            continue;
        note_actor(unknown, stats->actor_id);
        unknown->job |= stats->job_id[0] && !cluster_view_job(view, stats->job_id) &&
                        is_due(unknown, stats->job_id);
        /* The dashboard does not give a driver's job. */
        unknown->job |= worker->is_driver && !stats->job_id[0] &&
                        !cluster_view_driver_job(view, worker, "") &&
                        is_due(unknown, worker->worker_id);
        unknown->node |= worker->node_id[0] && !cluster_view_node(view, worker->node_id) &&
                         is_due(unknown, worker->node_id);
    }
    for (size_t i = 0; i < view->pdb_count; i++)
        note_actor(unknown, view->pdbs[i].actor_id);
    unknown->job |= view->pdb_count > 0 && !unknown->cluster->jobs_known;
}

/* Asks for a few actors by id, because a cluster may have 100,000. */
static void ask_actors(struct cluster *cluster, const struct unknowns *unknown)
{
    if (unknown->actor_count &&
        (unknown->actor_count > SINGLES_MOST || !ray_source_tells_single(cluster->source))) {
        cluster->outstanding++;
        ray_source_actors(cluster->source, on_actors, cluster);
        return;
    }
    for (size_t i = 0; i < unknown->actor_count; i++) {
        cluster->outstanding++;
        ray_source_actor(cluster->source, unknown->actors[i], on_actor, cluster);
    }
}

static void ask_tasks(struct cluster *cluster)
{
    struct unknowns unknown = {.cluster = cluster,
                               .actors =
                                   mem_array(cluster->view.worker_count + cluster->view.pdb_count,
                                             sizeof *unknown.actors)};
    cluster->outstanding = 1;
    find_unknowns(&unknown);
    cluster_view_each_task_id(&cluster->view, ask_task, cluster);
    ask_actors(cluster, &unknown);
    free(unknown.actors);
    if (ray_source_tells_single(cluster->source))
        ask_named(cluster);
    if (unknown.job) {
        cluster->outstanding++;
        ray_source_jobs(cluster->source, on_jobs, cluster);
    }
    if (unknown.node) {
        cluster->outstanding++;
        ray_source_nodes(cluster->source, on_nodes, cluster);
    }
    answered(cluster);
}

static void finish(struct cluster *cluster)
{
    cluster->stage = STAGE_IDLE;
    cluster->took_us = loop_now_us() - cluster->look_us;
    if (!cluster->err.code) {
        cluster_view_drop_tasks(&cluster->view);
        cluster_view_drop_actors(&cluster->view);
        backoff_sweep(&cluster->task_retry);
        backoff_sweep(&cluster->other_retry);
        pause_list_clear(&cluster->pauses);
        cluster_view_pauses(&cluster->view, &cluster->pauses);
    } else {
        cluster->version_known = false; /* the next answer may be another cluster's */
    }
    cluster_refresh_ended(cluster);
}

static void next_stage(struct cluster *cluster)
{
    if (cluster->err.code || cluster->stage == STAGE_TASKS) {
        finish(cluster);
    } else if (cluster->stage == STAGE_WORKERS) {
        cluster->stage = STAGE_RUNNING;
        if (cluster->fresh_told)
            keep_fresh(cluster);
        cluster_view_bury_workers(&cluster->view);
        ask_running(cluster);
    } else if (version_is_due(cluster)) { /* the workers took long */
        ask_version(cluster);
    } else {
        cluster->stage = STAGE_TASKS;
        ask_tasks(cluster);
    }
}

void cluster_refresh_begin(struct cluster *cluster)
{
    cluster->stage = STAGE_WORKERS;
    cluster->err = (struct err){0};
    cluster->look_us = loop_now_us();
    ask_workers(cluster);
}
