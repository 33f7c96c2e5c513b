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
struct question {
    struct look *look;
    size_t index; /* of the worker */
    int64_t asked_us;
};

/* One ray_source_running(). Owns its questions: the callbacks of dropped calls do not run. */
struct look {
    struct ray_source *source;
    struct look *next;
    struct cluster_view *view; /* NULL once the source is gone */
    size_t at;                 /* the next worker to check */
    size_t outstanding;
    struct hash_index silent_nodes;
    size_t silent, answers;
    loop_fn done;
    void *arg;
    struct question *questions; /* one for each call that may be in flight */
    size_t free_count;
    struct question *free_questions[AT_ONCE];
};

static void look_free(struct look *look)
{
    hash_index_clear(&look->silent_nodes);
    free(look->questions);
    free(look);
}

void ray_source_running_drop(struct ray_source *source)
{
    for (struct look *look = source->looks; look; look = look->next)
        look->view = NULL;
}

void ray_source_running_free(struct ray_source *source)
{
    while (source->looks) {
        struct look *look = source->looks;
        source->looks = look->next;
        look_free(look);
    }
}

static void look_answered(struct look *look)
{
    if (--look->outstanding > 0)
        return;
    LIST_REMOVE(look->source->looks, look);
    loop_fn done = look->view ? look->done : NULL;
    void *arg = look->arg;
    look_free(look);
    if (done)
        done(arg);
}

/* --- with a GCS --- */

static bool is_silent(const struct look *look, const struct ray_worker *worker)
{
    size_t cursor = 0;
    uintptr_t any;
    if (look->silent >= SILENT_MOST && look->answers == 0)
        return true;
    return hash_index_next(&look->silent_nodes, hash_text(worker->node_id, 0), &cursor, &any);
}

static void ask_more(struct look *look);

static void question_end(struct question *question)
{
    struct look *look = question->look;
    look->free_questions[look->free_count++] = question;
    if (look->view)
        ask_more(look);
    look_answered(look);
}

static void on_is_dead(void *arg, const struct err *err, bool dead)
{
    struct question *question = arg;
    struct cluster_view *view = question->look->view;
    if (err)
        log_info("a raylet does not say if a worker has ended: %s", err->what);
    else if (view)
        view->running[question->index].dead = dead;
    question_end(question);
}

/* Asks the raylet of a worker that does not answer. The GCS may list an ended worker as alive
 * without end: to change num_paused_threads it reads the record and writes it back, and the
 * worker's end may be written in between (measured, Ray 2.60). And a worker that cannot be reached
 * from here may be alive. False if no raylet can be asked. */
static bool ask_raylet(struct question *question)
{
    const struct look *look = question->look;
    const struct ray_worker *worker = &look->view->workers[question->index];
    const struct ray_node *node = cluster_view_node(look->view, worker->node_id);
    char *raylet =
        node && node->is_alive ? record_cache_address(node->ip, node->manager_port) : NULL;
    if (!raylet)
        return false;
    gcs_worker_is_dead(look->source->gcs, raylet, worker->worker_id, on_is_dead, question);
    free(raylet);
    return true;
}

static void on_stats(void *arg, const struct err *err, struct ray_worker_stats *stats)
{
    struct question *question = arg;
    struct look *look = question->look;
    int64_t now = loop_now_us();
    bool silent = err && now - question->asked_us > (int64_t)SILENCE_MS * 1000;
    if (look->view) {
        const struct ray_worker *worker = &look->view->workers[question->index];
        if (err)
            log_info("a worker does not say what it runs: %s", err->what);
        if (silent && !is_silent(look, worker))
            hash_index_add(&look->silent_nodes, hash_text(worker->node_id, 0), 0);
        look->silent += silent;
        look->answers += !silent;
        poll_schedule_answered(&look->view->running[question->index], stats, now);
    } else if (stats) {
        ray_worker_stats_clear(stats);
    }
    free(stats);
    if (!look->view || !err || silent || !ask_raylet(question))
        question_end(question);
}

static void ask_worker(struct look *look, size_t index)
{
    const struct ray_worker *worker = &look->view->workers[index];
    struct question *question = look->free_questions[--look->free_count];
    *question = (struct question){look, index, loop_now_us()};
    char *address = record_cache_address(worker->ip, worker->port);
    look->outstanding++;
    gcs_core_worker_stats(look->source->gcs, address, worker->worker_id, on_stats, question);
    free(address);
}

static void ask_more(struct look *look)
{
    struct cluster_view *view = look->view;
    for (; look->at < view->worker_count && look->free_count; look->at++) {
        const struct ray_worker *worker = &view->workers[look->at];
        struct cluster_view_running *running = &view->running[look->at];
        if (!running->wanted || !worker->port || text_empty(worker->ip))
            continue;
        if (is_silent(look, worker))
            poll_schedule_answered(running, NULL, loop_now_us());
        else
            ask_worker(look, look->at);
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
    struct look *look = arg;
    if (err)
        log_info("the dashboard does not say what the workers run: %s", err->what);
    if (look->view)
        forget_running(look->view);
    if (look->view && !err) {
        set_running(look->view, tasks, count);
        cluster_view_add_tasks(look->view, tasks, count);
    } else {
        ray_tasks_free(tasks, count);
    }
    look_answered(look);
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
    struct look *look = mem_alloc(sizeof *look);
    *look = (struct look){
        .source = source,
        .next = source->looks,
        .view = view,
        .outstanding = 1,
        .done = done,
        .arg = arg,
        .questions = mem_array(AT_ONCE, sizeof *look->questions),
    };
    source->looks = look;
    for (; look->free_count < AT_ONCE; look->free_count++)
        look->free_questions[look->free_count] = &look->questions[look->free_count];
    if (source->gcs) {
        ask_more(look);
    } else if (has_debuggers(view)) {
        look->outstanding++;
        dashboard_tasks(source->dashboard, "", on_tasks, look);
    }
    look_answered(look);
}
