#include "relay/view.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void running_free(struct view_running *running, size_t count)
{
    for (size_t i = 0; running && i < count; i++)
        ray_worker_stats_clear(&running[i].stats);
    free(running);
}

void view_clear(struct view *view)
{
    running_free(view->running, view->worker_count);
    ray_workers_free(view->workers, view->worker_count);
    ray_tasks_free(view->tasks, view->task_count);
    ray_actors_free(view->actors, view->actor_count);
    ray_nodes_free(view->nodes, view->node_count);
    ray_jobs_free(view->jobs, view->job_count);
    ray_pdbs_free(view->pdbs, view->pdb_count);
    view_forget_ids(view);
    *view = (struct view){0};
}

bool view_has_debugger(const struct ray_worker *worker)
{
    /* A worker that was killed while it was paused keeps its count: only is_alive tells. */
    return worker->is_alive && worker->debugger_port != 0;
}

/* --- look-ups: an empty id is nobody's --- */

void view_ids_clear(struct view_ids *ids)
{
    hash_index_clear(&ids->ids);
    ids->count = 0;
}

void view_forget_ids(struct view *view)
{
    view_ids_clear(&view->worker_ids);
    view_ids_clear(&view->task_ids);
    view_ids_clear(&view->actor_ids);
    view_ids_clear(&view->node_ids);
    view_ids_clear(&view->job_ids);
}

/* An array whose rows have their id at the same place each. */
struct rows {
    const void *first; /* the first row's id */
    size_t size;
    size_t count;
};

static const char *id_at(const struct rows *rows, size_t row)
{
    return (const char *)rows->first + row * rows->size;
}

/* The row, or `count`. */
static size_t ids_find(struct view_ids *ids, const struct rows *rows, const char *id)
{
    size_t cursor = 0;
    uintptr_t row;
    if (!id[0])
        return rows->count;
    if (ids->count > rows->count)
        view_ids_clear(ids);
    for (; ids->count < rows->count; ids->count++)
        hash_index_add(&ids->ids, hash_text(id_at(rows, ids->count), 0), ids->count);
    while (hash_index_next(&ids->ids, hash_text(id, 0), &cursor, &row))
        if (strcmp(id_at(rows, row), id) == 0)
            return row;
    return rows->count;
}

/* The index is no part of what a view says. */
#define FIND(name, type, items, counter, member, index)                                            \
    const struct type *name(const struct view *view, const char *id)                               \
    {                                                                                              \
        struct rows rows = {view->items ? view->items->member : NULL, sizeof *view->items,         \
                            view->counter};                                                        \
        struct view *own = (struct view *)(uintptr_t)view;                                         \
        size_t row = ids_find(&own->index, &rows, id);                                             \
        return row < view->counter ? &view->items[row] : NULL;                                     \
    }

FIND(view_worker, ray_worker, workers, worker_count, worker_id, worker_ids)
FIND(view_task, ray_task, tasks, task_count, task_id, task_ids)
FIND(view_actor, ray_actor, actors, actor_count, actor_id, actor_ids)
FIND(view_node, ray_node, nodes, node_count, node_id, node_ids)
FIND(view_job, ray_job, jobs, job_count, job_id, job_ids)

/* --- pauses --- */

static char *known_text(const char *text)
{
    return text_empty(text) ? NULL : mem_string(text);
}

static void fill_actor(const struct view *view, struct pause *pause)
{
    const struct ray_actor *actor = view_actor(view, pause->actor_id);
    if (!actor)
        return;
    pause->actor_class = known_text(actor->class_name);
    pause->actor_name = known_text(actor->name);
    if (!pause->job_id[0])
        text_copy(pause->job_id, sizeof pause->job_id, actor->job_id);
}

static void fill_node(const struct view *view, struct pause *pause, const char *ip)
{
    const struct ray_node *node = view_node(view, pause->node_id);
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

/* Several tasks run: the name is told if it is the name of all. */
static void fill_candidates(const struct view *view, struct pause *pause,
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
        const struct ray_task *task = view_task(view, stats->running_task_ids[i]);
        pause->name_pending = pause->name_pending || !task;
        same = same && task && (!name || text_equal(name, task->name));
        name = task ? task->name : NULL;
        if (task && task->running_ms && (!pause->since_ms || task->running_ms < pause->since_ms))
            pause->since_ms = task->running_ms;
    }
    if (same)
        pause->task_name = known_text(name);
}

static void fill_running(const struct view *view, struct pause *pause,
                         const struct view_running *running)
{
    const struct ray_worker_stats *stats = &running->stats;
    if (!running->known)
        return;
    text_copy(pause->actor_id, sizeof pause->actor_id, stats->actor_id);
    text_copy(pause->job_id, sizeof pause->job_id, stats->job_id);
    if (stats->running_task_id_count == 0)
        return;
    text_copy(pause->task_id, sizeof pause->task_id, stats->running_task_ids[0]);
    const struct ray_task *task = view_task(view, pause->task_id);
    if (stats->running_task_id_count > 1)
        fill_candidates(view, pause, stats);
    else if (task)
        fill_task(pause, task);
    else
        pause->name_pending = true;
}

static enum pause_state state_of(const struct ray_worker *worker,
                                 const struct view_running *running)
{
    if (worker->paused_threads > 0)
        return PAUSE_WAITING;
    bool idle = running->known && running->stats.running_task_id_count == 0 &&
                running->stats.running_tasks == 0;
    return idle ? PAUSE_IDLE : PAUSE_ATTACHED;
}

static void pause_of_worker(const struct view *view, size_t index, struct pause *pause)
{
    static const struct view_running unknown;
    const struct ray_worker *worker = &view->workers[index];
    const struct view_running *running = view->running ? &view->running[index] : &unknown;
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
    fill_node(view, pause, worker->ip);
    fill_actor(view, pause);
    pause->host = mem_string(pause->node_ip ? pause->node_ip : "127.0.0.1");
}

/* An entry outlives a worker that was killed, and its driver too (pdb-facts 1a): and a look at its
 * port would end the task. One without an address is Ray's word that a step into a remote task has
 * found none. */
static bool pdb_is_stale(const struct view *view, const struct ray_pdb *pdb)
{
    char host[256];
    uint16_t port;
    if (!text_split_host_port(pdb->address ? pdb->address : "", host, sizeof host, &port))
        return true;
    const struct ray_worker *worker = view_worker(view, pdb->worker_id);
    const struct ray_job *job = view_job(view, pdb->job_id);
    return (job && job->is_dead) || (pdb->worker_id[0] && (!worker || !worker->is_alive));
}

/* "ray::square()", as a worker's process calls itself, is "square". */
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

static void pause_of_pdb(const struct view *view, const struct ray_pdb *pdb, struct pause *pause)
{
    char host[256] = "";
    const struct ray_worker *worker = view_worker(view, pdb->worker_id);
    const struct ray_task *task = view_task(view, pdb->task_id);
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
    if (task)
        fill_task(pause, task);
    else if (pdb->task_id[0])
        pause->name_pending = true;
    else /* Ray <= 2.34 tells no more than how the process calls itself */
        pause->task_name = task_of_process(pdb->proctitle);
    text_split_host_port(pdb->address, host, sizeof host, &pause->port);
    pause->host = mem_string(host);
    fill_node(view, pause, worker ? worker->ip : NULL);
    fill_actor(view, pause);
}

static int by_place(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    int order = strcmp(one->node_ip ? one->node_ip : "", two->node_ip ? two->node_ip : "");
    if (order == 0)
        order = (one->pid > two->pid) - (one->pid < two->pid);
    return order ? order : (one->port > two->port) - (one->port < two->port);
}

void view_pauses(const struct view *view, struct pause_list *out)
{
    *out = (struct pause_list){
        .items = mem_array(view->worker_count + view->pdb_count, sizeof *out->items)};
    for (size_t i = 0; i < view->worker_count; i++)
        if (view_has_debugger(&view->workers[i]))
            pause_of_worker(view, i, &out->items[out->count++]);
    for (size_t i = 0; i < view->pdb_count; i++)
        if (!pdb_is_stale(view, &view->pdbs[i]))
            pause_of_pdb(view, &view->pdbs[i], &out->items[out->count++]);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_place);
}

char *view_fate(const struct view *view, const char *worker_id)
{
    const struct ray_worker *worker = view_worker(view, worker_id);
    if (!worker || worker->is_alive)
        return NULL;
    const char *type = worker->exit_type ? worker->exit_type : "";
    const char *verb = text_starts(type, "INTENDED") ? "ended" : "died";
    return mem_format("worker pid %lld on %s %s%s%s%s%s", (long long)worker->pid,
                      text_empty(worker->ip) ? "an unknown node" : worker->ip, verb,
                      *type ? ": " : "", type, text_empty(worker->exit_detail) ? "" : ": ",
                      text_empty(worker->exit_detail) ? "" : worker->exit_detail);
}
