#include "relay/variables/cluster_objects.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/sweep/sweep_page.h"

#include <stdlib.h>

/* A request that waits for its answer. */
struct request {
    struct request *next;
    int64_t seq;
    struct objects_page page;
};

struct cluster_objects {
    struct variables_context *context;
    struct cluster *cluster;    /* of the first request, while there is one */
    struct object_sweep *sweep; /* the last one */
    bool named;                 /* the tasks of all of its rows were asked for */
    struct object_report *report;
    struct request *requests; /* oldest first; the first one is being answered */
};

static const char command[] = "raydbg/clusterObjects";

static void start(struct cluster_objects *it);

static void next_request(struct cluster_objects *it)
{
    struct request *request = it->requests;
    it->requests = request->next;
    object_report_free(&it->report);
    objects_page_clear(&request->page);
    free(request);
    if (it->requests)
        start(it);
}

static void fail(struct cluster_objects *it, const struct err *err)
{
    client_fail(it->context->client, it->requests->seq, command, err);
    next_request(it);
}

static void answer(struct cluster_objects *it)
{
    struct buf body = {0};
    objects_page_write(&it->requests->page, it->sweep, it->report, &body);
    client_respond(it->context->client, it->requests->seq, command, body.data);
    buf_free(&body);
    next_request(it);
}

static void on_page_named(void *arg, const struct err *err, struct object_sweep *sweep)
{
    (void)err, (void)sweep; /* facts that no process gave stay unknown */
    answer(arg);
}

static void on_located(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct cluster_objects *it = arg;
    size_t count;
    const struct object_row *const *rows =
        objects_page_rows(&it->requests->page, it->report, &count);
    (void)err;
    object_sweep_name_tasks(it->cluster, sweep, rows, count, on_page_named, it);
}

/* The worker that runs the task, known if the task is paused; else NULL. */
static const char *worker_of_task(const struct cluster *cluster, const char *task)
{
    const struct pause_list *pauses = cluster_pauses(cluster);
    for (size_t i = 0; task && *task && i < pauses->count; i++) {
        const struct pause *pause = &pauses->items[i];
        if (text_starts(pause->task_id, task) || text_equal(pause->task_name, task))
            return pause->worker_id;
    }
    return NULL;
}

static void run(struct cluster_objects *it)
{
    const struct objects_page *page = &it->requests->page;
    struct sweep_query query = {
        .group_by = page->group_by,
        .sort_by = page->sort_by,
        .filter = page->filter,
        .task = page->task,
        .task_worker = worker_of_task(it->cluster, page->task),
    };
    size_t count;
    it->report = sweep_query_run(&query, it->sweep);
    const struct object_row *const *rows = objects_page_rows(page, it->report, &count);
    object_sweep_locate(it->cluster, it->sweep, rows, count, on_located, it);
}

static void on_named(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct cluster_objects *it = arg;
    (void)err, (void)sweep;
    it->named = true;
    object_report_free(&it->report);
    run(it);
}

/* Asks for the tasks first if the page needs them, those of the largest objects first. */
static void prepare(struct cluster_objects *it)
{
    static const struct sweep_query all = {.sort_by = OBJECT_SORT_SIZE};
    if (it->named || !objects_page_needs_tasks(&it->requests->page)) {
        run(it);
        return;
    }
    it->report = sweep_query_run(&all, it->sweep);
    object_sweep_name_tasks(it->cluster, it->sweep, it->report->all, it->report->rows, on_named,
                            it);
}

static void on_sweep(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct cluster_objects *it = arg;
    it->sweep = sweep;
    if (err)
        fail(it, err);
    else
        prepare(it);
}

static void start(struct cluster_objects *it)
{
    int64_t taken_ms = it->requests->page.taken_ms;
    it->cluster = it->context->cluster;
    if (it->sweep && taken_ms == it->sweep->taken_ms) {
        prepare(it);
        return;
    }
    object_sweep_free(&it->sweep);
    it->named = false;
    object_sweep_take(it->cluster, on_sweep, it);
}

/* NULL if the client may ask. */
static const char *refusal(const struct variables_context *context)
{
    if (!context->authenticated)
        return "this relay wants a token: attach first";
    if (!context->cluster)
        return "no cluster is known: attach to a task of one first";
    return NULL;
}

void cluster_objects_on_request(struct variables_context *context, const char *json,
                                const struct envelope *envelope)
{
    struct err err;
    struct request *request;
    const char *why = refusal(context);
    if (why) {
        client_refuse(context->client, envelope->seq, command, why, false);
        return;
    }
    request = mem_alloc(sizeof *request);
    request->seq = envelope->seq;
    if (objects_page_read(&request->page, json, envelope->arguments, &err) != 0) {
        client_fail(context->client, envelope->seq, command, &err);
        objects_page_clear(&request->page);
        free(request);
        return;
    }
    if (!context->cluster_objects) {
        context->cluster_objects = mem_alloc(sizeof *context->cluster_objects);
        context->cluster_objects->context = context;
    }
    bool first = !context->cluster_objects->requests;
    LIST_APPEND(context->cluster_objects->requests, request);
    if (first)
        start(context->cluster_objects);
}

void cluster_objects_drop(struct variables_context *context, const char *why)
{
    struct cluster_objects *it = context->cluster_objects;
    if (!it)
        return;
    if (it->requests)
        object_sweep_cancel(it->cluster, it);
    while (it->requests) {
        struct request *request = it->requests;
        it->requests = request->next;
        if (why)
            client_refuse(context->client, request->seq, command, why, false);
        objects_page_clear(&request->page);
        free(request);
    }
    object_report_free(&it->report);
    object_sweep_free(&it->sweep);
    it->named = false;
}

void cluster_objects_destroy(struct variables_context *context)
{
    cluster_objects_drop(context, NULL);
    free(context->cluster_objects);
    context->cluster_objects = NULL;
}
