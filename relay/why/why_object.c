/* The rules for objects. */
#include "base/text.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/process_end.h"

#include <stdlib.h>
#include <string.h>

/* Where a task's id, in hex, has its job's. */
enum { JOB_AT = 2 * (ID_TASK_BYTES - ID_JOB_BYTES) };
/* An object up to this size may be in its owner's memory alone, without a copy in a store. */
enum { INLINED_BYTES = 100 << 10 };

const struct ray_attempt *why_object_task(const struct why_records *records,
                                          const struct object_id *id)
{
    for (size_t i = records->attempt_count; i-- > 0;)
        if (object_id_made_by(id, records->attempts[i].task_id))
            return &records->attempts[i];
    return NULL;
}

/* The creating task's worker owns what it put; its submitter owns what it returned. */
const struct ray_worker *why_object_owner(const struct why_records *records,
                                          const struct object_id *id,
                                          const struct ray_attempt *maker)
{
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    if (maker && !object_id_is_put(id))
        return why_owner_of_task(records, maker);
    if (maker && maker->type != RAY_DRIVER_TASK)
        return why_records_worker(records, maker->worker_id);
    object_id_task(id, task_id);
    return why_driver_of_job(records, task_id + JOB_AT);
}

static void judge_owner_died(const struct why_records *records, const struct ray_worker *owner,
                             struct why_report *report)
{
    struct why_report its = {0};
    char name[WHY_NAME_TEXT];
    process_end_explain(records, owner, &its);
    why_report_cause(report, "owner_died",
                     "it is lost: the process that owned it, pid %s, has died. The owner: %s",
                     why_name_of_worker(records, owner, name), its.cause ? its.cause : "?");
    for (size_t i = 0; i < its.unknown.count; i++)
        why_list_add(&report->unknown, "%s", its.unknown.items[i]);
    why_list_add(&report->details,
                 "an object dies with its owner, also where copies of it are left");
    why_list_add(&report->next, "raydbg why %s", name);
    why_report_clear(&its);
}

/* The copies on nodes that live: an owner may not know yet that a node has died. */
static size_t live_copies(const struct why_records *records, const struct ray_object_location *at)
{
    size_t count = 0;
    for (size_t i = 0; i < at->node_count; i++) {
        const struct ray_node *node = why_records_node(records, at->node_ids[i]);
        count += node && node->is_alive;
    }
    return count;
}

static void tell_copies(const struct why_records *records, const struct ray_object_location *at,
                        struct why_report *report)
{
    for (size_t i = 0; i < at->node_count; i++) {
        const struct ray_node *node = why_records_node(records, at->node_ids[i]);
        if (node && node->is_alive)
            why_list_add(&report->details, "a copy is on %s", node->ip);
    }
    if (!text_empty(at->spilled_url))
        why_list_add(&report->details, "it is spilled to disk on %s",
                     why_records_ip(records, at->spilled_node_id));
}

static void tell_origin(const struct why_records *records, const struct ray_attempt *maker,
                        struct why_report *report)
{
    const struct ray_node *node = maker ? why_records_node(records, maker->node_id) : NULL;
    if (node)
        why_list_add(&report->details, "it was made on node %s, which is %s", node->ip,
                     node->is_alive ? "alive" : "dead");
    why_list_add(
        &report->ray,
        "Ray makes a lost object again when it is needed, if a task with retries left returned "
        "it; never what ray.put made");
}

static bool maker_is_gone(const struct why_records *records, const struct ray_attempt *maker)
{
    const struct ray_node *node = maker ? why_records_node(records, maker->node_id) : NULL;
    return node && !node->is_alive;
}

/* For an object that its owner knows, and that is not being made. */
static void judge_stored(const struct why_records *records, const struct ray_attempt *maker,
                         struct why_report *report)
{
    const struct ray_object_location *at = records->location.location;
    bool in_stores_only = text_empty(at->spilled_url) && at->size > INLINED_BYTES;
    if (at->lost || (in_stores_only && !live_copies(records, at))) {
        why_report_cause(report, "lost", "all its copies are lost, and its owner lives");
        tell_origin(records, maker, report);
    } else if (in_stores_only && maker_is_gone(records, maker)) {
        why_report_cause(report, "may_be_lost",
                         "the node that made it is dead; what is stored now is a copy, or the "
                         "error that Ray puts in the "
                         "place of a lost object");
        tell_copies(records, at, report);
        tell_origin(records, maker, report);
        why_list_add(&report->unknown, "which of the two: Ray tells only that something is stored");
    } else {
        why_report_cause(report, "available", "it is there: nothing is wrong");
        tell_copies(records, at, report);
    }
}

static void judge_location(const struct why_records *records, const struct ray_attempt *maker,
                           struct why_report *report)
{
    const struct ray_object_location *at = records->location.location;
    bool again = maker && maker->attempt > 0;
    if (!at) {
        why_report_cause(report, "unknown", "where it is is not known");
        why_list_add(&report->unknown, "its owner did not answer (%s)",
                     records->location.problem ? records->location.problem : "it was not asked");
    } else if (!at->known) {
        why_report_cause(report, "released",
                         "its owner has no reference to it any more: it was released");
    } else if (at->pending) {
        why_report_cause(report, "pending",
                         again ? "its copies were lost, and it is being made again"
                               : "it is not made yet");
    } else {
        judge_stored(records, maker, report);
    }
}

void why_rules_object(const struct why_records *records, const struct object_id *id,
                      struct why_report *report)
{
    const struct ray_attempt *maker = why_object_task(records, id);
    const struct ray_worker *owner = why_object_owner(records, id, maker);
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    object_id_hex(id, hex);
    why_report_link(report, "object", hex, "object %.8s, made by %s", hex,
                    object_id_is_put(id) ? "ray.put" : "a task");
    if (owner)
        why_link_worker(records, owner->worker_id, report);
    if (maker && maker->type != RAY_DRIVER_TASK)
        why_link_task(maker, report);
    if (!owner) {
        why_report_cause(report, "unknown", "who owns it is not known");
        why_list_add(&report->unknown, "its owner: Ray has %s",
                     maker ? "no record of the process" : "no event of the task that made it");
    } else if (!why_records_is_alive(records, owner)) {
        judge_owner_died(records, owner, report);
    } else {
        judge_location(records, maker, report);
    }
    if (maker && maker->state != RAY_ATTEMPT_FINISHED && maker->type != RAY_DRIVER_TASK) {
        struct why_report its = {0};
        char name[WHY_NAME_TEXT];
        why_rules_task(records, maker, &its);
        why_list_add(&report->details, "%s, which makes it: %s", why_name_of_task(maker, name),
                     its.cause);
        why_report_clear(&its);
    }
    why_list_add(&report->next, "raydbg memory --filter %s", hex);
}
