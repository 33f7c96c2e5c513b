/* What the workers run: of a GCS's cluster each is asked itself, a dashboard tells of all. */
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/poll.h"
#include "relay/source_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    AT_ONCE = 64,
    SILENCE_MS = 2000, /* who fails after so long was not there at all */
    SILENT_MOST = 128, /* if so many were not there, and none was, nobody is */
};

/* One worker's question within a look. */
struct question {
    struct look *look;
    size_t index; /* of the worker */
    int64_t asked_us;
};

/* One source_running(). It owns its questions: those that are dropped are not told. */
struct look {
    struct source *source;
    struct look *next;
    struct view *view; /* NULL once the source is gone */
    size_t at;         /* the next worker to look at */
    size_t outstanding;
    struct hash_index silent_nodes;
    size_t silent, answers;
    loop_fn done;
    void *arg;
    struct question *questions; /* of all that may be outstanding at a time */
    size_t free_count;
    struct question *free_questions[AT_ONCE];
};

static void look_free(struct look *look)
{
    hash_index_clear(&look->silent_nodes);
    free(look->questions);
    free(look);
}

void source_running_drop(struct source *source)
{
    for (struct look *look = source->looks; look; look = look->next)
        look->view = NULL;
}

void source_running_free(struct source *source)
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
    struct look **at = &look->source->looks;
    while (*at != look)
        at = &(*at)->next;
    *at = look->next;
    loop_fn done = look->view ? look->done : NULL;
    void *arg = look->arg;
    look_free(look);
    if (done)
        done(arg);
}

/* --- a GCS's --- */

static bool is_silent(const struct look *look, const struct ray_worker *worker)
{
    size_t cursor = 0;
    uintptr_t any;
    if (look->silent >= SILENT_MOST && look->answers == 0)
        return true;
    return hash_index_next(&look->silent_nodes, hash_text(worker->node_id, 0), &cursor, &any);
}

static void ask_more(struct look *look);

static void on_stats(void *arg, const struct err *err, struct ray_worker_stats *stats)
{
    struct question *question = arg;
    struct look *look = question->look;
    int64_t now = loop_now_us();
    if (look->view) {
        const struct ray_worker *worker = &look->view->workers[question->index];
        bool silent = err && now - question->asked_us > (int64_t)SILENCE_MS * 1000;
        if (err)
            log_info("a worker does not say what it runs: %s", err->what);
        if (silent && !is_silent(look, worker))
            hash_index_add(&look->silent_nodes, hash_text(worker->node_id, 0), 0);
        look->silent += silent;
        look->answers += !silent;
        poll_answered(&look->view->running[question->index], stats, now);
    } else if (stats) {
        ray_worker_stats_clear(stats);
    }
    free(stats);
    look->free_questions[look->free_count++] = question;
    if (look->view)
        ask_more(look);
    look_answered(look);
}

static void ask_worker(struct look *look, size_t index)
{
    const struct ray_worker *worker = &look->view->workers[index];
    struct question *question = look->free_questions[--look->free_count];
    *question = (struct question){look, index, loop_now_us()};
    char *address = mem_format(strchr(worker->ip, ':') ? "[%s]:%u" : "%s:%u", worker->ip,
                               (unsigned)worker->port);
    look->outstanding++;
    core_worker_stats(look->source->gcs, address, worker->worker_id, on_stats, question);
    free(address);
}

static void ask_more(struct look *look)
{
    struct view *view = look->view;
    for (; look->at < view->worker_count && look->free_count; look->at++) {
        const struct ray_worker *worker = &view->workers[look->at];
        struct view_running *running = &view->running[look->at];
        if (!running->wanted || !worker->port || text_empty(worker->ip))
            continue;
        if (is_silent(look, worker))
            poll_answered(running, NULL, loop_now_us());
        else
            ask_worker(look, look->at);
    }
}

/* --- a dashboard's --- */

static void add_running(struct view_running *running, const struct ray_task *task)
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

static void forget_running(struct view *view)
{
    for (size_t i = 0; i < view->worker_count; i++) {
        ray_worker_stats_clear(&view->running[i].stats);
        view->running[i] = (struct view_running){0};
    }
}

/* It tells the tasks of all workers at once; who has none of them runs none. */
static void set_running(struct view *view, const struct ray_task *tasks, size_t count)
{
    for (size_t i = 0; i < view->worker_count; i++)
        view->running[i].known = true;
    for (size_t i = 0; i < count; i++) {
        const struct ray_worker *worker = view_worker(view, tasks[i].worker_id);
        if (worker && view_has_debugger(worker))
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
        view_add_tasks(look->view, tasks, count);
    } else {
        ray_tasks_free(tasks, count);
    }
    look_answered(look);
}

static bool has_debuggers(const struct view *view)
{
    for (size_t i = 0; i < view->worker_count; i++)
        if (view_has_debugger(&view->workers[i]))
            return true;
    return false;
}

void source_running(struct source *source, struct view *view, loop_fn done, void *arg)
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
