#include "relay/timeline/timeline.h"

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"
#include "relay/timeline/timeline_spans.h"

#include <stdlib.h>
#include <string.h>

/* A timeline while it is made. */
struct draft {
    const struct why_records *records;
    struct timeline *out;
    size_t room, lane_room;
    struct timeline_span *runs, *waits;
    size_t run_count, wait_count;
    const struct timeline_pause *pauses;
    struct hash_index workers; /* `pauses`, by worker id */
};

static bool is_selected(const struct ray_attempt *attempt, const char *job)
{
    return attempt->timing && (!job || job_id_is(attempt->job_id, job));
}

static void count_run(struct timeline *out, const struct timeline_span *run)
{
    if (run->attempt->type == RAY_DRIVER_TASK)
        return;
    out->running += run->end == TIMELINE_GOES_ON;
    out->paused += run->is_paused;
}

/* --- pauses --- */

static void index_pauses(struct draft *draft, const struct timeline_pauses *pauses)
{
    draft->pauses = pauses ? pauses->items : NULL;
    for (size_t i = 0; pauses && i < pauses->count; i++)
        hash_index_add(&draft->workers, hash_text(pauses->items[i].worker_id, 0), i);
}

/* The next pause of the run's task, or of a task that is not known, in the run's process; NULL:
 * there are no more. `cursor` starts at 0. */
static const struct timeline_pause *next_pause(const struct draft *draft,
                                               const struct timeline_span *run, size_t *cursor)
{
    uintptr_t item;
    while (*run->worker_id &&
           hash_index_next(&draft->workers, hash_text(run->worker_id, 0), cursor, &item)) {
        const struct timeline_pause *pause = &draft->pauses[item];
        if (strcmp(pause->worker_id, run->worker_id) == 0 &&
            (!*pause->task_id || strcmp(pause->task_id, run->attempt->task_id) == 0))
            return pause;
    }
    return NULL;
}

/* A debugger that is attached hides from Ray that the process is paused. */
static void note_pause_now(const struct draft *draft, struct timeline_span *run)
{
    const struct timeline_pause *pause;
    size_t cursor = 0;
    while (run->end == TIMELINE_GOES_ON && (pause = next_pause(draft, run, &cursor)))
        run->is_paused = run->is_paused || !pause->end_us;
}

/* --- attempts --- */

static void collect(struct draft *draft, const char *job)
{
    const struct why_records *records = draft->records;
    draft->runs = mem_array(records->attempt_count, sizeof *draft->runs);
    draft->waits = mem_array(records->attempt_count, sizeof *draft->waits);
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *attempt = &records->attempts[i];
        if (!is_selected(attempt, job))
            continue;
        if (attempt->type != RAY_DRIVER_TASK) {
            draft->out->attempts++;
            draft->out->failed += attempt->timing->state_ns[RAY_ATTEMPT_FAILED] > 0;
        }
        struct timeline_span *run = &draft->runs[draft->run_count];
        if (timeline_run_of(records, attempt, run)) {
            note_pause_now(draft, run);
            count_run(draft->out, run);
            draft->run_count++;
        }
        if (timeline_wait_of(records, attempt, &draft->waits[draft->wait_count]))
            draft->out->waiting += draft->waits[draft->wait_count++].end == TIMELINE_GOES_ON;
    }
}

/* --- order --- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* By time; an enclosing span first. */
static int compare_times(const void *left, const void *right)
{
    const struct timeline_span *a = left, *b = right;
    int order = compare_numbers(a->start_us, b->start_us);
    return order ? order : compare_numbers(b->end_us, a->end_us);
}

/* By node, process and time. */
static int compare_runs(const void *left, const void *right)
{
    const struct timeline_span *a = left, *b = right;
    int order = strcmp(a->node_id, b->node_id);
    if (!order)
        order = strcmp(a->worker_id, b->worker_id);
    return order ? order : compare_times(a, b);
}

static int compare_spans(const void *left, const void *right)
{
    const struct timeline_span *a = left, *b = right;
    int order = (a->lane > b->lane) - (a->lane < b->lane);
    if (!order)
        order = compare_times(a, b);
    return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static void sort(struct timeline_span *spans, size_t count,
                 int (*compare)(const void *, const void *))
{
    if (count)
        qsort(spans, count, sizeof *spans, compare);
}

/* --- lanes --- */

static void add_span(struct draft *draft, const struct timeline_span *span, size_t lane)
{
    struct timeline *out = draft->out;
    out->spans = mem_grow(out->spans, out->count, &draft->room, sizeof *out->spans);
    out->spans[out->count] = *span;
    out->spans[out->count++].lane = lane;
    if (!out->start_us || span->start_us < out->start_us)
        out->start_us = span->start_us;
    if (span->end_us > out->end_us)
        out->end_us = span->end_us;
}

static size_t add_lane(struct draft *draft, const struct timeline_lane *lane)
{
    struct timeline *out = draft->out;
    out->lanes = mem_grow(out->lanes, out->lane_count, &draft->lane_room, sizeof *out->lanes);
    out->lanes[out->lane_count] = *lane;
    return out->lane_count++;
}

/* The lanes of one process, or of the waiting attempts, and the time at which each becomes free. */
struct lane_set {
    struct timeline_lane model;
    size_t first, count, most; /* `most` 0: no limit */
    int64_t *free_us;
};

/* The first lane that is free at `start`, from `from` on; SIZE_MAX if there is none, and no more
 * may be made. */
static size_t take_lane(struct draft *draft, struct lane_set *set, size_t from, int64_t start,
                        int64_t end)
{
    size_t i = from;
    while (i < set->count && set->free_us[i] > start)
        i++;
    if (i == set->count) {
        if (set->most && i == set->most)
            return SIZE_MAX;
        struct timeline_lane lane = set->model;
        lane.number = i;
        size_t added = add_lane(draft, &lane);
        if (i == 0)
            set->first = added;
        set->free_us = mem_resize(set->free_us, ++set->count, sizeof *set->free_us);
    }
    set->free_us[i] = end;
    return set->first + i;
}

/* --- processes --- */

/* Spans while they are collected. */
struct span_list {
    struct timeline_span *items;
    size_t count, room;
};

static void span_list_add(struct span_list *list, const struct timeline_span *span)
{
    list->items = mem_grow(list->items, list->count, &list->room, sizeof *list->items);
    list->items[list->count++] = *span;
}

static void list_events(const struct timeline_span *run, struct span_list *out)
{
    const struct ray_timing *timing = run->attempt->timing;
    for (size_t i = 0; i < timing->event_count; i++) {
        if (text_starts(timing->events[i].name, "task::") && run->attempt->type != RAY_DRIVER_TASK)
            continue; /* that is the run itself */
        span_list_add(out, &(struct timeline_span){.kind = TIMELINE_EVENT,
                                                   .start_us = timing->events[i].start_ns / 1000,
                                                   .end_us = timing->events[i].end_ns / 1000,
                                                   .name = timing->events[i].name,
                                                   .attempt = run->attempt});
    }
}

/* Of each pause, the part within the run. */
static void list_pauses(const struct draft *draft, const struct timeline_span *run,
                        struct span_list *out)
{
    const struct timeline_pause *pause;
    size_t cursor = 0;
    while ((pause = next_pause(draft, run, &cursor))) {
        struct timeline_span span = {.kind = TIMELINE_PAUSE,
                                     .start_us = pause->start_us,
                                     .end_us = pause->end_us ? pause->end_us : run->end_us,
                                     .name = "paused",
                                     .attempt = run->attempt,
                                     .pause = pause};
        if (span.start_us < run->start_us)
            span.start_us = run->start_us;
        if (span.end_us > run->end_us)
            span.end_us = run->end_us;
        if (span.start_us < span.end_us)
            span_list_add(out, &span);
    }
}

/* The open spans of a lane, the innermost last. */
struct nest {
    int64_t *ends;
    size_t count, room;
};

/* False if the span would cross the nest's. */
static bool nest_add(struct nest *nest, const struct timeline_span *span)
{
    while (nest->count > 1 && nest->ends[nest->count - 1] <= span->start_us)
        nest->count--;
    if (nest->count && span->end_us > nest->ends[nest->count - 1])
        return false;
    nest->ends = mem_grow(nest->ends, nest->count, &nest->room, sizeof *nest->ends);
    nest->ends[nest->count++] = span->end_us;
    return true;
}

/* Puts what happened within a run into its lane; what does not fit there becomes `strays`. */
static void add_inside(struct draft *draft, const struct timeline_span *run, size_t lane,
                       struct span_list *strays)
{
    struct span_list inside = {0};
    struct nest nest = {0};
    list_events(run, &inside);
    list_pauses(draft, run, &inside);
    sort(inside.items, inside.count, compare_times);
    nest_add(&nest, run);
    for (size_t i = 0; i < inside.count; i++) {
        const struct timeline_span *span = &inside.items[i];
        if (span->start_us >= run->start_us && nest_add(&nest, span))
            add_span(draft, span, lane);
        else
            span_list_add(strays, span);
    }
    free(nest.ends);
    free(inside.items);
}

static void add_process(struct draft *draft, const struct timeline_span *runs, size_t count,
                        const struct timeline_lane *model)
{
    struct lane_set set = {.model = *model};
    struct span_list strays = {0};
    for (size_t i = 0; i < count; i++) {
        size_t lane = take_lane(draft, &set, 0, runs[i].start_us, runs[i].end_us);
        add_span(draft, &runs[i], lane);
        add_inside(draft, &runs[i], lane, &strays);
    }
    size_t own = set.count;
    sort(strays.items, strays.count, compare_times);
    for (size_t i = 0; i < strays.count; i++)
        add_span(draft, &strays.items[i],
                 take_lane(draft, &set, own, strays.items[i].start_us, strays.items[i].end_us));
    draft->out->processes++;
    free(strays.items);
    free(set.free_us);
}

static size_t node_index(struct draft *draft, const char *node_id)
{
    struct timeline *out = draft->out;
    for (size_t i = 0; i < out->node_count; i++)
        if (strcmp(out->nodes[i].node_id, node_id) == 0)
            return i;
    out->nodes = mem_resize(out->nodes, out->node_count + 1, sizeof *out->nodes);
    out->nodes[out->node_count] =
        (struct timeline_node){node_id, why_records_node(draft->records, node_id)};
    return out->node_count++;
}

static bool same_process(const struct timeline_span *a, const struct timeline_span *b)
{
    return strcmp(a->node_id, b->node_id) == 0 && strcmp(a->worker_id, b->worker_id) == 0;
}

static void add_runs(struct draft *draft)
{
    sort(draft->runs, draft->run_count, compare_runs);
    for (size_t i = 0, end; i < draft->run_count; i = end) {
        const struct timeline_span *run = &draft->runs[i];
        const struct ray_worker *worker = why_records_worker(draft->records, run->worker_id);
        struct timeline_lane model = {.node = node_index(draft, run->node_id),
                                      .worker_id = run->worker_id,
                                      .worker = worker,
                                      .pid = worker ? worker->pid : run->attempt->pid,
                                      .is_driver = run->attempt->type == RAY_DRIVER_TASK};
        for (end = i + 1;
             end < draft->run_count && same_process(&draft->runs[i], &draft->runs[end]);)
            end++;
        add_process(draft, draft->runs + i, end - i, &model);
    }
}

static void add_waits(struct draft *draft)
{
    struct lane_set set = {.model = {.node = TIMELINE_NO_NODE, .worker_id = ""},
                           .most = TIMELINE_WAIT_LANES};
    struct timeline_span phases[TIMELINE_PHASES];
    sort(draft->waits, draft->wait_count, compare_times);
    for (size_t i = 0; i < draft->wait_count; i++) {
        const struct timeline_span *wait = &draft->waits[i];
        size_t lane = take_lane(draft, &set, 0, wait->start_us, wait->end_us);
        if (lane == SIZE_MAX) {
            draft->out->left_out++;
            continue;
        }
        add_span(draft, wait, lane);
        size_t count = timeline_phases_of(wait, phases);
        for (size_t k = 0; k < count; k++)
            add_span(draft, &phases[k], lane);
    }
    free(set.free_us);
}

void timeline_make(const struct why_records *records, const char *job,
                   const struct timeline_pauses *pauses, struct timeline *out)
{
    struct draft draft = {.records = records, .out = out};
    *out = (struct timeline){.now_us = records->now_ms * 1000};
    index_pauses(&draft, pauses);
    collect(&draft, job);
    add_runs(&draft);
    add_waits(&draft);
    sort(out->spans, out->count, compare_spans);
    hash_index_clear(&draft.workers);
    free(draft.runs);
    free(draft.waits);
}

void timeline_clear(struct timeline *timeline)
{
    free(timeline->spans);
    free(timeline->lanes);
    free(timeline->nodes);
    *timeline = (struct timeline){0};
}
