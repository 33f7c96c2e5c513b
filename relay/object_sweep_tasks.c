/* What is asked of some rows of a sweep afterwards: which tasks made their objects.
 *
 * The id of a result names its task. That of a put lacks the task's first byte, which is looked for
 * where the task is likely to be known: among the results that somebody refers to, and with its
 * owner, which is the worker that runs it. A task that has ended and of which nothing is left stays
 * unknown. */
#include "relay/object_sweep.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/sweeper.h"
#include "relay/text_keys.h"

#include <stdlib.h>
#include <string.h>

/* So many are asked for at once: a GCS answers some thousands a second. Of so many owners at most
 * is asked what they run. */
enum { TASKS_AT_ONCE = 64, OWNERS = 500 };

struct naming {
    struct asking asking;
    struct text_keys ids; /* to be asked for, in this order */
    size_t next;
    bool may_ask;           /* the version is known */
    struct text_keys known; /* ids of those that were asked for before */
    struct text_keys puts;  /* ids without their first byte, of which the task is not known yet */
    struct ray_task *found;
    size_t found_count;
};

static void clear(struct asking *asking)
{
    struct naming *naming = (struct naming *)asking;
    text_keys_free(&naming->ids);
    text_keys_free(&naming->known);
    text_keys_free(&naming->puts);
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
    if (text_keys_find(&naming->ids, task_id, &number) ||
        text_keys_find(&naming->known, task_id, &number))
        return;
    const struct ray_task *known = sweeper_task(naming->asking.sweeper, task_id);
    if (known) {
        text_keys_number(&naming->known, task_id);
        sweeper_copy_task(add_found(naming), known);
    } else if (naming->ids.count < OBJECT_TASK_LIMIT) {
        text_keys_number(&naming->ids, task_id);
    }
}

/* --- answers --- */

static void conclude(struct asking *asking)
{
    struct naming *naming = (struct naming *)asking;
    struct object_sweep *sweep = asking->sweep;
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
    while (naming->asking.fn && naming->may_ask && naming->next < naming->ids.count &&
           naming->asking.outstanding <= TASKS_AT_ONCE) {
        naming->asking.outstanding++;
        source_task(sweeper_source(naming->asking.sweeper), naming->ids.texts[naming->next++],
                    on_task, naming);
    }
}

/* A GCS that does not answer one is not asked for more. */
static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct naming *naming = arg;
    if (err) {
        log_info("tasks' names are not known: %s", err->what);
        naming->next = naming->ids.count;
    }
    for (size_t i = 0; !err && i < count; i++) {
        sweeper_keep_task(naming->asking.sweeper, &tasks[i]);
        sweeper_copy_task(add_found(naming), &tasks[i]);
    }
    if (!err)
        ray_tasks_free(tasks, count);
    ask_tasks(naming);
    asking_answered(&naming->asking);
}

static void on_running(void *arg, const struct err *err, struct ray_worker_stats *stats)
{
    struct naming *naming = arg;
    uint32_t number;
    if (err)
        log_info("a worker does not say what it runs: %s", err->what);
    for (size_t i = 0; stats && i < stats->running_task_id_count; i++)
        if (text_keys_find(&naming->puts, stats->running_task_ids[i] + 2, &number))
            add_id(naming, stats->running_task_ids[i]);
    if (stats)
        ray_worker_stats_clear(stats);
    free(stats);
    ask_tasks(naming);
    asking_answered(&naming->asking);
}

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct naming *naming = arg;
    (void)version, (void)ray_version, (void)python_version;
    naming->may_ask = true;
    on_task(arg, err, NULL, 0); /* the first answer, which has no task yet */
}

/* --- whom to ask for what --- */

/* The owner of what was put outside of a task, or in one that is known, need not be asked. */
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
    if (!text_keys_find(&naming->puts, id + 2, &number) && naming->puts.count < OBJECT_TASK_LIMIT)
        text_keys_number(&naming->puts, id + 2);
    if (row->owner >= 0)
        owners[row->owner] = true;
}

/* Somebody may refer to a result of the task that has put something. */
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
        if (text_keys_find(&naming->puts, id + 2, &number))
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
        char *address = mem_format(strchr(owner->ip, ':') ? "[%s]:%u" : "%s:%u", owner->ip,
                                   (unsigned)owner->port);
        asked++;
        naming->asking.outstanding++;
        source_worker_stats(sweeper_source(naming->asking.sweeper), address, owner->worker_id,
                            on_running, naming);
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
    struct naming *naming = asking_create(cluster_sweeper(cluster), sizeof *naming, fn, arg);
    naming->asking.conclude = conclude;
    naming->asking.clear = clear;
    naming->asking.sweep = sweep;
    if (!source_objects(cluster_source(cluster))) {
        asking_asked(&naming->asking);
        return;
    }
    choose(naming, sweep, rows, count);
    source_version(cluster_source(cluster), on_version, naming);
}
