/* Adds records to a view, and drops them. */
#include "base/mem.h"
#include "relay/cluster/cluster_view.h"

#include <stdlib.h>

/* --- replacing records --- */

#define SET(rows, type, counter, index)                                                            \
    void cluster_view_set_##rows(struct cluster_view *view, struct type *rows, size_t count)       \
    {                                                                                              \
        type##s_free(view->rows, view->counter);                                                   \
        view->rows = rows;                                                                         \
        view->counter = count;                                                                     \
        cluster_view_ids_clear(&view->index);                                                      \
    }

SET(actors, ray_actor, actor_count, actor_ids)
SET(nodes, ray_node, node_count, node_ids)
SET(jobs, ray_job, job_count, job_ids)

void cluster_view_set_pdbs(struct cluster_view *view, struct ray_pdb *pdbs, size_t count)
{
    ray_pdbs_free(view->pdbs, view->pdb_count);
    view->pdbs = pdbs;
    view->pdb_count = count;
}

void cluster_view_set_workers(struct cluster_view *view, struct ray_worker *workers, size_t count)
{
    struct cluster_view old = {.workers = view->workers,
                               .worker_count = view->worker_count,
                               .running = view->running,
                               .worker_ids = view->worker_ids};
    struct cluster_view_running *running = mem_array(count, sizeof *running);
    for (size_t i = 0; old.running && i < count; i++) {
        const struct ray_worker *before = cluster_view_worker(&old, workers[i].worker_id);
        if (!before)
            continue;
        struct cluster_view_running *from = &old.running[before - old.workers];
        running[i] = *from;
        *from = (struct cluster_view_running){0};
    }
    view->workers = workers;
    view->worker_count = count;
    view->running = running;
    view->worker_ids = (struct cluster_view_ids){0};
    cluster_view_clear(&old);
}

void cluster_view_bury_workers(struct cluster_view *view)
{
    for (size_t i = 0; i < view->worker_count; i++)
        if (view->workers[i].is_alive && cluster_view_node_is_dead(view, &view->workers[i]))
            view->workers[i].is_alive = false;
}

/* --- adding records --- */

static struct ray_worker *own_worker(struct cluster_view *view, const char *worker_id)
{
    return (struct ray_worker *)(uintptr_t)cluster_view_worker(view, worker_id);
}

void cluster_view_put_workers(struct cluster_view *view, struct ray_worker *workers, size_t count)
{
    size_t known = view->worker_count;
    view->workers = mem_resize(view->workers, known + count, sizeof *view->workers);
    view->running = mem_resize(view->running, known + count, sizeof *view->running);
    for (size_t i = 0; i < count; i++) {
        struct ray_worker *before = own_worker(view, workers[i].worker_id);
        if (before) {
            struct ray_worker old = *before;
            *before = workers[i];
            workers[i] = old;
            continue;
        }
        view->running[view->worker_count] = (struct cluster_view_running){0};
        view->workers[view->worker_count++] = workers[i];
        workers[i] = (struct ray_worker){0};
    }
    ray_workers_free(workers, count);
}

void cluster_view_put_waiting(struct cluster_view *view, struct ray_worker *workers, size_t count,
                              void (*left)(void *arg, const char *worker_id), void *arg)
{
    size_t known = view->worker_count;
    bool *waits = mem_array(known, sizeof *waits);
    for (size_t i = 0; i < count; i++) {
        const struct ray_worker *before = cluster_view_worker(view, workers[i].worker_id);
        if (before)
            waits[before - view->workers] = true;
    }
    cluster_view_put_workers(view, workers, count);
    for (size_t i = 0; i < known; i++) {
        if (waits[i] || !view->workers[i].paused_threads ||
            !cluster_view_has_debugger(&view->workers[i]))
            continue;
        view->workers[i].paused_threads = 0;
        left(arg, view->workers[i].worker_id);
    }
    free(waits);
}

void cluster_view_put_actors(struct cluster_view *view, struct ray_actor *actors, size_t count)
{
    view->actors = mem_resize(view->actors, view->actor_count + count, sizeof *view->actors);
    for (size_t i = 0; i < count; i++) {
        if (cluster_view_actor(view, actors[i].actor_id))
            continue;
        view->actors[view->actor_count++] = actors[i];
        actors[i] = (struct ray_actor){0};
    }
    ray_actors_free(actors, count);
}

void cluster_view_add_tasks(struct cluster_view *view, struct ray_task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ray_task *known =
            (struct ray_task *)(uintptr_t)cluster_view_task(view, tasks[i].task_id);
        if (known) {
            struct ray_task old = *known;
            *known = tasks[i];
            tasks[i] = old;
            continue;
        }
        view->tasks =
            mem_grow(view->tasks, view->task_count, &view->task_room, sizeof *view->tasks);
        view->tasks[view->task_count++] = tasks[i];
        tasks[i] = (struct ray_task){0};
    }
    ray_tasks_free(tasks, count);
}

/* --- dropping unused records --- */

void cluster_view_each_task_id(const struct cluster_view *view,
                               void (*fn)(void *arg, const char *task_id), void *arg)
{
    for (size_t i = 0; view->running && i < view->worker_count; i++)
        for (size_t k = 0; k < view->running[i].stats.running_task_id_count; k++)
            fn(arg, view->running[i].stats.running_task_ids[k]);
    for (size_t i = 0; i < view->pdb_count; i++)
        if (view->pdbs[i].task_id[0])
            fn(arg, view->pdbs[i].task_id);
}

/* The rows that something in the view mentions. */
struct marks {
    const struct cluster_view *view;
    bool *rows;
};

static void mark_task(void *arg, const char *task_id)
{
    struct marks *marks = arg;
    const struct ray_task *task = cluster_view_task(marks->view, task_id);
    if (task)
        marks->rows[task - marks->view->tasks] = true;
}

void cluster_view_drop_tasks(struct cluster_view *view)
{
    struct marks marks = {view, mem_array(view->task_count, sizeof(bool))};
    struct ray_task *gone = mem_array(view->task_count, sizeof *gone);
    size_t kept = 0, dropped = 0;
    cluster_view_each_task_id(view, mark_task, &marks);
    for (size_t i = 0; i < view->task_count; i++) {
        if (!marks.rows[i])
            gone[dropped++] = view->tasks[i];
        else
            view->tasks[kept++] = view->tasks[i];
    }
    if (dropped)
        cluster_view_ids_clear(&view->task_ids);
    view->task_count = kept;
    ray_tasks_free(gone, dropped);
    free(marks.rows);
}

static void mark_actor(const struct marks *marks, const char *actor_id)
{
    const struct ray_actor *actor = cluster_view_actor(marks->view, actor_id);
    if (actor)
        marks->rows[actor - marks->view->actors] = true;
}

/* A task's actor counts, too: a pause takes it if the worker itself does not name one. */
static void mark_actors(const struct marks *marks)
{
    const struct cluster_view *view = marks->view;
    for (size_t i = 0; view->running && i < view->worker_count; i++)
        mark_actor(marks, view->running[i].stats.actor_id);
    for (size_t i = 0; i < view->task_count; i++)
        mark_actor(marks, view->tasks[i].actor_id);
    for (size_t i = 0; i < view->pdb_count; i++)
        mark_actor(marks, view->pdbs[i].actor_id);
}

void cluster_view_drop_actors(struct cluster_view *view)
{
    struct marks marks = {view, mem_array(view->actor_count, sizeof(bool))};
    struct ray_actor *gone = mem_array(view->actor_count, sizeof *gone);
    size_t kept = 0, dropped = 0;
    mark_actors(&marks);
    for (size_t i = 0; i < view->actor_count; i++) {
        if (!marks.rows[i])
            gone[dropped++] = view->actors[i];
        else
            view->actors[kept++] = view->actors[i];
    }
    if (dropped)
        cluster_view_ids_clear(&view->actor_ids);
    view->actor_count = kept;
    ray_actors_free(gone, dropped);
    free(marks.rows);
}
