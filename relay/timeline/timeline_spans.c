#include "relay/timeline/timeline_spans.h"

#include "base/text.h"
#include "relay/why_records/why_names.h"

static int64_t state_us(const struct ray_attempt *attempt, enum ray_attempt_state state)
{
    return attempt->timing->state_ns[state] / 1000;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When the attempt became known to be over; 0 if it is not. */
static int64_t end_us(const struct ray_attempt *attempt)
{
    int64_t failed = state_us(attempt, RAY_ATTEMPT_FAILED);
    return failed ? failed : state_us(attempt, RAY_ATTEMPT_FINISHED);
}

static int64_t first_submission(const struct ray_attempt *attempt)
{
    static const enum ray_attempt_state states[] = {
        RAY_ATTEMPT_PENDING_ARGS, RAY_ATTEMPT_PENDING_NODE, RAY_ATTEMPT_SUBMITTED};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (state_us(attempt, states[i]))
            return state_us(attempt, states[i]);
    return 0;
}

/* When the process, the owner or the job of an attempt, of which Ray was told nothing more, has
 * ended; 0 if that is not known. */
static int64_t lost_us(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    const struct ray_node *node = why_records_node(records, attempt->node_id);
    const struct ray_job *job = why_records_job(records, attempt->job_id);
    const struct ray_worker *owner = why_dead_owner_of_task(records, attempt);
    int64_t owner_end_ms = owner ? why_records_end_ms(records, owner) : 0;
    if (worker && worker->end_ms)
        return worker->end_ms * 1000;
    if (node && !node->is_alive)
        return node->end_ms * 1000;
    if (owner_end_ms)
        return owner_end_ms * 1000;
    return job && job->is_dead ? job->end_ms * 1000 : 0;
}

static int64_t last_event(const struct ray_attempt *attempt)
{
    int64_t last = 0;
    for (size_t i = 0; i < attempt->timing->event_count; i++)
        last = later(last, attempt->timing->events[i].end_ns / 1000);
    return last;
}

static int64_t first_event(const struct ray_attempt *attempt)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < attempt->timing->event_count; i++)
        if (attempt->timing->events[i].start_ns / 1000 < first)
            first = attempt->timing->events[i].start_ns / 1000;
    return first;
}

/* The event of the whole execution: it ends with the execution, and has its exact times. */
static const struct ray_event *whole_event(const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < attempt->timing->event_count; i++)
        if (text_starts(attempt->timing->events[i].name, "task::"))
            return &attempt->timing->events[i];
    return NULL;
}

/* --- runs --- */

static bool job_is_over(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_job *job = why_records_job(records, attempt->job_id);
    return job && job->is_dead;
}

static bool runs(const struct why_records *records, const struct ray_attempt *attempt)
{
    return attempt->type == RAY_DRIVER_TASK ? !job_is_over(records, attempt)
                                            : why_records_is_running(records, attempt);
}

/* How the span ends; `goes_on` if the attempt is not over. */
static void set_end(const struct why_records *records, const struct ray_attempt *attempt,
                    bool goes_on, struct timeline_span *out)
{
    out->end_us = end_us(attempt);
    if (out->end_us) {
        out->end = state_us(attempt, RAY_ATTEMPT_FAILED) ? TIMELINE_FAILED : TIMELINE_FINISHED;
    } else if (goes_on) {
        out->end = TIMELINE_GOES_ON;
        out->end_us = records->now_ms * 1000;
    } else {
        out->end = TIMELINE_UNKNOWN;
        out->end_us = lost_us(records, attempt);
    }
}

static bool is_paused(const struct why_records *records, const struct timeline_span *run)
{
    const struct ray_worker *worker = why_records_worker(records, run->attempt->worker_id);
    return run->end == TIMELINE_GOES_ON && worker && worker->paused_threads > 0;
}

/* The attempt of a driver names no process. */
static void set_process(const struct why_records *records, const struct ray_attempt *attempt,
                        struct timeline_span *out)
{
    const struct ray_worker *driver = attempt->type == RAY_DRIVER_TASK && !*attempt->worker_id
                                          ? why_driver_of_job(records, attempt->job_id)
                                          : NULL;
    out->node_id = driver ? driver->node_id : attempt->node_id;
    out->worker_id = driver ? driver->worker_id : attempt->worker_id;
}

bool timeline_run_of(const struct why_records *records, const struct ray_attempt *attempt,
                     struct timeline_span *out)
{
    int64_t start = state_us(attempt, RAY_ATTEMPT_RUNNING);
    const struct ray_event *whole = whole_event(attempt);
    *out = (struct timeline_span){
        .kind = TIMELINE_RUN, .name = attempt->name, .attempt = attempt, .start_us = start};
    set_process(records, attempt, out);
    if (!start && *attempt->worker_id && end_us(attempt)) {
        out->start_us = state_us(attempt, RAY_ATTEMPT_SUBMITTED);
        out->start_unknown = !whole;
    }
    if (!out->start_us && !attempt->timing->event_count)
        return false;
    set_end(records, attempt, runs(records, attempt), out);
    out->is_paused = is_paused(records, out);
    if (whole) {
        out->start_us = whole->start_ns / 1000;
        out->end_us = whole->end_ns / 1000;
        return true;
    }
    int64_t first = first_event(attempt);
    if (!out->start_us || first < out->start_us)
        out->start_us = first;
    out->end_us = later(later(out->end_us, last_event(attempt)), out->start_us);
    return true;
}

/* --- waits --- */

bool timeline_wait_of(const struct why_records *records, const struct ray_attempt *attempt,
                      struct timeline_span *out)
{
    struct timeline_span run;
    *out = (struct timeline_span){.kind = TIMELINE_WAIT,
                                  .name = attempt->name,
                                  .attempt = attempt,
                                  .start_us = first_submission(attempt)};
    if (!out->start_us || attempt->type == RAY_DRIVER_TASK)
        return false;
    if (timeline_run_of(records, attempt, &run))
        out->end_us = run.start_us;
    else
        set_end(records, attempt,
                !why_records_job_is_over(records, attempt) &&
                    !why_dead_owner_of_task(records, attempt),
                out);
    return out->end_us > out->start_us; /* the clocks of two nodes may differ by more */
}

size_t timeline_phases_of(const struct timeline_span *wait, struct timeline_span *out)
{
    static const struct {
        enum ray_attempt_state state;
        const char *name;
    } phases[] = {{RAY_ATTEMPT_PENDING_ARGS, "waits for its arguments"},
                  {RAY_ATTEMPT_PENDING_NODE, "waits for a node and a worker"},
                  {RAY_ATTEMPT_SUBMITTED, "waits in its process"}};
    enum { SHORTEST_US = 1000 };
    size_t count = 0, total = sizeof phases / sizeof *phases;
    for (size_t i = 0; i < total; i++) {
        int64_t start = state_us(wait->attempt, phases[i].state), end = 0;
        for (size_t k = i + 1; k < total && !end; k++)
            end = state_us(wait->attempt, phases[k].state);
        if (!end || end > wait->end_us)
            end = wait->end_us;
        if (start < wait->start_us || end - start < SHORTEST_US)
            continue;
        out[count] = *wait;
        out[count].kind = TIMELINE_PHASE;
        out[count].name = phases[i].name;
        out[count].start_us = start;
        out[count++].end_us = end;
    }
    return count;
}
