#include "relay/sweep/sweep_queue.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/text_numbers.h"

#include <stdlib.h>

enum { KEPT_LIMIT = 20000 };

struct sweep_queue {
    struct cluster_part part; /* of a cluster; unused in one that sweep_queue_create() made */
    struct loop *loop;
    struct ray_source *source;
    struct sweep_request *requests;
    struct text_numbers ids; /* a task's index in `tasks` is its id's number */
    struct ray_task *tasks;
};

struct sweep_queue *sweep_queue_create(struct loop *loop, struct ray_source *source)
{
    struct sweep_queue *queue = mem_alloc(sizeof *queue);
    queue->loop = loop;
    queue->source = source;
    return queue;
}

static void sweep_request_free(struct sweep_request *request)
{
    if (request->clear)
        request->clear(request);
    if (request->own_sweep)
        object_sweep_free(&request->sweep);
    timer_cancel(&request->timer);
    free(request);
}

static void forget_tasks(struct sweep_queue *queue)
{
    ray_tasks_free(queue->tasks, queue->ids.count);
    text_numbers_free(&queue->ids);
    queue->tasks = NULL;
}

void sweep_queue_destroy(struct sweep_queue **queue)
{
    struct sweep_queue *it = *queue;
    if (!it)
        return;
    *queue = NULL;
    while (it->requests) {
        struct sweep_request *request = it->requests;
        it->requests = request->next;
        sweep_request_free(request);
    }
    forget_tasks(it);
    free(it);
}

static const char sweep_queue_kind;

static void destroy_part(struct cluster_part *part)
{
    struct sweep_queue *queue = (struct sweep_queue *)part;
    sweep_queue_destroy(&queue);
}

struct sweep_queue *sweep_queue_of(struct cluster *cluster)
{
    struct cluster_part *part = cluster_find_part(cluster, &sweep_queue_kind);
    if (part)
        return (struct sweep_queue *)part;
    struct sweep_queue *queue = sweep_queue_create(cluster_loop(cluster), cluster_source(cluster));
    queue->part = (struct cluster_part){.kind = &sweep_queue_kind, .destroy = destroy_part};
    cluster_add_part(cluster, &queue->part);
    return queue;
}

struct ray_source *sweep_queue_source(const struct sweep_queue *queue)
{
    return queue->source;
}

struct loop *sweep_queue_loop(const struct sweep_queue *queue)
{
    return queue->loop;
}

/* --- requests --- */

void *sweep_request_create(struct sweep_queue *queue, size_t size, object_sweep_fn fn, void *arg)
{
    struct sweep_request *request = mem_alloc(size);
    *request = (struct sweep_request){
        .next = queue->requests, .queue = queue, .outstanding = 1, .fn = fn, .arg = arg};
    queue->requests = request;
    return request;
}

void sweep_request_answered(struct sweep_request *request)
{
    if (--request->outstanding > 0)
        return;
    if (request->conclude && request->sweep)
        request->conclude(request);
    LIST_REMOVE(request->queue->requests, request);
    object_sweep_fn fn = request->fn;
    void *arg = request->arg;
    struct err err = request->err;
    struct object_sweep *sweep = err.code && request->own_sweep ? NULL : request->sweep;
    if (fn && sweep)
        request->sweep = NULL; /* the callee's */
    sweep_request_free(request);
    if (fn)
        fn(arg, err.code ? &err : NULL, sweep);
}

static void on_sent(void *arg)
{
    struct sweep_request *request = arg;
    request->timer = NULL;
    sweep_request_answered(request);
}

void sweep_request_sent(struct sweep_request *request)
{
    request->timer = timer_start(request->queue->loop, 0, on_sent, request);
}

void sweep_request_fail(struct sweep_request *request, const struct err *err)
{
    if (!request->err.code)
        request->err = *err;
}

void sweep_queue_cancel(struct sweep_queue *queue, const void *arg)
{
    for (struct sweep_request *request = queue->requests; request; request = request->next) {
        if (request->arg != arg)
            continue;
        request->fn = NULL;
        if (!request->own_sweep)
            request->sweep = NULL;
    }
}

/* --- tasks --- */

const struct ray_task *sweep_queue_task(const struct sweep_queue *queue, const char *task_id)
{
    uint32_t number;
    return text_numbers_find(&queue->ids, task_id, &number) ? &queue->tasks[number] : NULL;
}

void sweep_queue_copy_task(struct ray_task *out, const struct ray_task *task)
{
    *out = *task;
    out->name = mem_string(task->name);
    out->func_or_class = mem_string(task->func_or_class);
}

void sweep_queue_keep_task(struct sweep_queue *queue, const struct ray_task *task)
{
    if (!task->running_ms || text_empty(task->name) || sweep_queue_task(queue, task->task_id))
        return;
    if (queue->ids.count >= KEPT_LIMIT)
        forget_tasks(queue);
    size_t room = queue->ids.cap;
    uint32_t number = text_numbers_number(&queue->ids, task->task_id);
    if (queue->ids.cap != room)
        queue->tasks = mem_resize(queue->tasks, queue->ids.cap, sizeof *queue->tasks);
    sweep_queue_copy_task(&queue->tasks[number], task);
}
