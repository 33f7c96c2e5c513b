#include "relay/why_records/why_records.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void clear_logs(struct why_records *records)
{
    for (size_t i = 0; i < records->log_count; i++) {
        free(records->logs[i].file);
        free(records->logs[i].text);
        free(records->logs[i].problem);
    }
    free(records->logs);
}

void why_records_clear_refs(struct why_records *records)
{
    for (size_t i = 0; i < records->refs_count; i++) {
        if (records->refs[i].objects)
            ray_worker_objects_clear(records->refs[i].objects);
        free(records->refs[i].objects);
        free(records->refs[i].problem);
    }
    free(records->refs);
    records->refs = NULL;
    records->refs_count = 0;
}

static void clear_pauses(struct why_records *records)
{
    for (size_t i = 0; i < records->pause_count; i++) {
        free(records->pauses[i].task_name);
        free(records->pauses[i].location);
        free(records->pauses[i].holder);
    }
    free(records->pauses);
}

static void clear_gauges(struct why_records *records)
{
    for (size_t i = 0; i < records->gauges_count; i++) {
        task_gauges_clear(&records->gauges[i].gauges);
        free(records->gauges[i].problem);
    }
    free(records->gauges);
}

void why_records_clear_index(struct why_records *records)
{
    hash_index_clear(&records->worker_ids);
    hash_index_clear(&records->actor_ids);
    attempt_lists_clear(&records->lists);
}

void why_records_clear(struct why_records *records)
{
    ray_attempts_free(records->attempts, records->attempt_count);
    ray_workers_free(records->workers, records->worker_count);
    ray_actors_free(records->actors, records->actor_count);
    ray_nodes_free(records->nodes, records->node_count);
    ray_jobs_free(records->jobs, records->job_count);
    ray_groups_free(records->groups, records->group_count);
    ray_resource_state_clear(&records->resources);
    clear_logs(records);
    why_records_clear_refs(records);
    clear_gauges(records);
    clear_pauses(records);
    ray_attempts_free(records->earlier, records->earlier_count);
    ray_object_locations_free(records->location.location, records->location.location ? 1 : 0);
    free(records->location.problem);
    why_records_clear_index(records);
    *records = (struct why_records){0};
}

const char *why_records_part_name(enum why_part part)
{
    static const char *const names[] = {[WHY_ATTEMPTS] = "the tasks",
                                        [WHY_WORKERS] = "the processes",
                                        [WHY_ACTORS] = "the actors",
                                        [WHY_NODES] = "the nodes",
                                        [WHY_JOBS] = "the jobs",
                                        [WHY_GROUPS] = "the placement groups",
                                        [WHY_RESOURCES] = "the free resources"};
    return names[part];
}

bool why_records_has_gaps(const struct why_records *records)
{
    for (int part = 0; part < WHY_PARTS; part++)
        if (records->problems[part].code)
            return true;
    return false;
}

/* Ray's event of an actor's creation has no node. */
static void fill_creation_nodes(struct why_records *records)
{
    for (size_t i = 0; i < records->attempt_count; i++) {
        struct ray_attempt *it = &records->attempts[i];
        if (it->type != RAY_ACTOR_CREATION_TASK || *it->node_id || !*it->worker_id)
            continue;
        const struct ray_worker *worker = why_records_worker(records, it->worker_id);
        if (worker)
            text_copy(it->node_id, sizeof it->node_id, worker->node_id);
    }
}

void why_records_index(struct why_records *records)
{
    why_records_clear_index(records);
    for (size_t i = 0; i < records->worker_count; i++)
        hash_index_add(&records->worker_ids, hash_text(records->workers[i].worker_id, 0), i);
    for (size_t i = 0; i < records->actor_count; i++)
        hash_index_add(&records->actor_ids, hash_text(records->actors[i].actor_id, 0), i);
    attempt_lists_make(&records->lists, records->attempts, records->attempt_count);
    fill_creation_nodes(records);
}

/* Define a search for the row with an id, by a scan, and by an index if that has all rows. */
#define ROW_WITH(noun, type, rows, row_count, id)                                                  \
    const type *why_records_##noun(const struct why_records *records, const char *id)              \
    {                                                                                              \
        for (size_t i = 0; *id && i < records->row_count; i++)                                     \
            if (strcmp(records->rows[i].id, id) == 0)                                              \
                return &records->rows[i];                                                          \
        return NULL;                                                                               \
    }

#define INDEXED_ROW_WITH(noun, type, rows, row_count, id, index)                                   \
    const type *why_records_##noun(const struct why_records *records, const char *id)              \
    {                                                                                              \
        bool indexed = records->index.count == records->row_count;                                 \
        size_t cursor = 0;                                                                         \
        uintptr_t row;                                                                             \
        while (indexed && hash_index_next(&records->index, hash_text(id, 0), &cursor, &row))       \
            if (*id && strcmp(records->rows[row].id, id) == 0)                                     \
                return &records->rows[row];                                                        \
        for (size_t i = 0; *id && !indexed && i < records->row_count; i++)                         \
            if (strcmp(records->rows[i].id, id) == 0)                                              \
                return &records->rows[i];                                                          \
        return NULL;                                                                               \
    }

INDEXED_ROW_WITH(worker, struct ray_worker, workers, worker_count, worker_id, worker_ids)
INDEXED_ROW_WITH(actor, struct ray_actor, actors, actor_count, actor_id, actor_ids)
ROW_WITH(node, struct ray_node, nodes, node_count, node_id)
ROW_WITH(job, struct ray_job, jobs, job_count, job_id)
ROW_WITH(group, struct ray_group, groups, group_count, group_id)
ROW_WITH(log, struct why_log, logs, log_count, worker_id)
ROW_WITH(refs, struct why_refs, refs, refs_count, worker_id)
ROW_WITH(gauges, struct why_gauges, gauges, gauges_count, node_id)

const struct ray_attempt *why_records_attempt(const struct why_records *records,
                                              const char *task_id)
{
    size_t low = 0, high = records->attempt_count; /* the first attempt behind the task's */
    while (*task_id && low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(records->attempts[middle].task_id, task_id) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && strcmp(records->attempts[low - 1].task_id, task_id) == 0
               ? &records->attempts[low - 1]
               : NULL;
}

const struct ray_attempt *why_records_next(const struct why_records *records,
                                           enum attempt_list kind, const char *key,
                                           const struct ray_attempt *after)
{
    if (records->lists.attempts == records->attempts &&
        records->lists.count == records->attempt_count)
        return attempt_lists_next(&records->lists, kind, key, after);
    for (size_t i = after ? (size_t)(after - records->attempts) + 1 : 0; i < records->attempt_count;
         i++)
        if (attempt_lists_have(kind, key, &records->attempts[i]))
            return &records->attempts[i];
    return NULL;
}

bool why_records_is_retried(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_attempt *next = attempt + 1;
    return next < records->attempts + records->attempt_count &&
           strcmp(next->task_id, attempt->task_id) == 0;
}

const struct ray_attempt *why_records_previous(const struct why_records *records,
                                               const struct ray_attempt *attempt)
{
    return attempt > records->attempts && strcmp(attempt[-1].task_id, attempt->task_id) == 0
               ? attempt - 1
               : NULL;
}

bool why_records_stands_for_task(const struct why_records *records,
                                 const struct ray_attempt *attempt)
{
    return attempt->type != RAY_DRIVER_TASK && !why_records_is_retried(records, attempt);
}

bool why_records_is_alive(const struct why_records *records, const struct ray_worker *worker)
{
    const struct ray_node *node = why_records_node(records, worker->node_id);
    return worker->is_alive && (!node || node->is_alive);
}

bool why_records_is_running(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    const struct ray_actor *actor = why_records_actor(records, attempt->actor_id);
    const struct ray_job *job = why_records_job(records, attempt->job_id);
    bool is_lost = worker ? !why_records_is_alive(records, worker) : job && job->is_dead;
    return attempt->state == RAY_ATTEMPT_RUNNING && !is_lost &&
           !(actor && text_equal(actor->state, "DEAD"));
}

bool why_records_job_is_over(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_job *job = why_records_job(records, attempt->job_id);
    if (!job || !job->is_dead)
        return false;
    const struct ray_actor *actor = why_records_actor(records, attempt->actor_id);
    if (actor)
        return text_equal(actor->state, "DEAD");
    const struct ray_attempt *parent = why_records_attempt(records, attempt->parent_task_id);
    return !parent || !why_records_is_running(records, parent);
}

const struct ray_attempt *why_records_creation(const struct why_records *records,
                                               const struct ray_actor *actor)
{
    const struct ray_attempt *found = NULL, *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_OF_ACTOR, actor->actor_id, it)))
        if (it->type == RAY_ACTOR_CREATION_TASK)
            found = it;
    return found;
}

int64_t why_records_end_ms(const struct why_records *records, const struct ray_worker *worker)
{
    const struct ray_node *node = why_records_node(records, worker->node_id);
    if (!worker->is_alive)
        return worker->end_ms;
    return node && !node->is_alive ? node->end_ms : 0;
}

const struct ray_worker *why_records_previous_process(const struct why_records *records,
                                                      const struct ray_actor *actor)
{
    const struct ray_worker *found = NULL;
    const char *now = text_equal(actor->state, "RESTARTING") ? "" : actor->worker_id;
    const struct ray_attempt *it = NULL;
    while (actor->restarts &&
           (it = why_records_next(records, ATTEMPTS_OF_ACTOR, actor->actor_id, it))) {
        if (text_equal(it->worker_id, now))
            continue;
        const struct ray_worker *worker = why_records_worker(records, it->worker_id);
        if (worker && !why_records_is_alive(records, worker) &&
            (!found || why_records_end_ms(records, worker) > why_records_end_ms(records, found)))
            found = worker;
    }
    return found;
}

const char *why_records_ip(const struct why_records *records, const char *node_id)
{
    const struct ray_node *node = why_records_node(records, node_id);
    return node && node->ip ? node->ip : "";
}

/* --- pauses --- */

/* True if the pause is the attempt's, or one of several tasks' of which the attempt is one. An
 * entry of Ray's pdb outlives a process that was killed: a later attempt runs in another process,
 * or began after it. */
static bool may_be_of(const struct why_pause *pause, const struct ray_attempt *attempt)
{
    if (*pause->task_id && !text_equal(pause->task_id, attempt->task_id))
        return false;
    if (*pause->worker_id)
        return text_equal(pause->worker_id, attempt->worker_id);
    return *pause->task_id ||
           (pause->task_name && text_equal(pause->task_name, attempt->name) &&
            text_equal(pause->job_id, attempt->job_id) &&
            (!pause->since_ms || pause->since_ms >= attempt->state_ms[RAY_ATTEMPT_RUNNING]));
}

/* The first pause that may be the attempt's, of those that tell a task or of those that do not. */
static const struct why_pause *find_pause(const struct why_records *records,
                                          const struct ray_attempt *attempt, bool of_task)
{
    for (size_t i = 0; i < records->pause_count; i++) {
        const struct why_pause *it = &records->pauses[i];
        if ((*it->task_id != '\0') == of_task && may_be_of(it, attempt))
            return it;
    }
    return NULL;
}

/* The threads of the process that wait in debugpy, without those whose tasks are known. */
static size_t unknown_threads(const struct why_records *records, const struct ray_worker *worker)
{
    int64_t count = worker->paused_threads;
    for (size_t i = 0; i < records->pause_count; i++) {
        const struct why_pause *it = &records->pauses[i];
        count -= *it->task_id && !it->is_pdb && !it->holder &&
                 text_equal(it->worker_id, worker->worker_id);
    }
    return count > 0 ? (size_t)count : 0;
}

const struct why_pause *why_records_pause(const struct why_records *records,
                                          const struct ray_attempt *attempt)
{
    static const struct why_pause waiting;
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    if (attempt->state != RAY_ATTEMPT_RUNNING || !worker || !why_records_is_alive(records, worker))
        return NULL;
    const struct why_pause *found = find_pause(records, attempt, true);
    if (!found)
        found = find_pause(records, attempt, false);
    return found || !unknown_threads(records, worker) ? found : &waiting;
}

struct why_stops why_records_stops(const struct why_records *records,
                                   const struct ray_attempt *attempt)
{
    const struct why_pause *pause = why_records_pause(records, attempt);
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    struct why_stops stops = {0};
    if (!pause || *pause->task_id)
        return pause ? (struct why_stops){.running = 1, .stopped = 1} : stops;
    bool by_name = pause->task_name != NULL;
    /* All that an actor's process runs are tasks of the actor. */
    enum attempt_list list =
        !by_name && *attempt->actor_id ? ATTEMPTS_RUNNING_IN_ACTOR : ATTEMPTS_RUNNING;
    const char *key = list == ATTEMPTS_RUNNING ? "" : attempt->actor_id;
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, list, key, it))) {
        bool may_be =
            by_name ? may_be_of(pause, it) : text_equal(it->worker_id, attempt->worker_id);
        stops.running += may_be && why_records_is_running(records, it) &&
                         why_records_stands_for_task(records, it) && !find_pause(records, it, true);
    }
    for (size_t i = 0; i < records->pause_count; i++) {
        const struct why_pause *its = &records->pauses[i];
        bool counts = !*its->task_id && may_be_of(its, attempt);
        stops.stopped += counts;
        stops.at_least = stops.at_least || (counts && its->holder);
    }
    size_t threads = by_name ? 0 : unknown_threads(records, worker);
    if (stops.stopped < threads)
        stops.stopped = threads;
    return stops;
}
