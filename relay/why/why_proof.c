#include "relay/why/why_proof.h"

#include "base/text.h"
#include "relay/why/why_rules.h"

#include <string.h>

/* --- two looks --- */

static const struct ray_attempt *earlier_of(const struct why_records *records,
                                            const struct ray_attempt *attempt)
{
    const struct why_records first = {.attempts = records->earlier,
                                      .attempt_count = records->earlier_count};
    const struct ray_attempt *it = why_records_attempt(&first, attempt->task_id);
    while (it && it->attempt != attempt->attempt)
        it = why_records_previous(&first, it);
    return it;
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
    const struct ray_attempt *it = NULL;
    while (attempt->state == RAY_ATTEMPT_RUNNING &&
           (it = why_records_next(records, ATTEMPTS_OF_PARENT, attempt->task_id, it)))
        if (it->state_ms[it->state] > last)
            last = it->state_ms[it->state];
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
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_RUNNING, "", it)))
        named += text_equal(it->name, attempt->name) && text_equal(it->job_id, attempt->job_id) &&
                 text_equal(it->node_id, attempt->node_id) && why_records_is_running(records, it);
    return gauge->running || gauge->in_get < named ? WHY_PROOF_NO_GAUGE : WHY_PROVEN;
}

/* True if the process refers to a result that may not be made yet, of a task of which Ray has no
 * record: its events are off (enable_task_events) or were dropped. A process that does not own the
 * object cannot tell whether it is made. */
static bool has_unknown_maker(const struct why_records *records,
                              const struct ray_worker_objects *objects)
{
    for (size_t i = 0; i < objects->ref_count; i++) {
        const struct ray_object_ref *ref = &objects->refs[i];
        char task_id[ID_TEXT(ID_TASK_BYTES)], actor[ID_TEXT(ID_ACTOR_BYTES)];
        if (object_id_is_put(&ref->id) || object_id_is_actor_handle(&ref->id, actor) ||
            ref->status == RAY_TASK_FINISHED || ref->status == RAY_TASK_FAILED)
            continue;
        object_id_task(&ref->id, task_id);
        if (!why_records_attempt(records, task_id))
            return true;
    }
    return false;
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
    if (code == WHY_PROVEN && has_unknown_maker(records, refs->objects))
        return WHY_PROOF_NO_MAKER;
    return code;
}

/* True if an earlier task of the reach runs in the same actor: its resources count once. */
static bool is_counted(const struct why_reach *reach, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (reach->items[i]->state == RAY_ATTEMPT_RUNNING &&
            reach->items[i]->type != RAY_NORMAL_TASK &&
            text_equal(reach->items[i]->actor_id, reach->items[index]->actor_id))
            return true;
    return false;
}

/* The amount of a node's resource that running tasks of the reach, or their actors, hold. */
static double amount_held(const struct why_records *records, const struct why_reach *reach,
                          const char *node_id, const char *resource)
{
    double sum = 0;
    for (size_t i = 0; i < reach->count; i++) {
        const struct ray_attempt *it = reach->items[i];
        if (it->state == RAY_ATTEMPT_RUNNING &&
            (it->type == RAY_NORMAL_TASK || !is_counted(reach, i)))
            sum += why_graph_held(records, it, node_id, resource);
    }
    return sum;
}

/* True if the node has too little of the resource free, and all that is not free is held by tasks
 * that cannot go on. */
static bool is_held_by_reach(const struct why_records *records, const struct why_reach *reach,
                             const struct ray_node_resources *node, const struct ray_resource *need)
{
    const double parts = 10000; /* of one: Ray's own precision */
    double free_amount = ray_resources_amount(&node->free, need->name);
    double taken = ray_resources_amount(&node->total, need->name) - free_amount;
    return !why_resources_is_cpu(need->name) && free_amount < need->amount &&
           amount_held(records, reach, node->node_id, need->name) * parts + 1 >= taken * parts;
}

/* True if each node that could run the task lacks a resource for it that only tasks hold which
 * cannot go on. */
static bool has_no_node(const struct why_records *records, const struct why_reach *reach,
                        const struct ray_attempt *attempt)
{
    size_t nodes = 0;
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        bool held = false;
        if (!why_resources_could_run(records, node, attempt))
            continue;
        for (size_t k = 0; !held && k < attempt->resources.count; k++)
            held = is_held_by_reach(records, reach, node, &attempt->resources.items[k]);
        if (!held)
            return false;
        nodes++;
    }
    return nodes > 0;
}

static enum why_proof_code judge_waiting(const struct why_records *records,
                                         const struct why_reach *reach,
                                         const struct ray_attempt *attempt)
{
    if (attempt->state == RAY_ATTEMPT_PENDING_ARGS)
        return WHY_PROOF_OPEN; /* its owner has made more things arguments */
    if (attempt->state == RAY_ATTEMPT_PENDING_NODE && !has_no_node(records, reach, attempt))
        return WHY_PROOF_OPEN;
    return WHY_PROVEN;
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
        proof.code != WHY_PROOF_NO_REFS && proof.code != WHY_PROOF_NO_MAKER &&
        proof.code != WHY_PROOF_OPEN) {
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
