#include "relay/slow/slow_runs.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/timeline/timeline_spans.h"

#include <stdlib.h>
#include <string.h>

/* --- one run --- */

static int64_t state_us(const struct ray_attempt *attempt, enum ray_attempt_state state)
{
    return attempt->timing->state_ns[state] / 1000;
}

/* A process that is killed after its last call may leave a failure behind the finish. */
static int64_t over_us(const struct ray_attempt *attempt)
{
    int64_t finished = state_us(attempt, RAY_ATTEMPT_FINISHED);
    return finished ? finished : state_us(attempt, RAY_ATTEMPT_FAILED);
}

static int64_t execute_us(const struct ray_attempt *attempt)
{
    const struct ray_timing *timing = attempt->timing;
    if (!timing->state_ns[RAY_ATTEMPT_FINISHED])
        return -1;
    for (size_t i = 0; i < timing->event_count; i++)
        if (text_equal(timing->events[i].name, "task:execute"))
            return (timing->events[i].end_ns - timing->events[i].start_ns) / 1000;
    return -1;
}

/* `whole`: the time in which the attempt waited or ran. */
static bool read_run(const struct why_records *records, const struct ray_attempt *attempt,
                     struct slow_run *out, struct slow_interval *whole)
{
    struct timeline_span run, wait;
    bool ran = timeline_run_of(records, attempt, &run);
    bool waited = timeline_wait_of(records, attempt, &wait);
    if (!ran && !waited)
        return false;
    *out = (struct slow_run){
        .attempt = attempt,
        .submitted_us = state_us(attempt, RAY_ATTEMPT_PENDING_ARGS),
        .queued_us = state_us(attempt, RAY_ATTEMPT_PENDING_NODE),
        .sent_us = state_us(attempt, RAY_ATTEMPT_SUBMITTED),
        .over_us = over_us(attempt),
        .start_us = ran ? run.start_us : 0,
        .end_us = ran ? run.end_us : 0,
        .execute_us = ran ? execute_us(attempt) : -1,
    };
    *whole = (struct slow_interval){waited ? wait.start_us : run.start_us,
                                    ran ? run.end_us : wait.end_us};
    return true;
}

int64_t slow_runs_rest(const struct slow_run *run)
{
    return run->end_us - run->start_us - run->execute_us;
}

int64_t slow_runs_wait(const struct slow_run *run)
{
    if (!run->sent_us)
        return -1;
    if (run->attempt->type == RAY_ACTOR_TASK)
        return run->over_us && run->start_us
                   ? run->over_us - run->sent_us - (run->end_us - run->start_us)
                   : -1;
    return run->queued_us ? run->sent_us - run->queued_us : -1;
}

bool slow_runs_same_process(const struct slow_run *a, const struct slow_run *b)
{
    return strcmp(a->attempt->worker_id, b->attempt->worker_id) == 0;
}

bool slow_runs_same_parent(const struct slow_run *a, const struct slow_run *b)
{
    return strcmp(a->attempt->parent_task_id, b->attempt->parent_task_id) == 0;
}

/* --- order --- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_values(const void *left, const void *right)
{
    return compare_numbers(*(const int64_t *)left, *(const int64_t *)right);
}

int64_t slow_runs_median(int64_t *values, size_t count)
{
    if (!count)
        return -1;
    qsort(values, count, sizeof *values, compare_values);
    return values[count / 2];
}

static int compare_intervals(const void *left, const void *right)
{
    const struct slow_interval *a = left, *b = right;
    return compare_numbers(a->start_us, b->start_us);
}

static int compare_names(const void *left, const void *right)
{
    const struct slow_run *a = left, *b = right;
    int order = strcmp(a->attempt->name, b->attempt->name);
    return order ? order : compare_numbers(a->start_us, b->start_us);
}

static int compare_processes(const void *left, const void *right)
{
    const struct slow_run *a = *(const struct slow_run *const *)left,
                          *b = *(const struct slow_run *const *)right;
    int order = strcmp(a->attempt->worker_id, b->attempt->worker_id);
    return order ? order : compare_numbers(a->start_us, b->start_us);
}

int64_t slow_runs_covered(struct slow_interval *intervals, size_t count)
{
    int64_t covered = 0, end = 0;
    if (count)
        qsort(intervals, count, sizeof *intervals, compare_intervals);
    for (size_t i = 0; i < count; i++) {
        int64_t start = intervals[i].start_us > end ? intervals[i].start_us : end;
        if (intervals[i].end_us <= start)
            continue;
        covered += intervals[i].end_us - start;
        end = intervals[i].end_us;
    }
    return covered;
}

/* --- all runs --- */

static bool is_selected(const struct ray_attempt *attempt, const char *job_id)
{
    return attempt->timing && strcmp(attempt->job_id, job_id) == 0 &&
           (attempt->type == RAY_NORMAL_TASK || attempt->type == RAY_ACTOR_TASK);
}

static void collect(const struct why_records *records, const char *job_id, int64_t since_us,
                    struct slow_runs *out)
{
    struct slow_interval *intervals = mem_array(records->attempt_count, sizeof *intervals);
    const char *last_task = "";
    out->items = mem_array(records->attempt_count, sizeof *out->items);
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *attempt = &records->attempts[i];
        struct slow_run *run = &out->items[out->count];
        if (!is_selected(attempt, job_id) ||
            !read_run(records, attempt, run, &intervals[out->count]) ||
            intervals[out->count].end_us < since_us)
            continue;
        out->tasks += strcmp(last_task, attempt->task_id) != 0;
        last_task = attempt->task_id;
        out->running_us += run->end_us - run->start_us;
        out->started += run->start_us > 0;
        out->count++;
    }
    out->busy_us = slow_runs_covered(intervals, out->count);
    out->since_us = out->count ? intervals[0].start_us : 0;
    free(intervals);
}

static void fill_group(struct slow_group *group, int64_t *values)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->runs[i].execute_us >= 0)
            values[group->timed++] = group->runs[i].execute_us;
    group->execute_us = slow_runs_median(values, group->timed);
}

static void make_groups(struct slow_runs *out)
{
    int64_t *values = mem_array(out->count, sizeof *values);
    out->groups = mem_array(out->count, sizeof *out->groups);
    for (size_t i = 0, end; i < out->count; i = end) {
        const char *name = out->items[i].attempt->name;
        for (end = i + 1; end < out->count && strcmp(out->items[end].attempt->name, name) == 0;)
            end++;
        struct slow_group *group = &out->groups[out->group_count++];
        *group = (struct slow_group){.name = name, .runs = &out->items[i], .count = end - i};
        fill_group(group, values);
    }
    free(values);
}

void slow_runs_make(const struct why_records *records, const char *job_id, int64_t since_us,
                    struct slow_runs *out)
{
    *out = (struct slow_runs){0};
    collect(records, job_id, since_us, out);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_names);
    make_groups(out);
    out->by_process = mem_array(out->started, sizeof(const struct slow_run *));
    for (size_t i = 0, at = 0; i < out->count; i++)
        if (out->items[i].start_us)
            out->by_process[at++] = &out->items[i];
    if (out->started)
        qsort(out->by_process, out->started, sizeof(const struct slow_run *), compare_processes);
}

void slow_runs_clear(struct slow_runs *runs)
{
    free(runs->items);
    free(runs->groups);
    free(runs->by_process);
    *runs = (struct slow_runs){0};
}
