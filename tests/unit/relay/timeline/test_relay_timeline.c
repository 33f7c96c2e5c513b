/* Timelines: of a real cluster's recorded attempts, and of attempts made for one rule each. */
#include "why_world.h"

#include "relay/timeline/timeline.h"

#include <string.h>

#define NS(us) ((us)*INT64_C(1000))
#define NOW_US INT64_C(9000000)

/* --- made attempts --- */

struct made {
    struct ray_attempt attempts[8];
    struct ray_timing timings[8];
    struct ray_event events[8];
    struct ray_job job;
    struct why_records records;
};

static void made_open(struct made *made)
{
    *made = (struct made){0};
    strcpy(made->job.job_id, "01000000");
    made->records = (struct why_records){
        .now_ms = NOW_US / 1000, .attempts = made->attempts, .jobs = &made->job, .job_count = 1};
}

/* An attempt in process `worker` that was submitted, ran and finished; 0: not yet. */
static struct ray_attempt *add(struct made *made, const char *worker, int64_t submitted,
                               int64_t running, int64_t finished)
{
    size_t i = made->records.attempt_count++;
    struct ray_attempt *it = &made->attempts[i];
    snprintf(it->task_id, sizeof it->task_id, "%048zu", i + 1);
    strcpy(it->job_id, "01000000");
    strcpy(it->worker_id, worker);
    strcpy(it->node_id, *worker ? "n" : "");
    it->name = (char *)"task";
    it->timing = &made->timings[i];
    it->timing->state_ns[RAY_ATTEMPT_PENDING_ARGS] = NS(submitted);
    it->timing->state_ns[RAY_ATTEMPT_RUNNING] = NS(running);
    it->timing->state_ns[RAY_ATTEMPT_FINISHED] = NS(finished);
    it->state = finished  ? RAY_ATTEMPT_FINISHED
                : running ? RAY_ATTEMPT_RUNNING
                          : RAY_ATTEMPT_PENDING_ARGS;
    return it;
}

static void give_events(struct made *made, struct ray_attempt *attempt, size_t first, size_t count)
{
    attempt->timing->events = made->events + first;
    attempt->timing->event_count = count;
}

static const struct timeline_span *find(const struct timeline *timeline, enum timeline_kind kind,
                                        const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->spans[i].kind == kind && timeline->spans[i].attempt == attempt)
            return &timeline->spans[i];
    return NULL;
}

/* No two spans of a lane cross, and they are in the order that the header tells. */
static void check_lanes(const struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->count; i++)
        for (size_t k = i + 1;
             k < timeline->count && timeline->spans[k].lane == timeline->spans[i].lane; k++) {
            const struct timeline_span *a = &timeline->spans[i], *b = &timeline->spans[k];
            assert_true(a->start_us <= b->start_us);
            assert_true(b->start_us >= a->end_us || b->end_us <= a->end_us);
        }
}

/* --- tests --- */

static void overlapping_runs_have_lanes(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    const struct ray_attempt *first = add(&made, "w", 100, 1000, 5000),
                             *second = add(&made, "w", 100, 2000, 6000),
                             *third = add(&made, "w", 100, 5000, 7000),
                             *elsewhere = add(&made, "v", 100, 2000, 3000);
    timeline_make(&made.records, NULL, NULL, &timeline);
    check_lanes(&timeline);
    size_t lane = find(&timeline, TIMELINE_RUN, first)->lane;
    assert_int_equal(find(&timeline, TIMELINE_RUN, third)->lane, lane);
    assert_int_not_equal(find(&timeline, TIMELINE_RUN, second)->lane, lane);
    assert_int_equal(timeline.lanes[find(&timeline, TIMELINE_RUN, second)->lane].number, 1);
    assert_string_equal(timeline.lanes[find(&timeline, TIMELINE_RUN, elsewhere)->lane].worker_id,
                        "v");
    assert_int_equal(timeline.processes, 2);
    assert_int_equal(timeline.node_count, 1);
    timeline_clear(&timeline);
}

static void an_event_that_crosses_has_a_lane_of_its_own(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    made.events[0] = (struct ray_event){(char *)"a", NS(1000), NS(3000)};
    made.events[1] = (struct ray_event){(char *)"b", NS(2000), NS(4000)};
    made.events[2] = (struct ray_event){(char *)"c", NS(3000), NS(3000)};
    made.events[3] = (struct ray_event){(char *)"task::task", NS(1000), NS(5000)};
    struct ray_attempt *attempt = add(&made, "w", 100, 900, 5100);
    give_events(&made, attempt, 0, 4);
    timeline_make(&made.records, NULL, NULL, &timeline);
    check_lanes(&timeline);
    const struct timeline_span *run = find(&timeline, TIMELINE_RUN, attempt);
    assert_int_equal(run->start_us, 1000); /* the event's times, not the states' */
    assert_int_equal(run->end_us, 5000);
    size_t strays = 0, events = 0;
    for (size_t i = 0; i < timeline.count; i++) {
        const struct timeline_span *span = &timeline.spans[i];
        events += span->kind == TIMELINE_EVENT;
        strays += span->kind == TIMELINE_EVENT && span->lane != run->lane;
        assert_false(text_equal(span->name, "task::task"));
    }
    assert_int_equal(events, 3);
    assert_int_equal(strays, 1);
    timeline_clear(&timeline);
}

static void what_goes_on_ends_now(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    const struct ray_attempt *running = add(&made, "w", 100, 1000, 0),
                             *waiting = add(&made, "", 3000, 0, 0);
    timeline_make(&made.records, NULL, NULL, &timeline);
    const struct timeline_span *run = find(&timeline, TIMELINE_RUN, running),
                               *wait = find(&timeline, TIMELINE_WAIT, waiting);
    assert_int_equal(run->end, TIMELINE_GOES_ON);
    assert_int_equal(run->end_us, NOW_US);
    assert_int_equal(wait->end, TIMELINE_GOES_ON);
    assert_int_equal(wait->end_us, NOW_US);
    assert_int_equal(timeline.lanes[wait->lane].node, TIMELINE_NO_NODE);
    assert_null(find(&timeline, TIMELINE_RUN, waiting));
    assert_int_equal(timeline.running, 1);
    assert_int_equal(timeline.waiting, 1);
    timeline_clear(&timeline);

    made.job.is_dead = true; /* nothing of a dead job goes on */
    made.job.end_ms = 4;
    timeline_make(&made.records, NULL, NULL, &timeline);
    run = find(&timeline, TIMELINE_RUN, running);
    assert_int_equal(run->end, TIMELINE_UNKNOWN);
    assert_int_equal(run->end_us, 4000);
    assert_int_equal(timeline.running + timeline.waiting, 0);
    timeline_clear(&timeline);
}

/* A task whose owner has died never runs, and its wait ends there. */
static void what_never_runs_waits_until_its_owner_died(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    struct ray_worker owner = {.is_alive = true};
    made_open(&made);
    strcpy(owner.worker_id, "o");
    made.records.workers = &owner;
    made.records.worker_count = 1;
    const struct ray_attempt *parent = add(&made, "o", 100, 1000, 0);
    struct ray_attempt *orphan = add(&made, "", 3000, 0, 0);
    strcpy(orphan->parent_task_id, parent->task_id);
    timeline_make(&made.records, NULL, NULL, &timeline);
    assert_int_equal(find(&timeline, TIMELINE_WAIT, orphan)->end, TIMELINE_GOES_ON);
    timeline_clear(&timeline);
    owner.is_alive = false;
    owner.end_ms = 5;
    timeline_make(&made.records, NULL, NULL, &timeline);
    const struct timeline_span *wait = find(&timeline, TIMELINE_WAIT, orphan);
    assert_int_equal(wait->end, TIMELINE_UNKNOWN);
    assert_int_equal(wait->end_us, 5000);
    assert_int_equal(timeline.waiting, 0);
    timeline_clear(&timeline);
}

static size_t count_pauses(const struct timeline *timeline)
{
    size_t count = 0;
    for (size_t i = 0; i < timeline->count; i++)
        count += timeline->spans[i].kind == TIMELINE_PAUSE;
    return count;
}

static void pauses_are_parts_of_their_runs(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    made.events[0] = (struct ray_event){(char *)"crosses", NS(2000), NS(4000)};
    struct ray_attempt *paused = add(&made, "w", 100, 1000, 5000);
    const struct ray_attempt *next = add(&made, "w", 100, 5000, 7000),
                             *elsewhere = add(&made, "v", 100, 1000, 7000);
    give_events(&made, paused, 0, 1);
    const struct timeline_pause pauses[] = {
        {.worker_id = "w", .task_id = paused->task_id, .start_us = 3000, .end_us = 4500},
        {.worker_id = "w", .task_id = paused->task_id, .start_us = 4800, .end_us = 6000},
        {.worker_id = "w", .task_id = "", .start_us = 6500, .end_us = 6600},
        {.worker_id = "w", .task_id = next->task_id, .start_us = 100, .end_us = 200},
        {.worker_id = "u", .task_id = paused->task_id, .start_us = 1100, .end_us = 1200},
    };
    const struct timeline_pauses all = {pauses, sizeof pauses / sizeof *pauses};
    timeline_make(&made.records, NULL, &all, &timeline);
    check_lanes(&timeline);
    assert_int_equal(count_pauses(&timeline), 3);
    assert_null(find(&timeline, TIMELINE_PAUSE, elsewhere));
    const struct timeline_span *of_next = find(&timeline, TIMELINE_PAUSE, next);
    assert_int_equal(of_next->start_us, 6500);
    assert_ptr_equal(of_next->pause, &pauses[2]);
    for (size_t i = 0; i < timeline.count; i++) {
        const struct timeline_span *span = &timeline.spans[i];
        if (span->kind == TIMELINE_PAUSE && span->pause == &pauses[1])
            assert_int_equal(span->end_us, 5000); /* where the run ends */
    }
    assert_int_equal(timeline.paused, 0);
    timeline_clear(&timeline);
}

static void a_run_is_paused_now(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    const struct ray_attempt *running = add(&made, "w", 100, 1000, 0),
                             *other = add(&made, "w", 100, 1000, 0);
    const struct timeline_pause pause = {
        .worker_id = "w", .task_id = running->task_id, .start_us = 3000};
    const struct timeline_pauses all = {&pause, 1};
    timeline_make(&made.records, NULL, &all, &timeline);
    assert_true(find(&timeline, TIMELINE_RUN, running)->is_paused);
    assert_false(find(&timeline, TIMELINE_RUN, other)->is_paused);
    assert_int_equal(timeline.paused, 1);
    assert_int_equal(find(&timeline, TIMELINE_PAUSE, running)->end_us, NOW_US);
    timeline_clear(&timeline);
}

static void a_death_at_once_begins_with_the_submission(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    struct ray_attempt *attempt = add(&made, "w", 100, 0, 0);
    attempt->timing->state_ns[RAY_ATTEMPT_SUBMITTED] = NS(500);
    attempt->timing->state_ns[RAY_ATTEMPT_FAILED] = NS(9000);
    attempt->state = RAY_ATTEMPT_FAILED;
    timeline_make(&made.records, NULL, NULL, &timeline);
    const struct timeline_span *run = find(&timeline, TIMELINE_RUN, attempt),
                               *wait = find(&timeline, TIMELINE_WAIT, attempt);
    assert_true(run->start_unknown);
    assert_int_equal(run->end, TIMELINE_FAILED);
    assert_int_equal(run->start_us, 500);
    assert_int_equal(wait->end_us, 500);
    assert_int_equal(timeline.failed, 1);
    timeline_clear(&timeline);
}

static void clocks_that_differ_make_no_negative_span(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    const struct ray_attempt *attempt = add(&made, "w", 5000, 4000, 3000);
    timeline_make(&made.records, NULL, NULL, &timeline);
    assert_null(find(&timeline, TIMELINE_WAIT, attempt));
    const struct timeline_span *run = find(&timeline, TIMELINE_RUN, attempt);
    assert_int_equal(run->end_us - run->start_us, 0);
    timeline_clear(&timeline);
}

static void waits_have_phases(void **state)
{
    (void)state;
    struct made made;
    struct timeline timeline;
    made_open(&made);
    struct ray_attempt *attempt = add(&made, "w", 1000, 9000, 9500);
    attempt->timing->state_ns[RAY_ATTEMPT_PENDING_NODE] = NS(3000);
    attempt->timing->state_ns[RAY_ATTEMPT_SUBMITTED] = NS(8500); /* the rest is too short */
    timeline_make(&made.records, NULL, NULL, &timeline);
    check_lanes(&timeline);
    size_t phases = 0;
    for (size_t i = 0; i < timeline.count; i++) {
        const struct timeline_span *span = &timeline.spans[i];
        if (span->kind != TIMELINE_PHASE)
            continue;
        assert_int_equal(span->start_us, phases ? 3000 : 1000);
        assert_int_equal(span->end_us, phases ? 8500 : 3000);
        phases++;
    }
    assert_int_equal(phases, 2);
    timeline_clear(&timeline);
}

static void too_many_waits_are_counted(void **state)
{
    (void)state;
    enum { COUNT = TIMELINE_WAIT_LANES + 50 };
    struct ray_attempt *attempts = mem_array(COUNT, sizeof *attempts);
    struct ray_timing timing = {.state_ns = {[RAY_ATTEMPT_PENDING_ARGS] = NS(10)}};
    struct why_records records = {.now_ms = 5, .attempts = attempts, .attempt_count = COUNT};
    struct timeline timeline;
    for (size_t i = 0; i < COUNT; i++) {
        attempts[i].name = (char *)"task";
        attempts[i].timing = &timing;
    }
    timeline_make(&records, NULL, NULL, &timeline);
    assert_int_equal(timeline.lane_count, TIMELINE_WAIT_LANES);
    assert_int_equal(timeline.left_out, 50);
    assert_int_equal(timeline.waiting, COUNT);
    timeline_clear(&timeline);
    free(attempts);
}

/* The recorded attempts once more, with their timing. */
static void of_a_real_cluster(void **state)
{
    static const char *const rays[] = {"2.60.0", "2.9.3"};
    (void)state;
    for (size_t i = 0; i < sizeof rays / sizeof *rays; i++) {
        struct why_world world;
        struct timeline timeline;
        struct err err;
        size_t runs = 0, events = 0, failed = 0;
        why_world_open(&world, rays[i]);
        struct buf bytes = why_world_load(&world, "events");
        ray_attempts_free(world.records.attempts, world.records.attempt_count);
        assert_int_equal(
            failure_reply_attempts(BYTES(bytes), world.version, true, &world.records.attempts,
                                   &world.records.attempt_count, &world.records.dropped, &err),
            0);
        timeline_make(&world.records, NULL, NULL, &timeline);
        check_lanes(&timeline);
        for (size_t k = 0; k < timeline.count; k++) {
            runs += timeline.spans[k].kind == TIMELINE_RUN;
            events += timeline.spans[k].kind == TIMELINE_EVENT;
            failed +=
                timeline.spans[k].kind == TIMELINE_RUN && timeline.spans[k].end == TIMELINE_FAILED;
            assert_true(timeline.spans[k].end_us <= world.records.now_ms * 1000);
        }
        assert_true(runs > 10 && events > 10 && failed > 5);
        timeline_clear(&timeline);
        timeline_make(&world.records, "77", NULL, &timeline); /* no such job */
        assert_int_equal(timeline.count, 0);
        timeline_clear(&timeline);
        buf_free(&bytes);
        why_world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_runs_have_lanes),
        cmocka_unit_test(an_event_that_crosses_has_a_lane_of_its_own),
        cmocka_unit_test(what_goes_on_ends_now),
        cmocka_unit_test(what_never_runs_waits_until_its_owner_died),
        cmocka_unit_test(pauses_are_parts_of_their_runs),
        cmocka_unit_test(a_run_is_paused_now),
        cmocka_unit_test(a_death_at_once_begins_with_the_submission),
        cmocka_unit_test(clocks_that_differ_make_no_negative_span),
        cmocka_unit_test(waits_have_phases),
        cmocka_unit_test(too_many_waits_are_counted),
        cmocka_unit_test(of_a_real_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
