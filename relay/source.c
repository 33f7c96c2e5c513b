#include "relay/source.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/dashboard.h"

#include <stdlib.h>
#include <string.h>

enum { DEADLINE_MS = 5000, DASHBOARD_DEADLINE_MS = 20000, OBJECTS_DEADLINE_MS = 20000 };
enum { QUICK_DEADLINE_MS = 2000 };

/* A gcs and who is asked for objects, or a dashboard. */
struct source {
    struct credentials credentials;
    struct rpc *rpc;
    struct gcs *gcs;
    struct object_client *objects, *quick_objects;
    struct dashboard *dashboard;
    struct version_question *versions; /* that were not answered */
    struct look *looks;                /* running ones, for source_destroy() */
};

/* One source_version() to a GCS. */
struct version_question {
    struct version_question *next;
    struct source *source;
    gcs_version_fn fn;
    void *arg;
};

/* One worker's question within a look. */
struct question {
    struct look *look;
    size_t index; /* of the worker */
};

/* One source_running(). It owns its questions: those that are dropped are not told. */
struct look {
    struct source *source;
    struct look *next;
    struct view *view; /* NULL once the source is gone */
    size_t outstanding;
    loop_fn done;
    void *arg;
    struct question questions[]; /* one for each worker of the view */
};

struct source *source_create(struct loop *loop, const struct address *address, struct err *err)
{
    struct source *source = mem_alloc(sizeof *source);
    if (credentials_load(&source->credentials, err) != 0) {
        free(source);
        return NULL;
    }
    if (address->kind == ADDRESS_DASHBOARD) {
        source->dashboard = dashboard_create(loop_context(loop), address->text,
                                             &source->credentials, DASHBOARD_DEADLINE_MS, err);
    } else {
        struct rpc_options options = {
            .credentials = &source->credentials,
            .post = loop_post,
            .post_context = loop,
        };
        source->rpc = rpc_create(&options);
        source->gcs = gcs_create(source->rpc, address->text, DEADLINE_MS);
        source->objects = object_client_create(source->rpc, OBJECTS_DEADLINE_MS);
        source->quick_objects = object_client_create(source->rpc, QUICK_DEADLINE_MS);
    }
    if (!source->gcs && !source->dashboard)
        source_destroy(&source);
    return source;
}

void source_destroy(struct source **source)
{
    struct source *it = *source;
    if (!it)
        return;
    *source = NULL;
    for (struct look *look = it->looks; look; look = look->next)
        look->view = NULL;
    gcs_destroy(&it->gcs);
    object_client_destroy(&it->objects);
    object_client_destroy(&it->quick_objects);
    dashboard_destroy(&it->dashboard);
    rpc_destroy(&it->rpc);
    while (it->looks) {
        struct look *look = it->looks;
        it->looks = look->next;
        free(look);
    }
    while (it->versions) {
        struct version_question *question = it->versions;
        it->versions = question->next;
        free(question);
    }
    credentials_clear(&it->credentials);
    free(it);
}

#define EITHER(name, type)                                                                         \
    void source_##name(struct source *source, type fn, void *arg)                                  \
    {                                                                                              \
        if (source->gcs)                                                                           \
            gcs_##name(source->gcs, fn, arg);                                                      \
        else                                                                                       \
            dashboard_##name(source->dashboard, fn, arg);                                          \
    }

EITHER(workers, gcs_workers_fn)
EITHER(nodes, gcs_nodes_fn)
EITHER(actors, gcs_actors_fn)
EITHER(jobs, gcs_jobs_fn)

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct version_question *question = arg;
    struct version_question **at = &question->source->versions;
    while (*at != question)
        at = &(*at)->next;
    *at = question->next;
    if (!err) {
        object_client_set_version(question->source->objects, version);
        object_client_set_version(question->source->quick_objects, version);
    }
    gcs_version_fn fn = question->fn;
    arg = question->arg;
    free(question);
    if (fn)
        fn(arg, err, version, ray_version, python_version);
}

void source_version(struct source *source, gcs_version_fn fn, void *arg)
{
    if (source->dashboard) {
        dashboard_version(source->dashboard, fn, arg);
        return;
    }
    struct version_question *question = mem_alloc(sizeof *question);
    *question = (struct version_question){source->versions, source, fn, arg};
    source->versions = question;
    gcs_version(source->gcs, on_version, question);
}

struct object_client *source_objects(struct source *source)
{
    return source->objects;
}

struct object_client *source_quick_objects(struct source *source)
{
    return source->quick_objects;
}

void source_pdbs(struct source *source, gcs_pdbs_fn fn, void *arg)
{
    if (source->gcs)
        gcs_pdbs(source->gcs, fn, arg);
    else
        fn(arg, NULL, NULL, 0);
}

void source_task(struct source *source, const char *task_id, gcs_tasks_fn fn, void *arg)
{
    if (source->gcs)
        gcs_task(source->gcs, task_id, fn, arg);
    else
        fn(arg, NULL, NULL, 0);
}

/* --- the key-value store --- */

void source_kv_put(struct source *source, const char *space, const char *key, const char *value,
                   gcs_done_fn fn, void *arg)
{
    if (source->gcs)
        gcs_kv_put(source->gcs, space, key, value, true, fn, arg);
    else
        fn(arg, NULL);
}

void source_kv_del(struct source *source, const char *space, const char *key, gcs_done_fn fn,
                   void *arg)
{
    if (source->gcs)
        gcs_kv_del(source->gcs, space, key, fn, arg);
    else
        fn(arg, NULL);
}

void source_kv_get_all(struct source *source, const char *space, const char *prefix, gcs_kv_fn fn,
                       void *arg)
{
    if (source->gcs)
        gcs_kv_get_all(source->gcs, space, prefix, fn, arg);
    else
        fn(arg, NULL, NULL, 0);
}

void source_kv_forget(struct source *source, const void *arg)
{
    for (struct version_question *at = source->versions; at; at = at->next)
        if (at->arg == arg)
            at->fn = NULL;
    if (source->gcs)
        gcs_forget(source->gcs, arg);
}

/* --- what the workers run --- */

void source_worker_stats(struct source *source, const char *address, const char *worker_id,
                         core_worker_stats_fn fn, void *arg)
{
    struct err err;
    if (source->gcs) {
        core_worker_stats(source->gcs, address, worker_id, fn, arg);
        return;
    }
    err_set(&err, ERR_USAGE, "a dashboard does not tell what a worker runs");
    fn(arg, &err, NULL);
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
    free(look);
    if (done)
        done(arg);
}

static void on_stats(void *arg, const struct err *err, struct ray_worker_stats *stats)
{
    struct question *question = arg;
    struct look *look = question->look;
    size_t index = question->index;
    if (err)
        log_info("a worker does not say what it runs: %s", err->what);
    if (stats && look->view) {
        look->view->running[index].stats = *stats;
        look->view->running[index].known = true;
        free(stats);
    } else if (stats) {
        ray_worker_stats_clear(stats);
        free(stats);
    }
    look_answered(look);
}

static void ask_workers(struct look *look)
{
    struct view *view = look->view;
    size_t count = view->worker_count;
    for (size_t i = 0; i < count; i++) {
        const struct ray_worker *worker = &view->workers[i];
        if (!view_has_debugger(worker) || !worker->port || text_empty(worker->ip))
            continue;
        look->questions[i] = (struct question){look, i};
        char *address = mem_format(strchr(worker->ip, ':') ? "[%s]:%u" : "%s:%u", worker->ip,
                                   (unsigned)worker->port);
        look->outstanding++;
        core_worker_stats(look->source->gcs, address, worker->worker_id, on_stats,
                          &look->questions[i]);
        free(address);
    }
}

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

/* The dashboard tells the tasks of all workers at once; who has none of them runs none. */
static void on_tasks(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct look *look = arg;
    if (err)
        log_info("the dashboard does not say what the workers run: %s", err->what);
    for (size_t i = 0; look->view && !err && i < look->view->worker_count; i++) {
        const struct ray_worker *worker = &look->view->workers[i];
        look->view->running[i].known = true;
        for (size_t k = 0; k < count; k++)
            if (view_has_debugger(worker) && text_equal(tasks[k].worker_id, worker->worker_id))
                add_running(&look->view->running[i], &tasks[k]);
    }
    if (look->view && !err)
        view_add_tasks(look->view, tasks, count);
    else
        ray_tasks_free(tasks, count);
    look_answered(look);
}

void source_running(struct source *source, struct view *view, loop_fn done, void *arg)
{
    struct look *look = mem_alloc(sizeof *look + view->worker_count * sizeof look->questions[0]);
    bool any = false;
    *look = (struct look){
        .source = source,
        .next = source->looks,
        .view = view,
        .outstanding = 1,
        .done = done,
        .arg = arg,
    };
    source->looks = look;
    view->running = mem_array(view->worker_count, sizeof *view->running);
    for (size_t i = 0; i < view->worker_count; i++)
        any = any || view_has_debugger(&view->workers[i]);
    if (source->gcs) {
        ask_workers(look);
    } else if (any) {
        look->outstanding++;
        dashboard_tasks(source->dashboard, "", on_tasks, look);
    }
    look_answered(look);
}
