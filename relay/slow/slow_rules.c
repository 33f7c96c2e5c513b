#include "relay/slow/slow_rules.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* With fewer tasks a rule says nothing. */
enum { LEAST_SMALL = 100, LEAST_QUEUE = 10, LEAST_BATCH = 5 };
enum { MS = 1000 };

void slow_rules_figure(struct slow_finding *out, const char *name, double value)
{
    out->figures[out->figure_count++] = (struct slow_figure){name, value};
}

void slow_rules_ms(struct slow_finding *out, const char *name, int64_t us)
{
    slow_rules_figure(out, name, (double)us / 1000);
}

void slow_rules_group(struct slow_finding *out, const struct slow_group *group)
{
    out->name = mem_string(group->name);
    out->count = group->count;
    out->execute_us = group->execute_us;
}

static bool is_of(const struct slow_run *run, const struct slow_group *group)
{
    return run >= group->runs && run < group->runs + group->count;
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- tasks too small --- */

/* The time that Ray needs from the end of the user's code in `run` to its beginning in the run
 * behind it in the same process; -1 if that run may not have waited for it. */
static int64_t overhead_of(const struct slow_run *run, const struct slow_run *next)
{
    int64_t gap = next->start_us - run->end_us;
    if (run->execute_us < 0 || gap < 0 || slow_runs_wait(next) < gap ||
        !slow_runs_same_process(run, next))
        return -1;
    return gap + slow_runs_rest(run);
}

/* The tasks of one batch that take ten times as long as Ray's own part, as 10, 100 or 1000. */
static int batch_of(int64_t overhead_us, int64_t execute_us)
{
    int64_t enough = 10 * overhead_us / longer(execute_us, 1);
    return enough > 100 ? 1000 : enough > 10 ? 100 : 10;
}

/* Collects the overheads of the group's runs; `processes` in which they were. */
static size_t collect_overheads(const struct slow_job *job, const struct slow_group *group,
                                int64_t *overheads, size_t *processes)
{
    const struct slow_run *last = NULL;
    size_t count = 0;
    *processes = 0;
    for (size_t i = 0; i < job->runs.started; i++) {
        const struct slow_run *run = job->runs.by_process[i];
        if (!is_of(run, group))
            continue;
        const struct slow_run *next =
            i + 1 < job->runs.started ? job->runs.by_process[i + 1] : NULL;
        int64_t overhead = next && is_of(next, group) ? overhead_of(run, next) : -1;
        if (overhead >= 0)
            overheads[count++] = overhead;
        *processes += !last || !slow_runs_same_process(last, run);
        last = run;
    }
    return count;
}

static bool find_small(const struct slow_job *job, const struct slow_group *group,
                       struct slow_finding *out)
{
    char span[WHY_SPAN_TEXT];
    size_t processes;
    if (group->timed < LEAST_SMALL || group->execute_us >= (int64_t)10 * MS)
        return false;
    int64_t *overheads = mem_array(group->count, sizeof *overheads);
    size_t count = collect_overheads(job, group, overheads, &processes);
    int64_t overhead = slow_runs_median(overheads, count);
    free(overheads);
    if (!processes || count < group->timed / 2 || overhead < group->execute_us)
        return false;
    slow_rules_group(out, group);
    out->cost_us = overhead * (int64_t)(group->count / processes);
    out->cause = mem_format("too small: Ray needs %s for each", slow_span(overhead, span));
    out->advice = mem_format("batch %d or more in one task", batch_of(overhead, group->execute_us));
    slow_rules_ms(out, "overhead_ms", overhead);
    return true;
}

/* --- one actor for all calls --- */

/* The calls of one process, one at a time. */
struct queue {
    const struct slow_run *last;
    size_t calls;
    int64_t busy_us, present_us; /* it worked; at least one call was there */
    int64_t over_us;             /* of all so far */
};

/* False if the call is not of the same process, or overlaps with the one before. */
static bool queue_add(struct queue *queue, const struct slow_run *run)
{
    if (queue->last &&
        (!slow_runs_same_process(queue->last, run) || run->start_us < queue->last->end_us - MS))
        return false;
    queue->last = run;
    queue->calls++;
    queue->busy_us += run->end_us - run->start_us;
    queue->present_us += longer(run->over_us - longer(run->sent_us, queue->over_us), 0);
    queue->over_us = longer(queue->over_us, run->over_us);
    return true;
}

static bool find_one_actor(const struct slow_job *job, const struct slow_group *group,
                           struct slow_finding *out)
{
    char span[WHY_SPAN_TEXT];
    struct queue queue = {0};
    bool is_one = group->timed >= LEAST_QUEUE;
    (void)job;
    int64_t *waits = mem_array(group->count, sizeof *waits);
    for (size_t i = 0; i < group->count && is_one; i++) {
        const struct slow_run *run = &group->runs[i];
        int64_t wait = slow_runs_wait(run);
        is_one = run->attempt->type == RAY_ACTOR_TASK;
        if (!is_one || run->execute_us < 0 || wait < 0)
            continue;
        waits[queue.calls] = wait;
        is_one = queue_add(&queue, run);
    }
    int64_t median = is_one ? slow_runs_median(waits, queue.calls) : -1;
    int64_t longest = median >= 0 ? waits[queue.calls - 1] : 0;
    free(waits);
    if (queue.calls < LEAST_QUEUE || median < 5 * group->execute_us ||
        10 * queue.busy_us < 8 * queue.present_us)
        return false;
    slow_rules_group(out, group);
    out->cost_us = queue.busy_us;
    out->cause = mem_format("one actor, one call at a time: the longest wait was %s",
                            slow_span(longest, span));
    out->advice = mem_string("more actors, or max_concurrency");
    slow_rules_ms(out, "median_wait_ms", median);
    slow_rules_ms(out, "longest_wait_ms", longest);
    return true;
}

/* --- one long task at the end --- */

/* True if both waited or ran at one time, for the same parent. */
static bool same_batch(const struct slow_run *a, const struct slow_run *b)
{
    return a->submitted_us && b->submitted_us && slow_runs_same_parent(a, b) &&
           a->submitted_us < b->over_us && b->submitted_us < a->over_us;
}

/* The start of the batch of the long task; 0 if there is none whose tasks ran in parallel. */
static int64_t batch_start(const struct slow_group *group, const struct slow_run *longest)
{
    int64_t start = 0, end = 0;
    size_t count = 0;
    bool parallel = false;
    for (size_t i = 0; i < group->count; i++) {
        const struct slow_run *run = &group->runs[i];
        if (run->execute_us < 0 || (run != longest && !same_batch(run, longest)))
            continue;
        if (!count++)
            start = run->start_us;
        parallel = parallel || run->start_us < end - MS;
        end = longer(end, run->end_us);
    }
    return count >= LEAST_BATCH && parallel ? start : 0;
}

/* How long it ran at its end while no other task of the job did, except those that have run since
 * before the batch, such as its parent. */
static int64_t alone_us(const struct slow_job *job, const struct slow_run *longest, int64_t since)
{
    int64_t alone_since = longest->start_us;
    for (size_t i = 0; i < job->runs.started; i++) {
        const struct slow_run *run = job->runs.by_process[i];
        bool is_around = run->start_us <= since && run->end_us >= longest->end_us;
        if (run != longest && !is_around && run->start_us < longest->end_us)
            alone_since = longer(alone_since, run->end_us);
    }
    return longest->end_us - alone_since;
}

static int compare_executions(const void *left, const void *right)
{
    const struct slow_run *a = *(const struct slow_run *const *)left,
                          *b = *(const struct slow_run *const *)right;
    return (a->execute_us < b->execute_us) - (a->execute_us > b->execute_us);
}

/* The tasks that take much longer than the others, the longest first; of many only these, as each
 * is compared with all runs of the job. The caller frees them. */
enum { MOST_LONG = 50 };
static const struct slow_run **long_ones(const struct slow_group *group, size_t *count)
{
    const struct slow_run **found = mem_array(group->count, sizeof(const struct slow_run *));
    *count = 0;
    for (size_t i = 0; i < group->count && group->timed >= LEAST_BATCH; i++)
        if (group->runs[i].execute_us > 5 * group->execute_us &&
            group->runs[i].attempt->type == RAY_NORMAL_TASK)
            found[(*count)++] = &group->runs[i];
    if (*count)
        qsort(found, *count, sizeof(const struct slow_run *), compare_executions);
    *count = *count < MOST_LONG ? *count : MOST_LONG;
    return found;
}

static bool find_uneven(const struct slow_job *job, const struct slow_group *group,
                        struct slow_finding *out)
{
    char span[WHY_SPAN_TEXT], alone_span[WHY_SPAN_TEXT];
    size_t count, tails = 0;
    int64_t alone = 0, longest = 0;
    const struct slow_run **found = long_ones(group, &count);
    for (size_t i = 0; i < count; i++) {
        int64_t start = batch_start(group, found[i]);
        int64_t tail = start ? alone_us(job, found[i], start) : 0;
        if (tail < (int64_t)100 * MS || tail < 2 * group->execute_us)
            continue;
        alone += tail;
        longest = tails++ ? longest : found[i]->execute_us;
    }
    free(found);
    if (!tails)
        return false;
    slow_rules_group(out, group);
    out->cost_us = alone;
    slow_span(longest, span);
    slow_span(alone, alone_span);
    out->cause = tails == 1 ? mem_format("one took %s, %s of it after all others were done", span,
                                         alone_span)
                            : mem_format("%zu took up to %s, %s in all after all others were done",
                                         tails, span, alone_span);
    out->advice = mem_string("split it, or start it first");
    slow_rules_ms(out, "longest_ms", longest);
    slow_rules_ms(out, "alone_ms", alone);
    return true;
}

/* --- the table --- */

const struct slow_rule *slow_rules_all(size_t *count)
{
    static const struct slow_rule rules[] = {
        {"get_loop", "ray.get in a loop", false, true, slow_loop_find},
        {"too_small", "tasks too small", false, false, find_small},
        {"one_actor", "one actor for all calls", false, false, find_one_actor},
        {"uneven", "one long task at the end", false, false, find_uneven},
        {"waits_cpus_free", "waits while CPUs are free", false, true, slow_waits_find_free},
        {"waits_cpus_taken", "waits for CPUs that are taken", false, true, slow_waits_find_taken},
        {"process_starts", "slow starts of processes", true, false, slow_waits_find_starts},
    };
    *count = sizeof rules / sizeof *rules;
    return rules;
}
