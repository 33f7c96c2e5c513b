/* The rules for what a task waits for before it runs: a node, and a process. */
#include "relay/slow/slow_rules.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

/* With fewer tasks, or processes, a rule says nothing. */
enum { LEAST_WAITS = 5, LEAST_LATER = 5, LEAST_PROCESSES = 2 };
enum { SECOND = 1000000 };

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- waits for a node --- */

/* How long the run waited for nothing but the start of its process: it was sent there as soon as
 * the process was there. 0 if it did not. */
static int64_t launch_wait(const struct slow_job *job, const struct slow_run *run)
{
    const struct ray_worker *worker = why_records_worker(job->records, run->attempt->worker_id);
    if (!worker || !worker->launch_ms || !run->queued_us)
        return 0;
    int64_t start = worker->start_ms * 1000;
    int64_t wait = start - longer(run->queued_us, worker->launch_ms * 1000);
    return wait > 0 && start <= run->sent_us && run->sent_us - start < wait / 2 ? wait : 0;
}

/* True for a wait for a node, and for nothing else that is known. */
static bool is_wait(const struct slow_job *job, const struct slow_run *run)
{
    return run->attempt->type == RAY_NORMAL_TASK && !*run->attempt->group_id &&
           slow_runs_wait(run) >= 0 && !launch_wait(job, run);
}

/* The median of the waits, -1 if there are too few; `covered`: when at least one task waited. */
static int64_t median_wait(const struct slow_job *job, const struct slow_group *group,
                           int64_t *covered)
{
    size_t count = 0;
    int64_t *waits = mem_array(group->count, sizeof *waits);
    struct slow_interval *intervals = mem_array(group->count, sizeof *intervals);
    for (size_t i = 0; i < group->count; i++) {
        const struct slow_run *run = &group->runs[i];
        if (!is_wait(job, run))
            continue;
        intervals[count] = (struct slow_interval){run->queued_us, run->sent_us};
        waits[count++] = slow_runs_wait(run);
    }
    int64_t median = count >= LEAST_WAITS ? slow_runs_median(waits, count) : -1;
    *covered = slow_runs_covered(intervals, count);
    free(waits);
    free(intervals);
    return median;
}

/* True if CPUs were in this state in nearly all of the time in which the group's tasks waited. */
static bool was_so(const struct slow_job *job, const struct slow_group *group,
                   enum slow_state state)
{
    int64_t waited = 0, so = 0;
    struct slow_times times;
    slow_cpus_times_make(&job->cpus, state,
                         ray_resources_amount(&group->runs->attempt->resources, "CPU"), &times);
    for (size_t i = 0; i < group->count; i++) {
        const struct slow_run *run = &group->runs[i];
        if (!is_wait(job, run))
            continue;
        waited += slow_runs_wait(run);
        so += slow_cpus_times_us(&times, run->queued_us, run->sent_us);
    }
    slow_cpus_times_clear(&times);
    return 10 * so >= 9 * waited;
}

/* `factor`: it waits so many times as long as it executes. */
static int64_t find_wait(const struct slow_job *job, const struct slow_group *group,
                         enum slow_state state, int factor, struct slow_finding *out)
{
    int64_t covered, median;
    if (group->timed < LEAST_WAITS)
        return -1;
    median = median_wait(job, group, &covered);
    if (median < SECOND || median < factor * group->execute_us || !was_so(job, group, state))
        return -1;
    slow_rules_group(out, group);
    out->cost_us = covered;
    slow_rules_ms(out, "median_wait_ms", median);
    return median;
}

bool slow_waits_find_free(const struct slow_job *job, const struct slow_group *group,
                          struct slow_finding *out)
{
    char span[WHY_SPAN_TEXT];
    const struct ray_resources *needs = &group->runs->attempt->resources;
    const struct ray_resource *other = NULL;
    int64_t median = find_wait(job, group, SLOW_READY, 1, out);
    if (median < 0)
        return false;
    for (size_t i = 0; i < needs->count; i++)
        if (!text_equal(needs->items[i].name, "CPU"))
            other = &needs->items[i];
    slow_span(median, span);
    if (other) {
        out->cause = mem_format("each waited %s for a node with %s: %g, though CPUs were free "
                                "(median)",
                                span, other->name, other->amount);
        out->advice = mem_string("more of it, or ask for less");
    } else {
        out->cause = mem_format("each waited %s for a node, though CPUs were free (median)", span);
        out->advice = mem_format("raydbg why %s, while one waits, says for what", group->name);
    }
    return true;
}

bool slow_waits_find_taken(const struct slow_job *job, const struct slow_group *group,
                           struct slow_finding *out)
{
    char span[WHY_SPAN_TEXT];
    int64_t median = find_wait(job, group, SLOW_TAKEN, 10, out);
    if (median < 0)
        return false;
    out->cause =
        mem_format("each waited %s for a CPU: all were taken (median)", slow_span(median, span));
    out->advice = mem_string("more CPUs, or a smaller num_cpus");
    return true;
}

/* --- starts of processes --- */

/* The cost of the job's processes until their first task ran as later ones do. */
struct starts {
    size_t count;
    int64_t launch_us, first_us; /* sums: until the process was there; in its first task */
    int64_t running_us;          /* the sum of all runs */
};

static bool is_first(const struct slow_job *job, size_t i)
{
    return i == 0 || !slow_runs_same_process(job->runs.by_process[i - 1], job->runs.by_process[i]);
}

/* The time that Ray takes besides the user's code for a task that is not the first of its process;
 * -1 if there are too few of them. */
static int64_t usual_rest(const struct slow_job *job)
{
    int64_t *rests = mem_array(job->runs.started, sizeof *rests);
    size_t count = 0;
    for (size_t i = 0; i < job->runs.started; i++) {
        const struct slow_run *run = job->runs.by_process[i];
        if (run->attempt->type == RAY_NORMAL_TASK && !is_first(job, i) && run->execute_us >= 0)
            rests[count++] = slow_runs_rest(run);
    }
    int64_t usual = count >= LEAST_LATER ? slow_runs_median(rests, count) : -1;
    free(rests);
    return usual;
}

static void add_start(const struct slow_job *job, const struct slow_run *run, int64_t usual,
                      struct starts *starts)
{
    starts->count++;
    starts->launch_us += launch_wait(job, run);
    if (run->execute_us >= 0 && usual >= 0)
        starts->first_us += longer(slow_runs_rest(run) - usual, 0);
}

bool slow_waits_find_starts(const struct slow_job *job, const struct slow_group *group,
                            struct slow_finding *out)
{
    char span[WHY_SPAN_TEXT], launch[WHY_SPAN_TEXT], first[WHY_SPAN_TEXT];
    struct starts starts = {0};
    int64_t usual = usual_rest(job);
    (void)group;
    for (size_t i = 0; i < job->runs.started; i++) {
        const struct slow_run *run = job->runs.by_process[i];
        if (run->attempt->type != RAY_NORMAL_TASK)
            continue;
        starts.running_us += run->end_us - run->start_us;
        if (is_first(job, i))
            add_start(job, run, usual, &starts);
    }
    int64_t count = (int64_t)starts.count, cost = starts.launch_us + starts.first_us;
    if (count < LEAST_PROCESSES || cost < count * SECOND || 9 * cost < starts.running_us)
        return false;
    out->name = mem_string("new processes");
    out->count = starts.count;
    out->execute_us = -1;
    out->cost_us =
        (int64_t)((double)job->runs.busy_us * (double)cost / (double)(cost + starts.running_us));
    out->cause =
        mem_format("each start costs %s (average): %s until it is there, %s more in its "
                   "first task outside your code",
                   slow_span(cost / count, span), slow_span(starts.launch_us / count, launch),
                   slow_span(starts.first_us / count, first));
    out->advice = mem_string("import less, or have fewer processes that do more");
    slow_rules_ms(out, "start_ms", cost / count);
    slow_rules_ms(out, "launch_ms", starts.launch_us / count);
    return true;
}
