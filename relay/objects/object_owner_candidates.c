/* Finds the processes that may own an object. */
#include "relay/objects/object_owner_state.h"

#include "base/text.h"
#include "relay/objects/object_origin.h"

static enum record_cache_answer how_is(struct owners *owners, const struct ray_worker *worker,
                                       enum object_owner *out)
{
    const struct ray_node *node;
    enum record_cache_answer known = record_cache_node(owners->records, worker->node_id, &node);
    *out = known == RECORD_CACHE_YES && !node->is_alive ? OBJECT_OWNER_NODE_DEAD
           : worker->is_alive                           ? OBJECT_OWNER_ALIVE
                                                        : OBJECT_OWNER_DEAD;
    return known;
}

bool owners_add_process(struct owners *owners, struct query *query, const struct ray_worker *worker)
{
    struct candidate candidate = {.pid = worker->pid, .is_driver = worker->is_driver};
    if (how_is(owners, worker, &candidate.how) == RECORD_CACHE_WAIT)
        return false;
    for (size_t i = 0; i < query->count; i++)
        if (text_equal(query->candidates[i].worker_id, worker->worker_id))
            return true;
    if (query->count == CANDIDATES_MAX)
        return true;
    text_copy(candidate.worker_id, sizeof candidate.worker_id, worker->worker_id);
    candidate.node = record_cache_named_node(owners->records, worker->node_id);
    candidate.address = record_cache_address(worker->ip, worker->port);
    if (!candidate.address && candidate.how == OBJECT_OWNER_ALIVE)
        candidate.state = SILENT;
    query->candidates[query->count++] = candidate;
    return true;
}

static bool add_worker(struct owners *owners, struct query *query, const char *worker_id)
{
    const struct ray_worker *worker;
    enum record_cache_answer known = record_cache_worker(owners->records, worker_id, &worker);
    if (known == RECORD_CACHE_YES)
        return owners_add_process(owners, query, worker);
    return known != RECORD_CACHE_WAIT;
}

/* Adds a process once the record cache knows it. */
static bool add_known(struct owners *owners, struct query *query, enum record_cache_answer known,
                      const struct ray_worker *worker)
{
    if (known == RECORD_CACHE_YES)
        return owners_add_process(owners, query, worker);
    return known != RECORD_CACHE_WAIT;
}

/* Adds the process that runs a task. */
static bool add_runner(struct owners *owners, struct query *query, const char *task_id)
{
    const struct ray_worker *driver = NULL;
    const struct ray_task *task;
    if (object_origin_is_driver(task_id)) {
        const char *job = task_id + (size_t)2 * (ID_TASK_BYTES - ID_JOB_BYTES);
        enum record_cache_answer known = record_cache_driver(owners->records, job, &driver);
        return add_known(owners, query, known, driver);
    }
    enum record_cache_answer known = record_cache_task(owners->records, task_id, &task);
    if (known != RECORD_CACHE_YES)
        return known != RECORD_CACHE_WAIT;
    return !*task->worker_id || add_worker(owners, query, task->worker_id);
}

/* Adds the process that has submitted a task. */
static bool add_submitter(struct owners *owners, struct query *query, const char *task_id)
{
    const struct ray_task *task;
    enum record_cache_answer known = record_cache_task(owners->records, task_id, &task);
    if (known != RECORD_CACHE_YES)
        return known != RECORD_CACHE_WAIT;
    return !*task->parent_task_id || add_runner(owners, query, task->parent_task_id);
}

bool owners_gather(struct owners *owners, struct query *query)
{
    struct object_origin origin;
    const struct ray_worker *worker = NULL;
    object_origin_read(&query->finding.id, &origin);
    if (query->mine)
        return add_worker(owners, query, owners->worker_id);
    if (!origin.put)
        return add_submitter(owners, query, origin.task_id);
    if (origin.kind == ORIGIN_DRIVER)
        return add_runner(owners, query, origin.task_id);
    if (*origin.actor_id) {
        enum record_cache_answer known =
            record_cache_actor_process(owners->records, origin.actor_id, &worker);
        return add_known(owners, query, known, worker);
    }
    const char *hinted = record_cache_hinted(owners->records, origin.task_id);
    return !hinted || add_runner(owners, query, hinted);
}

bool owners_guess(struct owners *owners, struct query *query)
{
    struct object_origin origin;
    const struct ray_task *task;
    object_origin_read(&query->finding.id, &origin);
    if (query->guessed || origin.kind != ORIGIN_PUT)
        return true;
    enum record_cache_answer known =
        record_cache_guess_task(owners->records, origin.task_id, &task);
    if (known == RECORD_CACHE_WAIT)
        return false;
    if (known == RECORD_CACHE_YES && *task->worker_id &&
        !add_worker(owners, query, task->worker_id))
        return false;
    query->guessed = true;
    return true;
}
