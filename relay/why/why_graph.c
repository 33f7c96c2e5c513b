#include "relay/why/why_graph.h"

#include "base/text.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/why_names.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VISITS = 64 };

/* The attempts that one may wait for directly. No walk takes more: it knows at most MOST_VISITS or
 * WHY_GRAPH_REACH of them, and needs one that it does not know. */
enum { MOST_NEXT = MOST_VISITS + WHY_GRAPH_REACH + 1 };
struct next_ones {
    const struct ray_attempt *items[MOST_NEXT];
    size_t count;
};

struct walk {
    const struct why_records *records;
    struct why_cycle *path;
    const struct ray_attempt *visited[MOST_VISITS];
    size_t visits;
};

/* Ray's tables are up to a second old, and a call on its way looks like one that waits. */
static bool has_rested(const struct why_records *records, const struct ray_attempt *attempt)
{
    int64_t since = attempt->state_ms[attempt->state];
    return since && records->now_ms - since >= WHY_GRAPH_REST_MS;
}

/* True for a resource that its holder may keep from others. The places in a bundle of a placement
 * group are as good as without end. */
static bool is_kept(const char *resource, bool with_cpus)
{
    return (with_cpus || !why_resources_is_cpu(resource)) &&
           !text_starts(resource, "bundle_group_");
}

/* The node on which the task runs. */
static const char *node_of(const struct why_records *records, const struct ray_attempt *running)
{
    const struct ray_actor *actor = why_records_actor(records, running->actor_id);
    return !*running->node_id && actor ? actor->node_id : running->node_id;
}

double why_graph_held(const struct why_records *records, const struct ray_attempt *running,
                      const char *node_id, const char *resource)
{
    const struct ray_actor *actor = why_records_actor(records, running->actor_id);
    const struct ray_resources *held = running->type == RAY_NORMAL_TASK ? &running->resources
                                       : actor                          ? actor->resources
                                                                        : NULL;
    return held && text_equal(node_id, node_of(records, running))
               ? ray_resources_amount(held, resource)
               : 0;
}

bool why_graph_holds(const struct why_records *records, const struct ray_attempt *running,
                     const struct ray_attempt *waiting, bool with_cpus)
{
    const char *node_id = node_of(records, running);
    for (size_t i = 0; i < waiting->resources.count; i++) {
        const struct ray_resource *need = &waiting->resources.items[i];
        if (is_kept(need->name, with_cpus) && need->amount > 0 &&
            why_graph_held(records, running, node_id, need->name) > 0 &&
            why_resources_lack(records, waiting, need, node_id))
            return true;
    }
    return false;
}

/* True for a reference to a task's result; with `for_a_task` for one that is a task's argument. */
static bool is_result(const struct ray_object_ref *ref, bool for_a_task)
{
    char actor[ID_TEXT(ID_ACTOR_BYTES)];
    return !object_id_is_put(&ref->id) && !object_id_is_actor_handle(&ref->id, actor) &&
           (!for_a_task || ref->submitted);
}

/* True if the process refers to the result of the task, or has made it an argument of one. */
static bool refers_to(const struct why_refs *refs, const struct ray_attempt *maker, bool for_a_task)
{
    for (size_t i = 0; refs && refs->objects && i < refs->objects->ref_count; i++) {
        char task_id[ID_TEXT(ID_TASK_BYTES)];
        if (!is_result(&refs->objects->refs[i], for_a_task))
            continue;
        object_id_task(&refs->objects->refs[i].id, task_id);
        if (text_equal(task_id, maker->task_id))
            return true;
    }
    return false;
}

bool why_graph_edge(const struct why_records *records, const struct ray_attempt *from,
                    const struct ray_attempt *to)
{
    const struct ray_worker *owner;
    if (from == to || ray_attempt_is_over(to) || why_records_is_retried(records, to))
        return false;
    switch (from->state) {
    case RAY_ATTEMPT_RUNNING:
        return (text_equal(to->parent_task_id, from->task_id) ||
                refers_to(why_records_refs(records, from->worker_id), to, false)) &&
               why_records_is_running(records, from);
    case RAY_ATTEMPT_PENDING_NODE:
        return to->state == RAY_ATTEMPT_RUNNING && from->type == RAY_NORMAL_TASK &&
               why_graph_holds(records, to, from, false) && why_records_is_running(records, to);
    case RAY_ATTEMPT_PENDING_ARGS:
        owner = why_owner_of_task(records, from);
        return owner && refers_to(why_records_refs(records, owner->worker_id), to, true);
    default:
        return to->state == RAY_ATTEMPT_RUNNING && from->type == RAY_ACTOR_TASK &&
               to->type == RAY_ACTOR_TASK && *from->actor_id &&
               text_equal(to->actor_id, from->actor_id) && why_records_is_running(records, to);
    }
}

/* --- walks --- */

static void add_next(struct next_ones *out, const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i] == attempt)
            return;
    if (out->count < MOST_NEXT)
        out->items[out->count++] = attempt;
}

/* Adds those of a list for which the attempt may wait. */
static void add_listed(const struct why_records *records, const struct ray_attempt *from,
                       enum attempt_list kind, const char *key, struct next_ones *out)
{
    const struct ray_attempt *it = NULL;
    while (out->count < MOST_NEXT && (it = why_records_next(records, kind, key, it)))
        if (why_graph_edge(records, from, it))
            add_next(out, it);
}

/* Adds the unfinished tasks to whose results the process refers. */
static void add_makers(const struct why_records *records, const struct ray_attempt *from,
                       const struct why_refs *refs, bool for_a_task, struct next_ones *out)
{
    for (size_t i = 0; refs && refs->objects && i < refs->objects->ref_count; i++) {
        char task_id[ID_TEXT(ID_TASK_BYTES)];
        if (out->count == MOST_NEXT || !is_result(&refs->objects->refs[i], for_a_task))
            continue;
        object_id_task(&refs->objects->refs[i].id, task_id);
        const struct ray_attempt *maker = why_records_attempt(records, task_id);
        if (maker && maker != from && !ray_attempt_is_over(maker))
            add_next(out, maker);
    }
}

static int compare_positions(const void *left, const void *right)
{
    const struct ray_attempt *a = *(const struct ray_attempt *const *)left,
                             *b = *(const struct ray_attempt *const *)right;
    return (a > b) - (a < b);
}

/* Finds, in the order of the attempts, all `to` of which why_graph_edge() is true. */
static void find_next(const struct why_records *records, const struct ray_attempt *from,
                      struct next_ones *out)
{
    const struct ray_worker *owner;
    out->count = 0;
    switch (from->state) {
    case RAY_ATTEMPT_RUNNING:
        if (!why_records_is_running(records, from))
            return;
        add_listed(records, from, ATTEMPTS_OF_PARENT, from->task_id, out);
        add_makers(records, from, why_records_refs(records, from->worker_id), false, out);
        break;
    case RAY_ATTEMPT_PENDING_NODE:
        add_listed(records, from, ATTEMPTS_RUNNING, "", out);
        break;
    case RAY_ATTEMPT_PENDING_ARGS:
        owner = why_owner_of_task(records, from);
        if (owner)
            add_makers(records, from, why_records_refs(records, owner->worker_id), true, out);
        break;
    default:
        add_listed(records, from, ATTEMPTS_RUNNING_IN_ACTOR, from->actor_id, out);
        break;
    }
    if (out->count)
        qsort(out->items, out->count, sizeof(void *), compare_positions);
}

static bool was_visited(const struct walk *walk, const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < walk->visits; i++)
        if (walk->visited[i] == attempt)
            return true;
    return false;
}

/* Goes on from the last of the path; true if it has come back to the first. */
static bool step(struct walk *walk)
{
    struct why_cycle *path = walk->path;
    const struct ray_attempt *from = path->items[path->count - 1];
    struct next_ones next;
    if (walk->visits == MOST_VISITS || !has_rested(walk->records, from))
        return false;
    walk->visited[walk->visits++] = from;
    if (why_graph_edge(walk->records, from, path->items[0]))
        return true;
    find_next(walk->records, from, &next);
    for (size_t i = 0; i < next.count; i++) {
        if (path->count == WHY_GRAPH_PATH || was_visited(walk, next.items[i]))
            continue;
        path->items[path->count++] = next.items[i];
        if (step(walk))
            return true;
        path->count--;
    }
    return false;
}

bool why_graph_cycle(const struct why_records *records, const struct ray_attempt *attempt,
                     struct why_cycle *out)
{
    struct walk walk = {.records = records, .path = out};
    *out = (struct why_cycle){.items = {attempt}, .count = 1};
    return !ray_attempt_is_over(attempt) && step(&walk);
}

static void add_reached(struct why_reach *reach, const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < reach->count; i++)
        if (reach->items[i] == attempt)
            return;
    if (reach->count == WHY_GRAPH_REACH)
        reach->cut = true;
    else
        reach->items[reach->count++] = attempt;
}

void why_graph_reach(const struct why_records *records, const struct ray_attempt *attempt,
                     struct why_reach *out)
{
    *out = (struct why_reach){.items = {attempt}, .count = 1};
    for (size_t i = 0; i < out->count && !out->cut; i++) {
        struct next_ones next;
        find_next(records, out->items[i], &next);
        for (size_t k = 0; k < next.count; k++)
            add_reached(out, next.items[k]);
    }
}
