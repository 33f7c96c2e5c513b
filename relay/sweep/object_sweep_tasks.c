/* Asks which tasks made the objects of some rows of a sweep.
 *
 * The id of a result names its task. The id of a put lacks the task's first byte. That is looked
 * for where the task is likely to be known: among the results that some process refers to, and in
 * the put's owner, the worker that runs the task. A task that has ended and left no result stays
 * unknown. */
#include "relay/sweep/object_sweep.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/text_numbers.h"
#include "relay/sweep/sweep_queue.h"

#include <stdlib.h>
#include <string.h>

/* TASKS_AT_ONCE: requests in flight; a GCS answers some thousands a second. OWNERS: the most owners
 * that are asked what they run. */
enum { TASKS_AT_ONCE = 64, OWNERS = 500 };

struct naming {
    struct sweep_request request;
    struct text_numbers ids; /* of tasks to ask for, in this order */
    size_t next;
    bool may_ask;              /* the version is known */
    struct text_numbers known; /* ids of tasks that the queue's cache has */
    struct text_numbers puts;  /* ids without their first byte, whose task is unknown */
    struct ray_task *found;
    size_t found_count;
};

static void clear(struct sweep_request *request)
{
    struct naming *naming = (struct naming *)request;
    text_numbers_free(&naming->ids);
    text_numbers_free(&naming->known);
    text_numbers_free(&naming->puts);
    ray_tasks_free(naming->found, naming->found_count);
}

static struct ray_task *add_found(struct naming *naming)
{
    naming->found = mem_resize(naming->found, naming->found_count + 1, sizeof *naming->found);
    return &naming->found[naming->found_count++];
}

static void add_id(struct naming *naming, const char *task_id)
{
    uint32_t number;
    if (text_numbers_find(&naming->ids, task_id, &number) ||
        text_numbers_find(&naming->known, task_id, &number))
        return;
    const struct ray_task *known = sweep_queue_task(naming->request.queue, task_id);
    if (known) {
        text_numbers_number(&naming->known, task_id);
        sweep_queue_copy_task(add_found(naming), known);
    } else if (naming->ids.count < OBJECT_TASK_LIMIT) {
        text_numbers_number(&naming->ids, task_id);
    }
}

/* --- answers --- */

static void conclude(struct sweep_request *request)
{
    struct naming *naming = (struct naming *)request;
    struct object_sweep *sweep = request->sweep;
    size_t count = sweep->task_count + naming->found_count;
    if (!naming->found_count)
        return;
    sweep->tasks = mem_resize(sweep->tasks, count, sizeof *sweep->tasks);
    memcpy(sweep->tasks + sweep->task_count, naming->found,
           naming->found_count * sizeof *naming->found);
    sweep->task_count = count;
    qsort(sweep->tasks, count, sizeof *sweep->tasks, object_task_compare);
    free(naming->found);
    naming->found = NULL;
    naming->found_count = 0;
}

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count);

static void ask_tasks(struct naming *naming)
{
    while (naming->request.fn && naming->may_ask && naming->next < naming->ids.count &&
           naming->request.outstanding <= TASKS_AT_ONCE) {
        naming->request.outstanding++;
        ray_source_task(sweep_queue_source(naming->request.queue),
                        text_numbers_text(&naming->ids, (uint32_t)naming->next++), on_task, naming);
    }
}

/* After one error the GCS is not asked for more tasks. */
static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct naming *naming = arg;
    if (err) {
        log_info("tasks' names are not known: %s", err->what);
        naming->next = naming->ids.count;
    }
    for (size_t i = 0; !err && i < count; i++) {
        sweep_queue_keep_task(naming->request.queue, &tasks[i]);
        sweep_queue_copy_task(add_found(naming), &tasks[i]);
    }
    if (!err)
        ray_tasks_free(tasks, count);
    ask_tasks(naming);
    sweep_request_answered(&naming->request);
}

static void on_running(void *arg, const struct err *err, struct ray_worker_stats *stats)
{
    struct naming *naming = arg;
    uint32_t number;
    if (err)
        log_info("a worker does not say what it runs: %s", err->what);
    for (size_t i = 0; stats && i < stats->running_task_id_count; i++)
        if (text_numbers_find(&naming->puts, stats->running_task_ids[i] + 2, &number))
            add_id(naming, stats->running_task_ids[i]);
    if (stats)
        ray_worker_stats_clear(stats);
    free(stats);
    ask_tasks(naming);
    sweep_request_answered(&naming->request);
}

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct naming *naming = arg;
    (void)version, (void)ray_version, (void)python_version;
    naming->may_ask = true;
    on_task(arg, err, NULL, 0); /* the first answer, which has no task yet */
}

/* --- choosing the requests --- */

/* Adds the task of a put. The id tells the task that creates an actor; otherwise the owner has to
 * be asked. */
static void add_put(struct naming *naming, const struct object_row *row, bool *owners)
{
    char id[ID_TEXT(ID_TASK_BYTES)], actor[ID_TEXT(ID_ACTOR_BYTES)];
    struct object_id of_creation = row->ref->id;
    uint32_t number;
    of_creation.bytes[0] = 0xFF;
    if (object_id_is_actor_handle(&of_creation, actor)) {
        object_id_task(&of_creation, id);
        add_id(naming, id);
        return;
    }
    object_id_task(&row->ref->id, id);
    if (!text_numbers_find(&naming->puts, id + 2, &number) &&
        naming->puts.count < OBJECT_TASK_LIMIT)
        text_numbers_number(&naming->puts, id + 2);
    if (row->owner >= 0)
        owners[row->owner] = true;
}

/* Looks for the tasks of puts among the results that some process refers to. */
static void look_among_results(struct naming *naming, const struct object_sweep *sweep)
{
    char id[ID_TEXT(ID_TASK_BYTES)];
    uint32_t number;
    for (size_t i = 0; naming->puts.count && i < sweep->row_count; i++) {
        const struct object_id *it = &sweep->rows[i].ref->id;
        if (object_id_is_put(it) ||
            (i && memcmp(it->bytes, sweep->rows[i - 1].ref->id.bytes, ID_TASK_BYTES) == 0))
            continue;
        object_id_task(it, id);
        if (text_numbers_find(&naming->puts, id + 2, &number))
            add_id(naming, id);
    }
}

static void ask_owners(struct naming *naming, const struct object_sweep *sweep, const bool *owners)
{
    size_t asked = 0;
    for (size_t i = 0; i < sweep->process_count && asked < OWNERS; i++) {
        const struct ray_worker_objects *owner = sweep->processes[i].worker;
        if (!owners[i] || owner->type != RAY_WORKER || !owner->port || text_empty(owner->ip))
            continue;
        char *address = text_join_host_port(owner->ip, owner->port);
        asked++;
        naming->request.outstanding++;
        ray_source_worker_stats(sweep_queue_source(naming->request.queue), address,
                                owner->worker_id, on_running, naming);
        free(address);
    }
}

static void choose(struct naming *naming, const struct object_sweep *sweep,
                   const struct object_row *const *rows, size_t count)
{
    bool *owners = mem_array(sweep->process_count, sizeof *owners);
    for (size_t i = 0; i < count && naming->ids.count < OBJECT_TASK_LIMIT; i++) {
        const struct object_id *id = &rows[i]->ref->id;
        char text[ID_TEXT(ID_TASK_BYTES)], job_id[ID_TEXT(ID_JOB_BYTES)];
        if (object_id_is_drivers(id, job_id) || object_sweep_task(sweep, id))
            continue;
        object_id_task(id, text);
        if (object_id_is_put(id))
            add_put(naming, rows[i], owners);
        else
            add_id(naming, text);
    }
    look_among_results(naming, sweep);
    ask_owners(naming, sweep, owners);
    free(owners);
}

void object_sweep_name_tasks(struct cluster *cluster, struct object_sweep *sweep,
                             const struct object_row *const *rows, size_t count, object_sweep_fn fn,
                             void *arg)
{
    struct naming *naming = sweep_request_create(sweep_queue_of(cluster), sizeof *naming, fn, arg);
    naming->request.conclude = conclude;
    naming->request.clear = clear;
    naming->request.sweep = sweep;
    if (!ray_source_objects(cluster_source(cluster))) {
        sweep_request_sent(&naming->request);
        return;
    }
    choose(naming, sweep, rows, count);
    ray_source_version(cluster_source(cluster), on_version, naming);
}
