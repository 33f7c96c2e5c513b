#include "relay/slow/slow_cpus.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/timeline/timeline_spans.h"

#include <stdlib.h>

/* --- changes --- */

static void add_change(struct slow_cpus *out, struct slow_change change)
{
    out->changes = mem_grow(out->changes, out->count, &out->room, sizeof *out->changes);
    out->changes[out->count++] = change;
}

/* `end_us` 0: they are still held. */
static void add_holder(struct slow_cpus *out, double cpus, bool is_certain, int64_t start_us,
                       int64_t end_us)
{
    double most = is_certain ? cpus : 0;
    if (cpus <= 0)
        return;
    add_change(out, (struct slow_change){start_us, -cpus, -most, 0});
    if (end_us)
        add_change(out, (struct slow_change){end_us, cpus, most, 0});
}

static double total_of(const struct why_records *records, const struct ray_node *node)
{
    for (size_t i = 0; i < records->resources.node_count; i++)
        if (text_equal(records->resources.nodes[i].node_id, node->node_id))
            return ray_resources_amount(&records->resources.nodes[i].total, "CPU");
    return 0;
}

static void add_nodes(const struct why_records *records, int64_t since_us, struct slow_cpus *out)
{
    for (size_t i = 0; i < records->node_count; i++) {
        const struct ray_node *node = &records->nodes[i];
        double cpus = total_of(records, node);
        if (!node->is_alive) {
            if (node->end_ms * 1000 > since_us)
                out->problem = "a node has ended since, and Ray forgets how many CPUs it had";
            continue;
        }
        out->nodes++;
        out->total += cpus;
        add_change(out, (struct slow_change){node->start_ms * 1000, cpus, cpus, 0});
    }
}

/* For each attempt whether its task has submitted others, and so may be in ray.get; the caller
 * frees it. */
static bool *find_parents(const struct why_records *records)
{
    bool *is_parent = mem_array(records->attempt_count, sizeof *is_parent);
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *parent =
            why_records_attempt(records, records->attempts[i].parent_task_id);
        if (parent)
            is_parent[parent - records->attempts] = true;
    }
    return is_parent;
}

/* The resources of an actor's call are not its own: the actor holds its CPUs while it lives. */
static void add_tasks(const struct why_records *records, struct slow_cpus *out)
{
    bool *is_parent = find_parents(records);
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *attempt = &records->attempts[i];
        struct timeline_span run;
        if (attempt->type == RAY_NORMAL_TASK && attempt->timing &&
            timeline_run_of(records, attempt, &run))
            add_holder(out, ray_resources_amount(&attempt->resources, "CPU"), !is_parent[i],
                       run.start_us, run.end_us);
    }
    free(is_parent);
}

static void add_actors(const struct why_records *records, struct slow_cpus *out)
{
    for (size_t i = 0; i < records->actor_count; i++) {
        const struct ray_actor *actor = &records->actors[i];
        if (actor->resources && actor->start_ms)
            add_holder(out, ray_resources_amount(actor->resources, "CPU"), false,
                       actor->start_ms * 1000, actor->end_ms * 1000);
    }
}

static void add_starts(const struct why_records *records, struct slow_cpus *out)
{
    for (size_t i = 0; i < records->worker_count; i++) {
        const struct ray_worker *worker = &records->workers[i];
        if (!worker->launch_ms || worker->start_ms <= worker->launch_ms)
            continue;
        add_change(out, (struct slow_change){.at_us = worker->launch_ms * 1000, .starting = 1});
        add_change(out, (struct slow_change){.at_us = worker->start_ms * 1000, .starting = -1});
    }
}

/* Ray does not tell when a group was made or removed: at most, it lived as long as its job. */
static void add_groups(const struct why_records *records, struct slow_cpus *out)
{
    for (size_t i = 0; i < records->group_count; i++) {
        const struct ray_group *group = &records->groups[i];
        const struct ray_job *job = why_records_job(records, group->job_id);
        for (size_t k = 0; k < group->bundle_count; k++)
            add_holder(out, ray_resources_amount(&group->bundles[k], "CPU"), false,
                       job ? job->start_ms * 1000 : 0, job ? job->end_ms * 1000 : 0);
    }
}

static int compare_changes(const void *left, const void *right)
{
    const struct slow_change *a = left, *b = right;
    return (a->at_us > b->at_us) - (a->at_us < b->at_us);
}

static void add_up(struct slow_cpus *out)
{
    if (out->count)
        qsort(out->changes, out->count, sizeof *out->changes, compare_changes);
    for (size_t i = 1; i < out->count; i++) {
        out->changes[i].least += out->changes[i - 1].least;
        out->changes[i].most += out->changes[i - 1].most;
        out->changes[i].starting += out->changes[i - 1].starting;
    }
}

void slow_cpus_make(const struct why_records *records, int64_t since_us, struct slow_cpus *out)
{
    static const enum why_part parts[] = {WHY_NODES, WHY_RESOURCES, WHY_WORKERS, WHY_ACTORS,
                                          WHY_GROUPS};
    *out = (struct slow_cpus){0};
    add_nodes(records, since_us, out);
    if (records->problems[WHY_NODES].code || records->problems[WHY_RESOURCES].code)
        out->total = -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (records->problems[parts[i]].code)
            out->problem = records->problems[parts[i]].what;
    add_tasks(records, out);
    add_actors(records, out);
    add_starts(records, out);
    add_groups(records, out);
    add_up(out);
}

void slow_cpus_clear(struct slow_cpus *cpus)
{
    free(cpus->changes);
    *cpus = (struct slow_cpus){0};
}

/* --- times --- */

static bool is_so(const struct slow_times *times, const struct slow_change *change)
{
    const double rounding = 1e-9;
    if (times->state == SLOW_TAKEN)
        return change->most + rounding < times->need;
    if (times->state == SLOW_READY && change->starting)
        return false;
    /* With so many for each node, one of the nodes has enough, wherever they are. */
    return change->least + rounding >= times->need * (double)times->cpus->nodes;
}

void slow_cpus_times_make(const struct slow_cpus *cpus, enum slow_state state, double need,
                          struct slow_times *out)
{
    *out = (struct slow_times){cpus, state, need, mem_array(cpus->count, sizeof(int64_t))};
    for (size_t i = 1; i < cpus->count; i++) {
        const struct slow_change *last = &cpus->changes[i - 1];
        out->before[i] =
            out->before[i - 1] + (is_so(out, last) ? cpus->changes[i].at_us - last->at_us : 0);
    }
}

static int64_t up_to(const struct slow_times *times, int64_t at_us)
{
    const struct slow_cpus *cpus = times->cpus;
    size_t low = 0, high = cpus->count; /* the first change behind it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cpus->changes[middle].at_us <= at_us)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const struct slow_change *last = &cpus->changes[low - 1];
    return times->before[low - 1] + (is_so(times, last) ? at_us - last->at_us : 0);
}

int64_t slow_cpus_times_us(const struct slow_times *times, int64_t from_us, int64_t to_us)
{
    return up_to(times, to_us) - up_to(times, from_us);
}

void slow_cpus_times_clear(struct slow_times *times)
{
    free(times->before);
    *times = (struct slow_times){0};
}
