#include "relay/python_stack/stack_processes.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/why_records/why_names.h"

#include <stdlib.h>
#include <string.h>

/* --- adding --- */

static bool is_there(const struct stack_processes *out, const struct ray_worker *worker)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i] == worker)
            return true;
    return false;
}

static void add(const struct why_records *records, const struct stack_select *select,
                const struct ray_worker *worker, struct stack_processes *out)
{
    const struct ray_node *node = worker ? why_records_node(records, worker->node_id) : NULL;
    if (!node || !worker->pid || !why_records_is_alive(records, worker) || is_there(out, worker) ||
        (select->node && node != why_subject_node(records, select->node)))
        return;
    out->items = mem_resize(out->items, out->count + 1, sizeof(const struct ray_worker *));
    out->items[out->count++] = worker;
}

/* Ids in a hash: a look at 10,000 processes must not compare each with 100,000 attempts. */
static void index_running(const struct why_records *records, const char *job,
                          struct hash_index *index)
{
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        const struct ray_worker *worker = why_records_worker(records, it->worker_id);
        if (worker && it->type != RAY_DRIVER_TASK && why_records_is_running(records, it) &&
            (!job || text_equal(it->job_id, job)))
            hash_index_add(index, hash_number((uintptr_t)worker), (uintptr_t)worker);
    }
}

static bool runs(const struct hash_index *index, const struct ray_worker *worker)
{
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(index, hash_number((uintptr_t)worker), &cursor, &item))
        if (item == (uintptr_t)worker)
            return true;
    return false;
}

/* --- by kind --- */

static void add_all(const struct why_records *records, const struct stack_select *select,
                    const struct ray_node *node, bool idle, struct stack_processes *out)
{
    struct hash_index running = {0};
    index_running(records, NULL, &running);
    for (size_t i = 0; i < records->worker_count; i++) {
        const struct ray_worker *worker = &records->workers[i];
        if (node && strcmp(worker->node_id, node->node_id) != 0)
            continue;
        if (idle || worker->is_driver || runs(&running, worker))
            add(records, select, worker, out);
        else
            out->idle += why_records_is_alive(records, worker);
    }
    hash_index_clear(&running);
}

static void add_job(const struct why_records *records, const struct stack_select *select,
                    const char *job_id, struct stack_processes *out)
{
    struct hash_index running = {0};
    index_running(records, job_id, &running);
    for (size_t i = 0; i < records->worker_count; i++)
        if (runs(&running, &records->workers[i]))
            add(records, select, &records->workers[i], out);
    add(records, select, why_driver_of_job(records, job_id), out);
    hash_index_clear(&running);
}

static void add_tasks(const struct why_records *records, const struct stack_select *select,
                      const struct why_subject *subject, struct stack_processes *out)
{
    const struct ray_attempt *attempt = subject->attempt;
    bool one = !subject->namesakes; /* it was found by its id */
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if ((one ? text_equal(it->task_id, attempt->task_id)
                 : text_equal(it->name, attempt->name) ||
                       text_equal(it->func_or_class, select->name)) &&
            why_records_is_running(records, it))
            add(records, select, why_records_worker(records, it->worker_id), out);
    }
}

static int fail_not_running(const struct stack_select *select, const struct why_subject *subject,
                            struct err *err)
{
    err_set(err, ERR_NOT_FOUND, "%s %s runs in no live process%s%s", why_kind_name(subject->kind),
            select->name, select->node ? " of node " : "", select->node ? select->node : "");
    return err_hint(err, "raydbg why %s says what became of it", select->name);
}

/* -1 if the table could not be asked: without it nothing is known of the processes. */
static int check_part(const struct why_records *records, enum why_part part, struct err *err)
{
    if (!records->problems[part].code)
        return 0;
    *err = records->problems[part];
    return -1;
}

/* Of a worker or an actor it does not matter what it runs. */
static bool needs_attempts(enum why_kind kind, bool idle)
{
    return kind == WHY_TASK || kind == WHY_JOB || (kind == WHY_NODE && !idle);
}

static int find_named(const struct why_records *records, const struct stack_select *select,
                      struct stack_processes *out, struct err *err)
{
    struct why_subject subject = {0};
    if (why_subject_find(records, select->name, &subject, err) != 0)
        return -1;
    if (needs_attempts(subject.kind, select->idle) && check_part(records, WHY_ATTEMPTS, err) != 0)
        return -1;
    switch (subject.kind) {
    case WHY_TASK:
        add_tasks(records, select, &subject, out);
        break;
    case WHY_ACTOR:
        add(records, select, why_records_worker(records, subject.actor->worker_id), out);
        break;
    case WHY_WORKER:
        add(records, select, subject.worker, out);
        break;
    case WHY_NODE:
        add_all(records, select, subject.node, select->idle, out);
        break;
    case WHY_JOB:
        add_job(records, select, subject.job->job_id, out);
        break;
    default:
        return err_set(err, ERR_USAGE, "%s is a %s: only processes have stacks", select->name,
                       why_kind_name(subject.kind));
    }
    return out->count ? 0 : fail_not_running(select, &subject, err);
}

int stack_processes_find(const struct why_records *records, const struct stack_select *select,
                         struct stack_processes *out, struct err *err)
{
    *out = (struct stack_processes){0};
    if (check_part(records, WHY_WORKERS, err) != 0 || check_part(records, WHY_NODES, err) != 0)
        return -1;
    if (select->node && !why_subject_node(records, select->node))
        return err_set(err, ERR_NOT_FOUND, "the cluster knows no node '%s'", select->node);
    if (select->name)
        return find_named(records, select, out, err);
    if (!select->idle && check_part(records, WHY_ATTEMPTS, err) != 0)
        return -1;
    add_all(records, select, NULL, select->idle, out);
    return 0;
}
