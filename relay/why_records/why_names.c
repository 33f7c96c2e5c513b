#include "relay/why_records/why_names.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

char *why_short_id(const char *task_id, char out[ID_TEXT(ID_TASK_BYTES)])
{
    enum { UNIQUE = 8, BYTES_OF_ITS_OWN = 16 };
    bool is_creation = text_starts(task_id, "ffffffffffffffff");
    const char *from = is_creation ? task_id + BYTES_OF_ITS_OWN : task_id;
    snprintf(out, ID_TEXT(ID_TASK_BYTES), "%.*s", UNIQUE, from);
    return out;
}

char *why_name_of_task(const struct ray_attempt *attempt, char out[WHY_NAME_TEXT])
{
    char id[ID_TEXT(ID_TASK_BYTES)];
    const char *name = text_empty(attempt->name) ? "a task" : attempt->name;
    snprintf(out, WHY_NAME_TEXT, "%.150s (%.8s)", name, why_short_id(attempt->task_id, id));
    return out;
}

char *why_name_of_actor(const struct ray_actor *actor, char out[WHY_NAME_TEXT])
{
    const char *class_name = text_empty(actor->class_name) ? "actor" : actor->class_name;
    if (text_empty(actor->name))
        snprintf(out, WHY_NAME_TEXT, "%.150s (%.8s)", class_name, actor->actor_id);
    else
        snprintf(out, WHY_NAME_TEXT, "%.90s (%.90s)", actor->name, class_name);
    return out;
}

char *why_name_of_worker(const struct why_records *records, const struct ray_worker *worker,
                         char out[WHY_NAME_TEXT])
{
    const char *ip = why_records_ip(records, worker->node_id);
    if (!*ip && worker->ip)
        ip = worker->ip;
    snprintf(out, WHY_NAME_TEXT, "%lld@%.150s", (long long)worker->pid, *ip ? ip : "?");
    return out;
}

const char *why_state_name(enum ray_attempt_state state)
{
    switch (state) {
    case RAY_ATTEMPT_FAILED:
        return "failed";
    case RAY_ATTEMPT_FINISHED:
        return "finished";
    case RAY_ATTEMPT_RUNNING:
        return "running";
    case RAY_ATTEMPT_UNKNOWN:
        return "unknown";
    default:
        return "waiting";
    }
}

void why_link_task(const struct ray_attempt *attempt, struct why_report *report)
{
    char name[WHY_NAME_TEXT];
    why_report_link(report, "task", attempt->task_id, "task %s, %s",
                    why_name_of_task(attempt, name), why_state_name(attempt->state));
}

static void link_node(const struct why_records *records, const char *node_id,
                      struct why_report *report)
{
    const struct ray_node *node = why_records_node(records, node_id);
    if (node)
        why_report_link(report, "node", node->node_id, "node %s, %s", node->ip,
                        node->is_alive ? "alive" : "dead");
}

void why_link_worker(const struct why_records *records, const char *worker_id,
                     struct why_report *report)
{
    const struct ray_worker *worker = why_records_worker(records, worker_id);
    char name[WHY_NAME_TEXT];
    if (!worker)
        return;
    why_report_link(report, worker->is_driver ? "driver" : "worker", worker->worker_id,
                    "%s pid %s, %s", worker->is_driver ? "driver" : "worker",
                    why_name_of_worker(records, worker, name),
                    why_records_is_alive(records, worker) ? "alive" : "dead");
    link_node(records, worker->node_id, report);
}

void why_link_actor(const struct why_records *records, const char *actor_id,
                    struct why_report *report)
{
    const struct ray_actor *actor = why_records_actor(records, actor_id);
    char name[WHY_NAME_TEXT];
    if (actor)
        why_report_link(report, "actor", actor->actor_id, "actor %s, %s",
                        why_name_of_actor(actor, name), actor->state);
}

/* --- owners --- */

const struct ray_worker *why_driver_of_job(const struct why_records *records, const char *job_id)
{
    const struct ray_job *job = why_records_job(records, job_id);
    for (size_t i = 0; job && i < records->worker_count; i++) {
        const struct ray_worker *it = &records->workers[i];
        if (it->is_driver && it->pid == job->driver_pid && text_equal(it->ip, job->driver_ip))
            return it;
    }
    return NULL;
}

const struct ray_worker *why_owner_of_task(const struct why_records *records,
                                           const struct ray_attempt *attempt)
{
    const struct ray_attempt *parent = why_records_attempt(records, attempt->parent_task_id);
    if (parent && parent->type != RAY_DRIVER_TASK) {
        const struct ray_actor *actor = why_records_actor(records, parent->actor_id);
        if (*parent->worker_id)
            return why_records_worker(records, parent->worker_id);
        return actor ? why_records_worker(records, actor->worker_id) : NULL;
    }
    return why_driver_of_job(records, attempt->job_id);
}

/* Only of a parent that is known, and that Ray has not tried again: what the earlier attempt has
 * submitted, the later one submits again. */
const struct ray_worker *why_dead_owner_of_task(const struct why_records *records,
                                                const struct ray_attempt *attempt)
{
    const struct ray_attempt *parent = why_records_attempt(records, attempt->parent_task_id);
    bool is_queued = attempt->type == RAY_ACTOR_TASK && attempt->state >= RAY_ATTEMPT_SUBMITTED;
    if (attempt->state == RAY_ATTEMPT_UNKNOWN || attempt->state >= RAY_ATTEMPT_RUNNING ||
        attempt->type == RAY_ACTOR_CREATION_TASK || is_queued)
        return NULL;
    if (!parent || parent->type == RAY_DRIVER_TASK || !*parent->worker_id)
        return NULL;
    const struct ray_worker *owner = why_records_worker(records, parent->worker_id);
    return owner && !why_records_is_alive(records, owner) ? owner : NULL;
}

bool why_never_runs(const struct why_records *records, const struct ray_attempt *attempt)
{
    return attempt->state > RAY_ATTEMPT_UNKNOWN && attempt->state < RAY_ATTEMPT_RUNNING &&
           (why_records_job_is_over(records, attempt) || why_dead_owner_of_task(records, attempt));
}
