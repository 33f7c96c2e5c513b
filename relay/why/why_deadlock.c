/* The rules for tasks that wait for each other in a circle. */
#include "base/buf.h"
#include "base/text.h"
#include "relay/why/why_proof.h"
#include "relay/why/why_rules.h"

#include <stdlib.h>
#include <string.h>

static const char break_it[] =
    "ray.cancel of one of them, more concurrency of an actor, or more of the resource ends it";

static void tell_cycle(const struct why_records *records, const struct why_cycle *cycle,
                       bool proven, struct why_report *report)
{
    char name[WHY_NAME_TEXT], next_name[WHY_NAME_TEXT];
    for (size_t i = 0; i < cycle->count; i++) {
        const struct ray_attempt *it = cycle->items[i];
        const struct ray_attempt *next = cycle->items[(i + 1) % cycle->count];
        const char *how = it->state == RAY_ATTEMPT_PENDING_NODE ? "needs what is held by"
                          : it->state != RAY_ATTEMPT_RUNNING    ? "is queued behind"
                          : proven                              ? "waits in ray.get for"
                          : text_equal(next->parent_task_id, it->task_id)
                              ? "has called"
                              : "has a reference to the result of";
        why_list_add(&report->details, "%s %s %s", why_name_of_task(it, name), how,
                     why_name_of_task(next, next_name));
        why_link_task(it, report);
        why_link_actor(records, it->actor_id, report);
    }
}

/* The proof is missing. */
static void tell_gap(const struct why_records *records, const struct why_proof *proof,
                     struct why_report *report)
{
    char name[WHY_NAME_TEXT] = "", span[WHY_SPAN_TEXT];
    const struct why_gauges *gauges =
        proof->attempt ? why_records_gauges(records, proof->attempt->node_id) : NULL;
    if (proof->attempt)
        why_name_of_task(proof->attempt, name);
    switch (proof->code) {
    case WHY_PROOF_YOUNG:
        why_list_add(&report->unknown,
                     "whether it lasts: Ray's gauge of what is in ray.get may be older than the "
                     "state of %s. Ask again in %s",
                     name, why_span(proof->wait_ms, span));
        break;
    case WHY_PROOF_NO_GAUGE:
        why_list_add(&report->unknown,
                     "whether %s is in ray.get: its node's metrics do not tell%s%s", name,
                     gauges && gauges->problem ? ": " : "",
                     gauges && gauges->problem ? gauges->problem : "");
        break;
    case WHY_PROOF_NO_REFS:
        why_list_add(&report->unknown,
                     "whether %s waits for something else: its process did not tell its references",
                     name);
        break;
    case WHY_PROOF_NO_MAKER:
        why_list_add(&report->unknown,
                     "whether %s waits for something else: it has a reference to the result of a "
                     "task of which Ray has no record",
                     name);
        break;
    case WHY_PROOF_OPEN:
        why_list_add(&report->unknown, "whether %s, for which one of them may wait, can go on",
                     name);
        break;
    case WHY_PROOF_CHANGED:
        why_list_add(&report->unknown, "whether it lasts: %s has changed its state meanwhile",
                     name);
        break;
    default:
        break;
    }
    why_list_add(&report->unknown, "whether each of them is in ray.get: a task need not wait for "
                                   "what it has called");
}

/* "call_two (f4402ec7), Caller.answer (7318c048)": all of the cycle except the first, and of
 * several queued calls only what runs. */
static char *partners_of(const struct why_cycle *cycle)
{
    struct buf names = {0};
    char name[WHY_NAME_TEXT];
    for (size_t i = 1; i < cycle->count; i++)
        if (cycle->items[i]->state == RAY_ATTEMPT_RUNNING || cycle->count == 2)
            buf_printf(&names, "%s%s", names.len ? ", " : "",
                       why_name_of_task(cycle->items[i], name));
    buf_add_string(&names, "");
    return buf_take(&names);
}

/* True if a node that is added might end it. */
static bool needs_node(const struct why_records *records, const struct ray_attempt *attempt)
{
    struct why_reach reach;
    why_graph_reach(records, attempt, &reach);
    for (size_t i = 0; i < reach.count; i++)
        if (reach.items[i]->state == RAY_ATTEMPT_PENDING_NODE)
            return true;
    return false;
}

static void tell_deadlock(const struct why_records *records, const struct why_cycle *cycle,
                          struct why_report *report)
{
    char id[ID_TEXT(ID_TASK_BYTES)], span[WHY_SPAN_TEXT];
    char *partners = partners_of(cycle);
    why_report_cause(report, "deadlock", "DEADLOCK with %s: each waits for the other", partners);
    free(partners);
    tell_cycle(records, cycle, true, report);
    why_list_add(&report->details,
                 "two looks %s apart agree, and Ray's gauge has all that run in ray.get",
                 why_span(records->now_ms - records->earlier_ms, span));
    why_list_add(&report->details, "%s", break_it);
    if (needs_node(records, cycle->items[0]))
        why_list_add(&report->unknown,
                     "whether a node is being added that has the resource: raydbg "
                     "does not ask the autoscaler");
    why_list_add(&report->next, "raydbg why %s",
                 why_short_id(cycle->items[cycle->count / 2]->task_id, id));
}

bool why_rules_deadlock(const struct why_records *records, const struct ray_attempt *attempt,
                        struct why_report *report)
{
    struct why_cycle cycle;
    if (!records->earlier_ms || !why_graph_cycle(records, attempt, &cycle) ||
        why_proof_of(records, attempt).code != WHY_PROVEN)
        return false;
    tell_deadlock(records, &cycle, report);
    return true;
}

/* True if the cause is one that a circle would explain. All others are known, and do not depend on
 * what other tasks do. */
static bool may_be_a_cycle(const char *code)
{
    static const char *const codes[] = {
        "may_wait",       "queued_in_actor",     "submitted",
        "waits_for_node", "waits_for_resources", "waits_for_argument"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (text_equal(code, codes[i]))
            return true;
    return false;
}

/* A task that is not in ray.get ends the circle, but for two cases that the gauge does not tell: an
 * await, and a ray.wait without a timeout. */
static void tell_goes_on(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_report *report)
{
    char name[WHY_NAME_TEXT];
    const struct why_gauges *node = why_records_gauges(records, attempt->node_id);
    const struct task_gauge *gauge =
        node ? task_gauges_find(&node->gauges, attempt->name, attempt->job_id) : NULL;
    why_list_add(&report->details,
                 "it may wait in a circle, but that is no deadlock: %s is not in ray.get (unless "
                 "it awaits%s: Ray's gauge does not tell)",
                 why_name_of_task(attempt, name),
                 gauge && gauge->in_wait ? ", or its ray.wait has no timeout" : "");
}

void why_rules_cycle(const struct why_records *records, const struct ray_attempt *attempt,
                     struct why_report *report)
{
    struct why_cycle cycle;
    struct why_proof proof;
    if (!may_be_a_cycle(report->code) || !why_graph_cycle(records, attempt, &cycle))
        return;
    proof = why_proof_of(records, attempt);
    if (proof.code == WHY_PROOF_GOES_ON) {
        tell_goes_on(records, proof.attempt, report);
        return;
    }
    why_report_cause(report, "may_deadlock",
                     "it may be in a deadlock: each of these may wait for the next, and the "
                     "last for the first");
    tell_cycle(records, &cycle, false, report);
    tell_gap(records, &proof, report);
    why_list_add(&report->details, "%s", break_it);
}

void why_rules_need_proof(const struct why_records *records, const struct ray_attempt *attempt,
                          struct why_needs *needs)
{
    struct why_cycle cycle;
    struct why_reach reach;
    if (!why_graph_cycle(records, attempt, &cycle))
        return;
    needs->second_look = true;
    why_graph_reach(records, attempt, &reach);
    for (size_t i = 0; i < reach.count; i++)
        if (reach.items[i]->state == RAY_ATTEMPT_RUNNING) {
            why_judge_need_refs(records, why_records_worker(records, reach.items[i]->worker_id),
                                needs);
            why_judge_need_gauges(why_records_node(records, reach.items[i]->node_id), needs);
        }
}
