#include "relay/why/why_judge.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"
#include "relay/why/why_graph.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/process_end.h"

#include <stdlib.h>
#include <string.h>

/* --- headings --- */

static void add_when(const struct why_records *records, const char *what, int64_t at_ms,
                     struct buf *out)
{
    char span[WHY_SPAN_TEXT];
    buf_printf(out, " · %s", what);
    if (at_ms)
        buf_printf(out, " %s ago", why_span(records->now_ms - at_ms, span));
}

static void head_task(const struct why_records *records, const struct why_subject *subject,
                      struct why_report *report)
{
    const struct ray_attempt *it = subject->attempt;
    struct buf summary = {0};
    char span[WHY_SPAN_TEXT], job[ID_TEXT(ID_JOB_BYTES)];
    int64_t at = it->state_ms[it->state], began = it->state_ms[RAY_ATTEMPT_RUNNING];
    bool over = ray_attempt_is_over(it);
    report->id = mem_string(it->task_id);
    report->name = mem_string(it->name);
    report->state = mem_string(why_state_name(it->state));
    report->since_ms = at;
    buf_printf(&summary, "job %s", job_id_brief(it->job_id, job));
    if (it->attempt)
        buf_printf(&summary, " · attempt %d", it->attempt + 1);
    if (over)
        add_when(records, why_state_name(it->state), at, &summary);
    else
        buf_printf(&summary, " · %s %s", why_state_name(it->state),
                   why_span(at ? records->now_ms - at : -1, span));
    if (over && began && at >= began)
        buf_printf(&summary, " after %s", why_span(at - began, span));
    if (subject->namesakes > 1)
        buf_printf(&summary, " · 1 of %zu of this name: %zu failed, %zu wait", subject->namesakes,
                   subject->namesakes_failed, subject->namesakes_waiting);
    report->summary = buf_take(&summary);
}

static void head_actor(const struct why_records *records, const struct ray_actor *it,
                       struct why_report *report)
{
    struct buf summary = {0};
    char job[ID_TEXT(ID_JOB_BYTES)];
    report->id = mem_string(it->actor_id);
    report->name = mem_string(text_empty(it->name) ? it->class_name : it->name);
    report->state = mem_string(it->state);
    report->since_ms = it->end_ms ? it->end_ms : it->start_ms;
    buf_printf(&summary, "%s · job %s", it->class_name, job_id_brief(it->job_id, job));
    add_when(records, it->state, it->end_ms, &summary);
    report->summary = buf_take(&summary);
}

static void head_worker(const struct why_records *records, const struct ray_worker *it,
                        struct why_report *report)
{
    struct buf summary = {0};
    char name[WHY_NAME_TEXT];
    bool alive = why_records_is_alive(records, it);
    report->kind = it->is_driver ? "driver" : "worker";
    report->id = mem_string(it->worker_id);
    report->name = mem_string(why_name_of_worker(records, it, name));
    report->state = mem_string(alive ? "alive" : "dead");
    report->since_ms = alive ? it->start_ms : it->end_ms;
    buf_printf(&summary, "%s %.8s", report->kind, it->worker_id);
    add_when(records, alive ? "alive" : "dead", alive ? 0 : it->end_ms, &summary);
    report->summary = buf_take(&summary);
}

static void head_node(const struct why_records *records, const struct ray_node *node,
                      struct why_report *report)
{
    struct buf summary = {0};
    report->id = mem_string(node->node_id);
    report->name = mem_string(node->ip);
    report->state = mem_string(node->is_alive ? "alive" : "dead");
    report->since_ms = node->is_alive ? node->start_ms : node->end_ms;
    buf_printf(&summary, "node %.8s", node->node_id);
    add_when(records, report->state, node->end_ms, &summary);
    report->summary = buf_take(&summary);
}

static void head_job(const struct why_records *records, const struct ray_job *job,
                     struct why_report *report)
{
    struct buf summary = {0};
    char brief[ID_TEXT(ID_JOB_BYTES)];
    report->id = mem_string(job->job_id);
    report->name = mem_string(job->submission_id ? job->submission_id : "");
    report->state = mem_string(job->is_dead ? "ended" : "running");
    report->since_ms = job->is_dead ? job->end_ms : job->start_ms;
    buf_printf(&summary, "job %s", job_id_brief(job->job_id, brief));
    add_when(records, report->state, job->end_ms, &summary);
    report->summary = buf_take(&summary);
}

static void head_group(const struct ray_group *group, struct why_report *report)
{
    struct buf summary = {0};
    char job[ID_TEXT(ID_JOB_BYTES)];
    report->id = mem_string(group->group_id);
    report->name = mem_string(group->name);
    report->state = mem_string(group->state);
    buf_printf(&summary, "placement group %.8s · job %s · %s", group->group_id,
               job_id_brief(group->job_id, job), group->state);
    report->summary = buf_take(&summary);
}

static void head_object(const struct object_id *id, struct why_report *report)
{
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    object_id_hex(id, hex);
    report->id = mem_string(hex);
    report->name = mem_string("");
    report->state = mem_string("");
    report->summary =
        mem_string(object_id_is_put(id) ? "object, from ray.put" : "object, the result of a task");
}

/* --- judging --- */

static void tell_gaps(const struct why_records *records, struct why_report *report)
{
    for (int part = 0; part < WHY_PARTS; part++)
        if (records->problems[part].code)
            why_list_add(&report->unknown, "%s: %s", why_records_part_name((enum why_part)part),
                         records->problems[part].what);
}

void why_judge(const struct why_records *records, const struct why_subject *subject,
               struct why_report *report)
{
    report->kind = why_kind_name(subject->kind);
    switch (subject->kind) {
    case WHY_TASK:
        head_task(records, subject, report);
        why_rules_task(records, subject->attempt, report);
        break;
    case WHY_ACTOR:
        head_actor(records, subject->actor, report);
        why_rules_actor(records, subject->actor, report);
        break;
    case WHY_WORKER:
        head_worker(records, subject->worker, report);
        why_rules_worker(records, subject->worker, report);
        break;
    case WHY_NODE:
        head_node(records, subject->node, report);
        why_rules_node(records, subject->node, report);
        break;
    case WHY_JOB:
        head_job(records, subject->job, report);
        why_rules_job(records, subject->job, report);
        break;
    case WHY_GROUP:
        head_group(subject->group, report);
        why_rules_group(records, subject->group, report);
        break;
    case WHY_OBJECT:
        head_object(&subject->object, report);
        why_rules_object(records, &subject->object, report);
        break;
    }
    tell_gaps(records, report);
}

/* --- needs --- */

static void need_log(const struct why_records *records, const struct ray_worker *worker,
                     struct why_needs *needs)
{
    const struct ray_node *node = worker ? why_records_node(records, worker->node_id) : NULL;
    if (!worker || worker->is_alive || !node || !node->is_alive ||
        !process_end_of(worker).needs_log)
        return;
    for (size_t i = 0; i < needs->log_count; i++)
        if (needs->logs_of[i] == worker)
            return;
    if (needs->log_count < WHY_LOGS)
        needs->logs_of[needs->log_count++] = worker;
}

void why_judge_need_refs(const struct why_records *records, const struct ray_worker *worker,
                         struct why_needs *needs)
{
    if (!worker || !why_records_is_alive(records, worker) || !worker->port)
        return;
    for (size_t i = 0; i < needs->ref_count; i++)
        if (needs->refs_of[i] == worker)
            return;
    if (needs->ref_count < WHY_REFS)
        needs->refs_of[needs->ref_count++] = worker;
}

void why_judge_need_gauges(const struct ray_node *node, struct why_needs *needs)
{
    if (!node || !node->is_alive || !node->metrics_port)
        return;
    for (size_t i = 0; i < needs->gauges_count; i++)
        if (needs->gauges_of[i] == node)
            return;
    if (needs->gauges_count < WHY_GAUGES)
        needs->gauges_of[needs->gauges_count++] = node;
}

/* The raylets say why a worker cannot start, and the nodes what they set up for the job. */
static void need_raylets(const struct why_records *records, bool installs_packages,
                         const char *job_id, struct why_needs *needs)
{
    if (needs->raylet_count)
        return;
    for (size_t i = 0; i < records->node_count && needs->raylet_count < WHY_RAYLETS; i++)
        if (records->nodes[i].is_alive)
            needs->raylets[needs->raylet_count++] = &records->nodes[i];
    needs->env_job = installs_packages ? job_id : NULL;
}

/* True for what has no worker though a node has these resources free. */
static bool lacks_worker(const struct why_records *records, const struct ray_resources *resources,
                         const struct ray_labels *selector)
{
    struct why_report report = {0};
    why_rules_resources(records, resources, selector, &report);
    bool lacks = text_equal(report.code, "waits_for_worker");
    why_report_clear(&report);
    return lacks;
}

static void need_start(const struct why_records *records, const struct ray_attempt *attempt,
                       struct why_needs *needs)
{
    bool failed = attempt->state == RAY_ATTEMPT_FAILED && attempt->has_error &&
                  attempt->error_type == RAY_ERROR_WORKER_STARTUP_FAILED;
    bool waits = attempt->state == RAY_ATTEMPT_PENDING_NODE && attempt->type == RAY_NORMAL_TASK;
    if (failed || (waits && lacks_worker(records, &attempt->resources, why_labels_of(attempt))))
        need_raylets(records, attempt->installs_packages, attempt->job_id, needs);
}

/* Of an actor that is not there yet. */
static void need_creation(const struct why_records *records, const struct ray_actor *actor,
                          struct why_needs *needs)
{
    const struct ray_attempt *creation = why_records_creation(records, actor);
    if (text_equal(actor->state, "DEAD") || text_equal(actor->state, "ALIVE"))
        return;
    if (creation && creation->state == RAY_ATTEMPT_RUNNING)
        why_judge_need_refs(records, why_records_worker(records, creation->worker_id), needs);
    else if (lacks_worker(records, why_resources_of(actor), &actor->selector))
        need_raylets(records, actor->installs_packages, actor->job_id, needs);
}

/* Of what an unfinished attempt may wait for: the references say what that waits for in turn. */
static void need_refs_of_reach(const struct why_records *records, const struct ray_attempt *attempt,
                               struct why_needs *needs)
{
    struct why_reach reach;
    if (ray_attempt_is_over(attempt))
        return;
    why_graph_reach(records, attempt, &reach);
    for (size_t i = 0; i < reach.count; i++) {
        const struct ray_attempt *it = reach.items[i];
        if (it->state == RAY_ATTEMPT_RUNNING)
            why_judge_need_refs(records, why_records_worker(records, it->worker_id), needs);
        if (it->state == RAY_ATTEMPT_PENDING_ARGS)
            why_judge_need_refs(records, why_owner_of_task(records, it), needs);
    }
}

void why_judge_need_actor(const struct why_records *records, const struct ray_actor *actor,
                          struct why_needs *needs)
{
    if (!actor)
        return;
    need_log(records, why_records_worker(records, actor->worker_id), needs);
    need_log(records, why_records_previous_process(records, actor), needs);
    need_creation(records, actor, needs);
    if (actor->death)
        need_log(records, why_records_worker(records, actor->death->owner_id), needs);
}

/* True if the end of a process may be behind the attempt's state: not an exception, which says it
 * all. */
static bool may_be_a_death(const struct ray_attempt *attempt)
{
    if (attempt->state != RAY_ATTEMPT_FAILED || !attempt->has_error)
        return true;
    return attempt->error_type == RAY_ERROR_WORKER_DIED ||
           attempt->error_type == RAY_ERROR_ACTOR_DIED ||
           attempt->error_type == RAY_ERROR_ACTOR_UNAVAILABLE;
}

void why_judge_need_previous(const struct why_records *records, const struct ray_attempt *attempt,
                             struct why_needs *needs)
{
    const struct ray_attempt *before = why_records_previous(records, attempt);
    if (before && may_be_a_death(before))
        need_log(records, why_records_worker(records, before->worker_id), needs);
}

void why_judge_need_task(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_needs *needs)
{
    why_judge_need_previous(records, attempt, needs);
    need_start(records, attempt, needs);
    need_log(records, why_dead_owner_of_task(records, attempt), needs);
    if (!may_be_a_death(attempt))
        return;
    need_log(records, why_records_worker(records, attempt->worker_id), needs);
    need_refs_of_reach(records, attempt, needs);
    why_judge_need_actor(records, why_records_actor(records, attempt->actor_id), needs);
    why_rules_need_proof(records, attempt, needs);
}

static void need_object(const struct why_records *records, const struct object_id *id,
                        struct why_needs *needs)
{
    const struct ray_attempt *maker = why_object_task(records, id);
    const struct ray_worker *owner = why_object_owner(records, id, maker);
    need_log(records, owner, needs);
    if (maker)
        why_judge_need_task(records, maker, needs);
    if (owner && why_records_is_alive(records, owner))
        needs->owner = owner;
}

void why_judge_needs(const struct why_records *records, const struct why_subject *subject,
                     struct why_needs *needs)
{
    *needs = (struct why_needs){0};
    if (subject->kind == WHY_TASK)
        why_judge_need_task(records, subject->attempt, needs);
    else if (subject->kind == WHY_ACTOR)
        why_judge_need_actor(records, subject->actor, needs);
    else if (subject->kind == WHY_WORKER)
        need_log(records, subject->worker, needs);
    else if (subject->kind == WHY_OBJECT)
        need_object(records, &subject->object, needs);
}
