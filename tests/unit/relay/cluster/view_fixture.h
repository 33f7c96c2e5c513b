/* Records of a small cluster, one after the other into a view. */
#ifndef RAYDBG_TESTS_VIEW_FIXTURE_H
#define RAYDBG_TESTS_VIEW_FIXTURE_H

#include "sample_ids.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/cluster_view.h"

#include <stdlib.h>
#include <string.h>

#define WORKER UNIQUE_ID("a1")
#define OTHER_WORKER UNIQUE_ID("a2")
#define NODE UNIQUE_ID("b1")
#define OTHER_NODE UNIQUE_ID("b2")
#define TASK TASK_ID("c1")
#define OTHER_TASK TASK_ID("c2")
#define THIRD_TASK TASK_ID("c3")
#define ACTOR ACTOR_ID("d1")
#define JOB "01000000"

/* --- records --- */

static inline struct ray_worker *add_worker(struct cluster_view *view, const char *id,
                                            const char *ip, int64_t pid)
{
    view->workers = mem_resize(view->workers, view->worker_count + 1, sizeof *view->workers);
    view->running = mem_resize(view->running, view->worker_count + 1, sizeof *view->running);
    view->running[view->worker_count] = (struct cluster_view_running){0};
    struct ray_worker *worker = &view->workers[view->worker_count++];
    *worker = (struct ray_worker){.pid = pid, .is_alive = true, .debugger_port = 40001};
    worker->ip = mem_string(ip);
    worker->paused_threads = 1;
    text_copy(worker->worker_id, sizeof worker->worker_id, id);
    text_copy(worker->node_id, sizeof worker->node_id, NODE);
    return worker;
}

/* What the worker added last says of itself. */
static inline struct ray_worker_stats *last_stats(struct cluster_view *view)
{
    struct cluster_view_running *running = &view->running[view->worker_count - 1];
    running->known = true;
    text_copy(running->stats.job_id, sizeof running->stats.job_id, JOB);
    return &running->stats;
}

static inline void add_running(struct ray_worker_stats *stats, const char *task_id)
{
    size_t count = stats->running_task_id_count++;
    stats->running_tasks++;
    stats->running_task_ids =
        mem_resize(stats->running_task_ids, count + 1, sizeof *stats->running_task_ids);
    text_copy(stats->running_task_ids[count], sizeof *stats->running_task_ids, task_id);
}

static inline void add_task(struct cluster_view *view, const char *id, const char *name,
                            int64_t running_ms)
{
    struct ray_task *task = mem_alloc(sizeof *task);
    text_copy(task->task_id, sizeof task->task_id, id);
    text_copy(task->job_id, sizeof task->job_id, "02000000");
    task->name = mem_string(name);
    task->func_or_class = mem_string(name);
    task->running_ms = running_ms;
    cluster_view_add_tasks(view, task, 1);
}

static inline void add_actor(struct cluster_view *view)
{
    view->actors = mem_array(1, sizeof *view->actors);
    view->actor_count = 1;
    text_copy(view->actors->actor_id, sizeof view->actors->actor_id, ACTOR);
    text_copy(view->actors->job_id, sizeof view->actors->job_id, "03000000");
    view->actors->class_name = mem_string("Trainer");
    view->actors->name = mem_string("bob");
}

static inline void add_node(struct cluster_view *view)
{
    view->nodes = mem_array(1, sizeof *view->nodes);
    view->node_count = 1;
    text_copy(view->nodes->node_id, sizeof view->nodes->node_id, NODE);
    view->nodes->is_alive = true;
    view->nodes->ip = mem_string("10.0.0.99");
    view->nodes->hostname = mem_string("head-node");
}

static inline struct ray_pdb *add_pdb(struct cluster_view *view)
{
    view->pdbs = mem_resize(view->pdbs, view->pdb_count + 1, sizeof *view->pdbs);
    struct ray_pdb *pdb = &view->pdbs[view->pdb_count++];
    *pdb = (struct ray_pdb){.line = 12, .since_ms = 1700000000000};
    pdb->address = mem_string("localhost:39947");
    pdb->proctitle = mem_string("ray::square()");
    pdb->file = mem_string("/app/square.py");
    text_copy(pdb->job_id, sizeof pdb->job_id, JOB);
    return pdb;
}

static inline void add_job(struct cluster_view *view, bool is_dead)
{
    view->jobs = mem_array(1, sizeof *view->jobs);
    view->job_count = 1;
    text_copy(view->jobs->job_id, sizeof view->jobs->job_id, JOB);
    view->jobs->is_dead = is_dead;
}

#endif
