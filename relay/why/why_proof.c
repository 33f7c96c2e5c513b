#include "relay/why/why_proof.h"

#include "base/text.h"

#include <string.h>

/* --- two looks --- */

static const struct ray_attempt *earlier_of(const struct why_records *records,
                                            const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < records->earlier_count; i++) {
        const struct ray_attempt *it = &records->earlier[i];
        if (it->attempt == attempt->attempt && text_equal(it->task_id, attempt->task_id))
            return it;
    }
    return NULL;
}

static bool was_the_same(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_attempt *before = earlier_of(records, attempt);
    return before && before->state == attempt->state &&
           before->state_ms[before->state] == attempt->state_ms[attempt->state];
}

/* When the attempt, or a call that it has made, last changed its state. */
static int64_t changed_ms(const struct why_records *records, const struct ray_attempt *attempt)
{
    int64_t last = attempt->state_ms[attempt->state];
    for (size_t i = 0; attempt->state == RAY_ATTEMPT_RUNNING && i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (text_equal(it->parent_task_id, attempt->task_id) && it->state_ms[it->state] > last)
            last = it->state_ms[it->state];
    }
    return last;
}

/* --- one task --- */

/* The gauge counts by name: all tasks of the name that run on the node must be in ray.get. */
static enum why_proof_code judge_get(const struct why_records *records,
                                     const struct ray_attempt *attempt)
{
    const struct why_gauges *node = why_records_gauges(records, attempt->node_id);
    const struct task_gauge *gauge = NULL;
    int64_t named = 0;
    if (node)
        gauge = task_gauges_find(&node->gauges, attempt->name, attempt->job_id);
    if (!gauge)
        return WHY_PROOF_NO_GAUGE;
    if (!gauge->in_get)
        return WHY_PROOF_GOES_ON;
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        named += why_records_is_running(records, it) && text_equal(it->name, attempt->name) &&
                 text_equal(it->job_id, attempt->job_id) &&
                 text_equal(it->node_id, attempt->node_id);
    }
    return gauge->running || gauge->in_get < named ? WHY_PROOF_NO_GAUGE : WHY_PROVEN;
}

static enum why_proof_code judge_running(const struct why_records *records,
                                         const struct ray_attempt *attempt)
{
    const struct why_refs *refs = why_records_refs(records, attempt->worker_id);
    enum why_proof_code code;
    if (!why_records_is_running(records, attempt) || why_records_pause(records, attempt))
        return WHY_PROOF_OPEN;
    code = judge_get(records, attempt);
    if (code == WHY_PROVEN && (!refs || !refs->objects))
        return WHY_PROOF_NO_REFS;
    return code;
}

/* True if an earlier task of the reach runs in the same actor. */
static bool is_counted(const struct why_reach *reach, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (reach->items[i]->state == RAY_ATTEMPT_RUNNING &&
            text_equal(reach->items[i]->actor_id, reach->items[index]->actor_id))
            return true;
    return false;
}

/* The amount of a resource that running tasks of the reach, or their actors, hold. */
static double amount_held(const struct why_records *records, const struct why_reach *reach,
                          const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < reach->count; i++) {
        const struct ray_attempt *it = reach->items[i];
        const struct ray_actor *actor = why_records_actor(records, it->actor_id);
        if (it->state != RAY_ATTEMPT_RUNNING)
            continue;
        if (it->type == RAY_NORMAL_TASK)
            sum += ray_resources_amount(&it->resources, name);
        else if (actor && actor->resources && !is_counted(reach, i))
            sum += ray_resources_amount(actor->resources, name);
    }
    return sum;
}

/* True if the lack of one resource, which is held by tasks that cannot go on, is what keeps the
 * task waiting: no node has enough of it free, and no other process holds any. */
static bool is_held_by_reach(const struct why_records *records, const struct why_reach *reach,
                             const struct ray_resource *need)
{
    const double parts = 10000; /* of one: Ray's own precision */
    double total = 0, free_amount = 0;
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        double here = ray_resources_amount(&node->free, need->name);
        if (here >= need->amount)
            return false;
        free_amount += here;
        total += ray_resources_amount(&node->total, need->name);
    }
    return total >= need->amount &&
           amount_held(records, reach, need->name) * parts + 1 >= (total - free_amount) * parts;
}

static enum why_proof_code judge_waiting(const struct why_records *records,
                                         const struct why_reach *reach,
                                         const struct ray_attempt *attempt)
{
    if (attempt->state == RAY_ATTEMPT_PENDING_ARGS)
        return WHY_PROOF_OPEN; /* its owner has made more things arguments */
    if (attempt->state != RAY_ATTEMPT_PENDING_NODE)
        return WHY_PROVEN;
    for (size_t i = 0; i < attempt->resources.count; i++) {
        const struct ray_resource *need = &attempt->resources.items[i];
        if (!text_equal(need->name, "CPU") && need->amount > 0 &&
            is_held_by_reach(records, reach, need))
            return WHY_PROVEN;
    }
    return WHY_PROOF_OPEN;
}

static bool waits_for_some(const struct why_records *records, const struct why_reach *reach,
                           const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < reach->count; i++)
        if (why_graph_edge(records, attempt, reach->items[i]))
            return true;
    return false;
}

static struct why_proof judge_one(const struct why_records *records, const struct why_reach *reach,
                                  const struct ray_attempt *attempt)
{
    struct why_proof proof = {WHY_PROVEN, attempt, 0};
    int64_t age = records->now_ms - changed_ms(records, attempt);
    if (attempt->state == RAY_ATTEMPT_RUNNING)
        proof.code = judge_running(records, attempt);
    else
        proof.code = judge_waiting(records, reach, attempt);
    if (proof.code == WHY_PROVEN && !waits_for_some(records, reach, attempt))
        proof.code = WHY_PROOF_OPEN;
    if (proof.code == WHY_PROVEN && !was_the_same(records, attempt))
        proof.code = records->earlier_ms ? WHY_PROOF_CHANGED : WHY_PROOF_ONE_LOOK;
    if (age < TASK_GAUGE_LAG_MS && proof.code != WHY_PROOF_ONE_LOOK &&
        proof.code != WHY_PROOF_NO_REFS && proof.code != WHY_PROOF_OPEN) {
        proof.code = WHY_PROOF_YOUNG;
        proof.wait_ms = TASK_GAUGE_LAG_MS - age;
    }
    return proof;
}

struct why_proof why_proof_of(const struct why_records *records, const struct ray_attempt *attempt)
{
    struct why_proof found = {WHY_PROVEN, NULL, 0};
    struct why_reach reach;
    why_graph_reach(records, attempt, &reach);
    for (size_t i = 0; i < reach.count; i++) {
        struct why_proof proof = judge_one(records, &reach, reach.items[i]);
        if (proof.code == WHY_PROOF_GOES_ON)
            return proof;
        if (proof.code != WHY_PROVEN && found.code == WHY_PROVEN)
            found = proof;
        if (proof.code == WHY_PROOF_YOUNG && found.wait_ms < proof.wait_ms)
            found = proof;
    }
    if (reach.cut)
        found = (struct why_proof){WHY_PROOF_LARGE, NULL, 0};
    return found;
}
