/* The rule for calls that a task makes one after the other. */
#include "relay/slow/slow_rules.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_LOOP = 5 }; /* with fewer calls it says nothing */

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Calls of one parent, each submitted after all before were over. */
struct chain {
    const struct slow_run *first, *last;
    size_t calls;
    int64_t waited_us, longest_us; /* from the submission of a call to its end */
    int64_t over_us;               /* of the parent's calls so far; INT64_MAX: one goes on */
};

static int compare_calls(const void *left, const void *right)
{
    const struct slow_run *a = *(const struct slow_run *const *)left,
                          *b = *(const struct slow_run *const *)right;
    int order = strcmp(a->attempt->parent_task_id, b->attempt->parent_task_id);
    return order ? order
                 : (a->submitted_us > b->submitted_us) - (a->submitted_us < b->submitted_us);
}

/* Ray may record the submission of a call just before the end of the one before: so much before. */
static int64_t early_us(const struct chain *chain)
{
    const int64_t most = 1000, part = (chain->last->over_us - chain->last->submitted_us) / 4;
    return part < most ? part : most;
}

/* A retry is not another call. After a pause that is longer than a call, it is another loop. */
static bool chain_continues(const struct chain *chain, const struct slow_run *run)
{
    return chain->last && slow_runs_same_parent(chain->last, run) &&
           strcmp(chain->last->attempt->task_id, run->attempt->task_id) != 0 &&
           chain->over_us < INT64_MAX && run->submitted_us >= chain->over_us - early_us(chain) &&
           run->submitted_us - chain->over_us <= chain->longest_us;
}

static void chain_add(struct chain *chain, const struct slow_run *run)
{
    int64_t over = run->over_us ? run->over_us : INT64_MAX;
    int64_t before = chain->last && slow_runs_same_parent(chain->last, run) ? chain->over_us : 0;
    if (!chain_continues(chain, run))
        *chain = (struct chain){.first = run};
    chain->last = run;
    chain->over_us = longer(before, over);
    if (over == INT64_MAX)
        return;
    chain->calls++;
    chain->waited_us += over - run->submitted_us;
    chain->longest_us = longer(chain->longest_us, over - run->submitted_us);
}

/* The loops of a group's calls. */
struct loops {
    const struct slow_job *job;
    struct slow_times room; /* in which another such call could have run */
    struct chain longest;
    size_t count, parents; /* of all of them */
    int64_t cost_us;
    const struct slow_run *last;
};

/* True if the parent did little but wait for these calls, and nearly all the while another one
 * could have run. */
static bool is_loop(const struct loops *loops, const struct chain *chain)
{
    int64_t from = chain->first->submitted_us, length = chain->over_us - from;
    return chain->calls >= LEAST_LOOP && chain->over_us < INT64_MAX &&
           2 * chain->waited_us >= length &&
           10 * slow_cpus_times_us(&loops->room, from, chain->over_us) >= 8 * length;
}

static void loops_add(struct loops *loops, const struct chain *chain)
{
    loops->count++;
    loops->parents += !loops->last || !slow_runs_same_parent(loops->last, chain->last);
    loops->last = chain->last;
    loops->cost_us += chain->waited_us - chain->longest_us;
    if (chain->waited_us > loops->longest.waited_us)
        loops->longest = *chain;
}

/* `calls` are in the order of their parents and submissions. */
static void find_loops(const struct slow_run *const *calls, size_t count, struct loops *loops)
{
    struct chain chain = {0};
    for (size_t i = 0; i < count; i++) {
        chain_add(&chain, calls[i]);
        bool goes_on = i + 1 < count && chain_continues(&chain, calls[i + 1]);
        if (!goes_on && is_loop(loops, &chain))
            loops_add(loops, &chain);
    }
}

static void find_all(const struct slow_group *group, struct loops *loops)
{
    const struct slow_run **calls = mem_array(group->count, sizeof(const struct slow_run *));
    const struct ray_resources *needs = &group->runs->attempt->resources;
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->runs[i].submitted_us && group->runs[i].attempt->type == RAY_NORMAL_TASK)
            calls[count++] = &group->runs[i];
    if (count >= LEAST_LOOP) {
        qsort(calls, count, sizeof(const struct slow_run *), compare_calls);
        slow_cpus_times_make(&loops->job->cpus, SLOW_FREE, ray_resources_amount(needs, "CPU"),
                             &loops->room);
        find_loops(calls, count, loops);
        slow_cpus_times_clear(&loops->room);
    }
    free(calls);
}

/* Of other resources it is not known when they were free. */
static bool needs_only_cpus(const struct slow_group *group)
{
    const struct ray_resources *needs = &group->runs->attempt->resources;
    for (size_t i = 0; i < needs->count; i++)
        if (!text_equal(needs->items[i].name, "CPU"))
            return false;
    return true;
}

bool slow_loop_find(const struct slow_job *job, const struct slow_group *group,
                    struct slow_finding *out)
{
    struct loops loops = {.job = job};
    if (needs_only_cpus(group))
        find_all(group, &loops);
    if (!loops.count)
        return false;
    const struct ray_attempt *parent =
        why_records_attempt(job->records, loops.last->attempt->parent_task_id);
    out->name = mem_string(parent && parent->type != RAY_DRIVER_TASK ? parent->name : "driver");
    out->count = loops.parents;
    out->execute_us = -1;
    out->cost_us = loops.cost_us;
    if (loops.count == 1)
        out->cause = mem_format("ray.get in a loop: its %zu calls of %s never overlap",
                                loops.longest.calls, group->name);
    else
        out->cause = mem_format("ray.get in %zu loops: up to %zu calls of %s never overlap",
                                loops.count, loops.longest.calls, group->name);
    out->advice = mem_string("submit all first, if no call needs the result of the one before");
    slow_rules_figure(out, "loops", (double)loops.count);
    slow_rules_figure(out, "calls", (double)loops.longest.calls);
    return true;
}
