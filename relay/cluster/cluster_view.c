#include "relay/cluster/cluster_view.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/driver_name.h"
#include "relay/why_records/process_end.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void running_free(struct cluster_view_running *running, size_t count)
{
    for (size_t i = 0; running && i < count; i++)
        ray_worker_stats_clear(&running[i].stats);
    free(running);
}

void cluster_view_clear(struct cluster_view *view)
{
    running_free(view->running, view->worker_count);
    ray_workers_free(view->workers, view->worker_count);
    ray_tasks_free(view->tasks, view->task_count);
    ray_actors_free(view->actors, view->actor_count);
    ray_nodes_free(view->nodes, view->node_count);
    ray_jobs_free(view->jobs, view->job_count);
    ray_pdbs_free(view->pdbs, view->pdb_count);
    cluster_view_forget_ids(view);
    *view = (struct cluster_view){0};
}

bool cluster_view_has_debugger(const struct ray_worker *worker)
{
    /* A worker that was killed while paused keeps its count: only is_alive is right. */
    return worker->is_alive && worker->debugger_port != 0;
}

/* --- look-ups: an empty id is never found --- */

void cluster_view_ids_clear(struct cluster_view_ids *ids)
{
    hash_index_clear(&ids->ids);
    ids->count = 0;
}

void cluster_view_forget_ids(struct cluster_view *view)
{
    cluster_view_ids_clear(&view->worker_ids);
    cluster_view_ids_clear(&view->task_ids);
    cluster_view_ids_clear(&view->actor_ids);
    cluster_view_ids_clear(&view->node_ids);
    cluster_view_ids_clear(&view->job_ids);
}

/* An array of records; `size` is the distance from one record's id to the next. */
struct rows {
    const void *first; /* the first row's id */
    size_t size;
    size_t count;
};

static const char *id_at(const struct rows *rows, size_t row)
{
    return (const char *)rows->first + row * rows->size;
}

/* The row's index, or `count` if there is none. */
static size_t ids_find(struct cluster_view_ids *ids, const struct rows *rows, const char *id)
{
    size_t cursor = 0;
    uintptr_t row;
    if (!id[0])
        return rows->count;
    if (ids->count > rows->count)
        cluster_view_ids_clear(ids);
    for (; ids->count < rows->count; ids->count++)
        hash_index_add(&ids->ids, hash_text(id_at(rows, ids->count), 0), ids->count);
    while (hash_index_next(&ids->ids, hash_text(id, 0), &cursor, &row))
        if (strcmp(id_at(rows, row), id) == 0)
            return row;
    return rows->count;
}

/* The index is a cache: a look-up may extend it in a const view. */
#define FIND(name, type, items, counter, member, index)                                            \
    const struct type *name(const struct cluster_view *view, const char *id)                       \
    {                                                                                              \
        struct rows rows = {view->items ? view->items->member : NULL, sizeof *view->items,         \
                            view->counter};                                                        \
        struct cluster_view *own = (struct cluster_view *)(uintptr_t)view;                         \
        size_t row = ids_find(&own->index, &rows, id);                                             \
        return row < view->counter ? &view->items[row] : NULL;                                     \
    }

FIND(cluster_view_worker, ray_worker, workers, worker_count, worker_id, worker_ids)
FIND(cluster_view_task, ray_task, tasks, task_count, task_id, task_ids)
FIND(cluster_view_actor, ray_actor, actors, actor_count, actor_id, actor_ids)
FIND(cluster_view_node, ray_node, nodes, node_count, node_id, node_ids)
FIND(cluster_view_job, ray_job, jobs, job_count, job_id, job_ids)

static const struct ray_node *dead_node(const struct cluster_view *view, const char *node_id)
{
    const struct ray_node *node = cluster_view_node(view, node_id);
    return node && !node->is_alive ? node : NULL;
}

bool cluster_view_node_is_dead(const struct cluster_view *view, const struct ray_worker *worker)
{
    return dead_node(view, worker->node_id) != NULL;
}

/* --- pauses --- */

static char *known_text(const char *text)
{
    return text_empty(text) ? NULL : mem_string(text);
}

static void fill_actor(const struct cluster_view *view, struct pause *pause)
{
    const struct ray_actor *actor = cluster_view_actor(view, pause->actor_id);
    if (!actor)
        return;
    pause->actor_class = known_text(actor->class_name);
    pause->actor_name = known_text(actor->name);
    if (!pause->job_id[0])
        text_copy(pause->job_id, sizeof pause->job_id, actor->job_id);
}

static void fill_node(const struct cluster_view *view, struct pause *pause, const char *ip)
{
    const struct ray_node *node = cluster_view_node(view, pause->node_id);
    if (!text_empty(ip))
        pause->node_ip = mem_string(ip);
    else if (node)
        pause->node_ip = known_text(node->ip);
    if (node)
        pause->node_name = known_text(node->hostname);
}

static void fill_task(struct pause *pause, const struct ray_task *task)
{
    pause->task_name = known_text(task->name);
    text_copy(pause->parent_task_id, sizeof pause->parent_task_id, task->parent_task_id);
    if (!pause->actor_id[0])
        text_copy(pause->actor_id, sizeof pause->actor_id, task->actor_id);
    if (!pause->job_id[0])
        text_copy(pause->job_id, sizeof pause->job_id, task->job_id);
    if (!pause->since_ms)
        pause->since_ms = task->running_ms;
}

/* For several running tasks: the pause gets a name only if all of them have the same. */
static void fill_candidates(const struct cluster_view *view, struct pause *pause,
                            const struct ray_worker_stats *stats)
{
    size_t count = stats->running_task_id_count;
    const char *name = NULL;
    bool same = true;
    pause->candidates = mem_array(count, sizeof *pause->candidates);
    memcpy(pause->candidates, stats->running_task_ids, count * sizeof *pause->candidates);
    pause->candidate_count = count;
    pause->ambiguous = true;
    for (size_t i = 0; i < count; i++) {
        const struct ray_task *task = cluster_view_task(view, stats->running_task_ids[i]);
        pause->name_pending = pause->name_pending || !task;
        same = same && task && (!name || text_equal(name, task->name));
        name = task ? task->name : NULL;
        if (task && task->running_ms && (!pause->since_ms || task->running_ms < pause->since_ms))
            pause->since_ms = task->running_ms;
    }
    if (same)
        pause->task_name = known_text(name);
}

static void fill_running(const struct cluster_view *view, struct pause *pause,
                         const struct cluster_view_running *running)
{
    const struct ray_worker_stats *stats = &running->stats;
    if (!running->known)
        return;
    text_copy(pause->actor_id, sizeof pause->actor_id, stats->actor_id);
    text_copy(pause->job_id, sizeof pause->job_id, stats->job_id);
    if (stats->running_task_id_count == 0)
        return;
    text_copy(pause->task_id, sizeof pause->task_id, stats->running_task_ids[0]);
    const struct ray_task *task = cluster_view_task(view, pause->task_id);
    if (stats->running_task_id_count > 1)
        fill_candidates(view, pause, stats);
    else if (task)
        fill_task(pause, task);
    else
        pause->name_pending = true;
}

const struct ray_job *cluster_view_driver_job(const struct cluster_view *view,
                                              const struct ray_worker *worker, const char *job_id)
{
    const struct ray_job *job = cluster_view_job(view, job_id);
    for (size_t i = 0; !job && view->jobs && i < view->job_count; i++)
        if (worker->pid && view->jobs[i].driver_pid == worker->pid &&
            text_equal(view->jobs[i].driver_ip, worker->ip))
            job = &view->jobs[i];
    return job;
}

static void fill_driver(const struct cluster_view *view, struct pause *pause,
                        const struct ray_worker *worker)
{
    const struct ray_job *job = cluster_view_driver_job(view, worker, pause->job_id);
    char *program = driver_program(job ? job->entrypoint : NULL);
    free(pause->task_name);
    pause->task_name = driver_name(program);
    pause->name_pending = false;
    if (job)
        text_copy(pause->job_id, sizeof pause->job_id, job->job_id);
    free(program);
}

/* A driver runs no task, and is not idle. */
static enum pause_state state_of(const struct ray_worker *worker,
                                 const struct cluster_view_running *running)
{
    if (worker->paused_threads > 0)
        return PAUSE_WAITING;
    bool idle = !worker->is_driver && running->known && running->stats.running_task_id_count == 0 &&
                running->stats.running_tasks == 0;
    return idle ? PAUSE_IDLE : PAUSE_ATTACHED;
}

static void pause_of_worker(const struct cluster_view *view, size_t index, struct pause *pause)
{
    static const struct cluster_view_running unknown;
    const struct ray_worker *worker = &view->workers[index];
    const struct cluster_view_running *running = view->running ? &view->running[index] : &unknown;
    *pause = (struct pause){
        .pid = worker->pid,
        .debugger = PAUSE_DEBUGPY,
        .port = worker->debugger_port,
        .paused_threads = worker->paused_threads,
        .state = state_of(worker, running),
    };
    text_copy(pause->worker_id, sizeof pause->worker_id, worker->worker_id);
    text_copy(pause->node_id, sizeof pause->node_id, worker->node_id);
    fill_running(view, pause, running);
    if (worker->is_driver)
        fill_driver(view, pause, worker);
    fill_node(view, pause, worker->ip);
    fill_actor(view, pause);
    pause->host = mem_string(pause->node_ip ? pause->node_ip : "127.0.0.1");
}

/* An entry outlives a worker that was killed, and its driver (docs/facts/pdb.md#1a), and connecting
 * to its port to find out would end the task. An entry without an address is Ray's exit_debugger: a
 * step into a remote task found none. */
static bool pdb_is_stale(const struct cluster_view *view, const struct ray_pdb *pdb)
{
    char host[256];
    uint16_t port;
    if (!text_split_host_port(pdb->address ? pdb->address : "", host, sizeof host, &port))
        return true;
    const struct ray_worker *worker = cluster_view_worker(view, pdb->worker_id);
    const struct ray_job *job = cluster_view_job(view, pdb->job_id);
    bool outlives_job = worker && !worker->is_driver; /* a detached actor's process does */
    return (job && job->is_dead && !outlives_job) || dead_node(view, pdb->node_id) ||
           (pdb->worker_id[0] && (!worker || !worker->is_alive));
}

/* The process title of a worker, "ray::square()", gives "square". */
static char *task_of_process(const char *title)
{
    const char *name = title ? title : "";
    if (text_starts(name, "ray::"))
        name += strlen("ray::");
    size_t len = strlen(name);
    if (text_ends(name, "()"))
        len -= 2;
    return len ? mem_string_n(name, len) : NULL;
}

static void pause_of_pdb(const struct cluster_view *view, const struct ray_pdb *pdb,
                         struct pause *pause)
{
    char host[256] = "";
    const struct ray_worker *worker = cluster_view_worker(view, pdb->worker_id);
    const struct ray_task *task = cluster_view_task(view, pdb->task_id);
    *pause = (struct pause){
        .pid = worker ? worker->pid : 0,
        .debugger = PAUSE_PDB,
        .state = PAUSE_WAITING,
        .paused_threads = 1,
        .file = known_text(pdb->file),
        .line = pdb->line,
        .since_ms = pdb->since_ms,
    };
    text_copy(pause->breakpoint, sizeof pause->breakpoint, pdb->uuid);
    text_copy(pause->task_id, sizeof pause->task_id, pdb->task_id);
    text_copy(pause->actor_id, sizeof pause->actor_id, pdb->actor_id);
    text_copy(pause->job_id, sizeof pause->job_id, pdb->job_id);
    text_copy(pause->node_id, sizeof pause->node_id, pdb->node_id);
    text_copy(pause->worker_id, sizeof pause->worker_id, pdb->worker_id);
    if (worker && worker->is_driver)
        fill_driver(view, pause, worker);
    else if (task)
        fill_task(pause, task);
    else if (pdb->task_id[0])
        pause->name_pending = true;
    else /* Ray <= 2.34 gives only the process title */
        pause->task_name = task_of_process(pdb->proctitle);
    text_split_host_port(pdb->address, host, sizeof host, &pause->port);
    pause->host = mem_string(host);
    fill_node(view, pause, worker ? worker->ip : NULL);
    fill_actor(view, pause);
}

static int by_process(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    int order = strcmp(one->node_ip ? one->node_ip : "", two->node_ip ? two->node_ip : "");
    if (order == 0)
        order = (one->pid > two->pid) - (one->pid < two->pid);
    return order ? order : (one->port > two->port) - (one->port < two->port);
}

void cluster_view_pauses(const struct cluster_view *view, struct pause_list *out)
{
    *out = (struct pause_list){
        .items = mem_array(view->worker_count + view->pdb_count, sizeof *out->items)};
    for (size_t i = 0; i < view->worker_count; i++)
        if (cluster_view_has_debugger(&view->workers[i]) &&
            !(view->running && view->running[i].dead))
            pause_of_worker(view, i, &out->items[out->count++]);
    for (size_t i = 0; i < view->pdb_count; i++)
        if (!pdb_is_stale(view, &view->pdbs[i]))
            pause_of_pdb(view, &view->pdbs[i], &out->items[out->count++]);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_process);
}

/* "", or " at 12:00:03 UTC". */
static void clock_text(int64_t ms, char *out, size_t size)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    *out = '\0';
    if (ms > 0 && gmtime_r(&seconds, &utc))
        strftime(out, size, " at %H:%M:%S UTC", &utc);
}

static char *node_death(const struct ray_worker *worker, const struct ray_node *node)
{
    char at[32];
    clock_text(node->end_ms, at, sizeof at);
    bool why = !text_empty(node->end_detail);
    return mem_format("worker pid %lld on %s went with its node, which Ray declared dead%s%s%s",
                      (long long)worker->pid,
                      text_empty(worker->ip) ? "an unknown address" : worker->ip, at,
                      why ? ": " : "", why ? node->end_detail : "");
}

/* In the words of `raydbg why`: the meaning of Ray's words, or how to learn more. */
static char *death_words(const struct ray_worker *worker, const struct process_end *end)
{
    const char *code = process_end_exit_code_words(end->exit_code);
    if (text_empty(worker->exit_detail) || !end->code || end->by_intent)
        return mem_string("");
    if (end->needs_log)
        return text_empty(worker->ip) ? mem_string("")
                                      : mem_format("; `raydbg why %lld@%s` reads its last words",
                                                   (long long)worker->pid, worker->ip);
    if (text_equal(end->code, "exit_code") && code)
        return mem_format("; that is, it exited with code %s", code);
    return mem_format("; that is, %s", end->words);
}

char *cluster_view_death_cause(const struct cluster_view *view, const char *worker_id,
                               enum death_kind *kind)
{
    const struct ray_worker *worker = cluster_view_worker(view, worker_id);
    const struct ray_node *node = worker ? dead_node(view, worker->node_id) : NULL;
    *kind = DEATH_OTHER;
    if (node && text_empty(worker->exit_type))
        return node_death(worker, node);
    if (!worker || worker->is_alive) {
        *kind = DEATH_UNKNOWN;
        return NULL;
    }
    struct process_end end = process_end_of(worker);
    *kind = end.ordinary ? DEATH_ORDINARY : DEATH_OTHER;
    const char *type = worker->exit_type ? worker->exit_type : "";
    const char *verb = text_starts(type, "INTENDED") ? "ended" : "died";
    char *words = death_words(worker, &end);
    char *sentence =
        mem_format("worker pid %lld on %s %s%s%s%s%s%s", (long long)worker->pid,
                   text_empty(worker->ip) ? "an unknown node" : worker->ip, verb, *type ? ": " : "",
                   type, text_empty(worker->exit_detail) ? "" : ": ",
                   text_empty(worker->exit_detail) ? "" : worker->exit_detail, words);
    free(words);
    return sentence;
}
