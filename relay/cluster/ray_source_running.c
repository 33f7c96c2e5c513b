/* Finds what the workers run: with a GCS by a call to each worker, with a dashboard by one
 * request. */
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/poll_schedule.h"
#include "relay/cluster/ray_source_state.h"
#include "relay/cluster/record_cache.h"

#include <stdlib.h>
#include <string.h>

enum {
    AT_ONCE = 64,
    SILENCE_MS = 2000, /* a call that fails after this time is a timeout */
    SILENT_MOST = 128, /* after so many timeouts without one answer, no other worker is asked */
};

/* One call to a worker. */
struct request {
    struct query *query;
    size_t index; /* of the worker */
    int64_t asked_us;
};

/* One ray_source_running(). Owns its queries: the callbacks of dropped calls do not run. */
struct query {
    struct ray_source *source;
    struct query *next;
    struct cluster_view *view; /* NULL once the source is gone */
    size_t at;                 /* the next worker to check */
    size_t outstanding;
    struct hash_index silent_nodes;
    size_t silent, answers;
    loop_fn done;
    void *arg;
    struct request *requests; /* one for each call that may be in flight */
    size_t free_count;
    struct request *free_queries[AT_ONCE];
};

static void query_free(struct query *query)
{
    hash_index_clear(&query->silent_nodes);
    free(query->requests);
    free(query);
}

void ray_source_running_drop(struct ray_source *source)
{
    for (struct query *query = source->queries; query; query = query->next)
        query->view = NULL;
}

void ray_source_running_free(struct ray_source *source)
{
    while (source->queries) {
        struct query *query = source->queries;
        source->queries = query->next;
        query_free(query);
    }
}

static void query_answered(struct query *query)
{
    if (--query->outstanding > 0)
        return;
    LIST_REMOVE(query->source->queries, query);
    loop_fn done = query->view ? query->done : NULL;
    void *arg = query->arg;
    query_free(query);
    if (done)
        done(arg);
}

/* --- with a GCS --- */

static bool is_silent(const struct query *query, const struct ray_worker *worker)
{
    size_t cursor = 0;
    uintptr_t any;
    if (query->silent >= SILENT_MOST && query->answers == 0)
        return true;
    return hash_index_next(&query->silent_nodes, hash_text(worker->node_id, 0), &cursor, &any);
}

static void ask_more(struct query *query);

static void request_end(struct request *request)
{
    struct query *query = request->query;
    query->free_queries[query->free_count++] = request;
    if (query->view)
        ask_more(query);
    query_answered(query);
}

static void on_is_dead(void *arg, const struct err *err, bool dead)
{
    struct request *request = arg;
    struct cluster_view *view = request->query->view;
    if (err)
        log_info("a raylet does not say if a worker has ended: %s", err->what);
    else if (view)
        view->running[request->index].dead = dead;
    request_end(request);
}

/* Asks the raylet of a worker that does not answer. The GCS may list an ended worker as alive
 * without end: to change num_paused_threads it reads the record and writes it back, and the
 * worker's end may be written in between (measured, Ray 2.60). And a worker that cannot be reached
 * from here may be alive. False if no raylet can be asked. */
static bool ask_raylet(struct request *request)
{
    const struct query *query = request->query;
    const struct ray_worker *worker = &query->view->workers[request->index];
    const struct ray_node *node = cluster_view_node(query->view, worker->node_id);
    char *raylet =
        node && node->is_alive ? record_cache_address(node->ip, node->manager_port) : NULL;
    if (!raylet)
        return false;
    gcs_worker_is_dead(query->source->gcs, raylet, worker->worker_id, on_is_dead, request);
    free(raylet);
    return true;
}

static void on_stats(void *arg, const struct err *err, struct ray_worker_stats *stats)
{
    struct request *request = arg;
    struct query *query = request->query;
    int64_t now = loop_now_us();
    bool silent = err && now - request->asked_us > (int64_t)SILENCE_MS * 1000;
    if (query->view) {
        const struct ray_worker *worker = &query->view->workers[request->index];
        if (err)
            log_info("a worker does not say what it runs: %s", err->what);
        if (silent && !is_silent(query, worker))
            hash_index_add(&query->silent_nodes, hash_text(worker->node_id, 0), 0);
        query->silent += silent;
        query->answers += !silent;
        poll_schedule_answered(&query->view->running[request->index], stats, now);
    } else if (stats) {
        ray_worker_stats_clear(stats);
    }
    free(stats);
    if (!query->view || !err || silent || !ask_raylet(request))
        request_end(request);
}

static void ask_worker(struct query *query, size_t index)
{
    const struct ray_worker *worker = &query->view->workers[index];
    struct request *request = query->free_queries[--query->free_count];
    *request = (struct request){query, index, loop_now_us()};
    char *address = record_cache_address(worker->ip, worker->port);
    query->outstanding++;
    gcs_core_worker_stats(query->source->gcs, address, worker->worker_id, on_stats, request);
    free(address);
}

static void ask_more(struct query *query)
{
    struct cluster_view *view = query->view;
    for (; query->at < view->worker_count && query->free_count; query->at++) {
        const struct ray_worker *worker = &view->workers[query->at];
        struct cluster_view_running *running = &view->running[query->at];
        if (!running->wanted || !worker->port || text_empty(worker->ip))
            continue;
        if (is_silent(query, worker))
            poll_schedule_answered(running, NULL, loop_now_us());
        else
            ask_worker(query, query->at);
    }
}

/* --- with a dashboard --- */

static void add_running(struct cluster_view_running *running, const struct ray_task *task)
{
    struct ray_worker_stats *stats = &running->stats;
    size_t count = stats->running_task_id_count;
    stats->running_task_ids =
        mem_resize(stats->running_task_ids, count + 1, sizeof *stats->running_task_ids);
    text_copy(stats->running_task_ids[count], sizeof stats->running_task_ids[count], task->task_id);
    stats->running_task_id_count = count + 1;
    stats->running_tasks = (int64_t)count + 1;
    text_copy(stats->actor_id, sizeof stats->actor_id, task->actor_id);
    text_copy(stats->job_id, sizeof stats->job_id, task->job_id);
}

static void forget_running(struct cluster_view *view)
{
    for (size_t i = 0; i < view->worker_count; i++) {
        ray_worker_stats_clear(&view->running[i].stats);
        view->running[i] = (struct cluster_view_running){0};
    }
}

/* The dashboard lists the tasks of all workers: a worker without one in the list runs none. */
static void set_running(struct cluster_view *view, const struct ray_task *tasks, size_t count)
{
    for (size_t i = 0; i < view->worker_count; i++)
        view->running[i].known = true;
    for (size_t i = 0; i < count; i++) {
        const struct ray_worker *worker = cluster_view_worker(view, tasks[i].worker_id);
        if (worker && cluster_view_has_debugger(worker))
            add_running(&view->running[worker - view->workers], &tasks[i]);
    }
}

static void on_tasks(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct query *query = arg;
    if (err)
        log_info("the dashboard does not say what the workers run: %s", err->what);
    if (query->view)
        forget_running(query->view);
    if (query->view && !err) {
        set_running(query->view, tasks, count);
        cluster_view_add_tasks(query->view, tasks, count);
    } else {
        ray_tasks_free(tasks, count);
    }
    query_answered(query);
}

static bool has_debuggers(const struct cluster_view *view)
{
    for (size_t i = 0; i < view->worker_count; i++)
        if (cluster_view_has_debugger(&view->workers[i]))
            return true;
    return false;
}

void ray_source_running(struct ray_source *source, struct cluster_view *view, loop_fn done,
                        void *arg)
{
    struct query *query = mem_alloc(sizeof *query);
    *query = (struct query){
        .source = source,
        .next = source->queries,
        .view = view,
        .outstanding = 1,
        .done = done,
        .arg = arg,
        .requests = mem_array(AT_ONCE, sizeof *query->requests),
    };
    source->queries = query;
    for (; query->free_count < AT_ONCE; query->free_count++)
        query->free_queries[query->free_count] = &query->requests[query->free_count];
    if (source->gcs) {
        ask_more(query);
    } else if (has_debuggers(view)) {
        query->outstanding++;
        dashboard_tasks(source->dashboard, "", on_tasks, query);
    }
    query_answered(query);
}
