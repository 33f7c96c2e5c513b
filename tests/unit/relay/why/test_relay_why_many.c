/* Lists of attempts, and how much work an overview of very many attempts is. */
#include "why_world.h"

#include "relay/why/why_overview.h"

#include <string.h>

enum { ACTORS = 1000, CALLS = 30, MANY = ACTORS * CALLS, NOW_MS = 1000000 };

/* Each look at an attempt that may be waited for takes a call of this. */
bool __wrap_ray_attempt_is_over(const struct ray_attempt *attempt);
bool __real_ray_attempt_is_over(const struct ray_attempt *attempt);
static size_t calls;

bool __wrap_ray_attempt_is_over(const struct ray_attempt *attempt)
{
    calls++;
    return __real_ray_attempt_is_over(attempt);
}

/* Each look at an attempt for what it has in common with another takes a call of this. */
bool __wrap_text_equal(const char *a, const char *b);
bool __real_text_equal(const char *a, const char *b);
static size_t comparisons;

bool __wrap_text_equal(const char *a, const char *b)
{
    comparisons++;
    return __real_text_equal(a, b);
}

/* The list by the index and the one by a scan. */
static void check_list(const struct why_records *records, const struct why_records *plain,
                       enum attempt_list kind, const char *key)
{
    const struct ray_attempt *it = NULL, *other = NULL;
    do {
        it = why_records_next(records, kind, key, it);
        other = why_records_next(plain, kind, key, other);
        assert_ptr_equal(it, other);
        assert_true(!it || attempt_lists_have(kind, key, it));
    } while (it);
}

static void lists_are_those_of_a_scan(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    const struct why_records *records = &world.records;
    struct why_records plain = *records;
    plain.lists = (struct attempt_lists){0};
    check_list(records, &plain, ATTEMPTS_RUNNING, "");
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        check_list(records, &plain, ATTEMPTS_OF_PARENT, it->parent_task_id);
        check_list(records, &plain, ATTEMPTS_OF_PARENT, it->task_id);
        check_list(records, &plain, ATTEMPTS_OF_ACTOR, it->actor_id);
        check_list(records, &plain, ATTEMPTS_RUNNING_IN_ACTOR, it->actor_id);
    }
    assert_non_null(why_records_next(records, ATTEMPTS_RUNNING, "", NULL));
    assert_null(why_records_next(records, ATTEMPTS_OF_PARENT, "nobody", NULL));
    why_world_close(&world);
}

/* An attempt that has left its list is passed over. */
static void what_has_changed_is_left_out(void **state)
{
    struct ray_attempt attempts[3] = {{.state = RAY_ATTEMPT_RUNNING},
                                      {.state = RAY_ATTEMPT_RUNNING},
                                      {.state = RAY_ATTEMPT_RUNNING}};
    struct attempt_lists lists = {0};
    (void)state;
    attempt_lists_make(&lists, attempts, 3);
    attempts[1].state = RAY_ATTEMPT_FINISHED;
    assert_ptr_equal(attempt_lists_next(&lists, ATTEMPTS_RUNNING, "", NULL), &attempts[0]);
    assert_ptr_equal(attempt_lists_next(&lists, ATTEMPTS_RUNNING, "", &attempts[0]), &attempts[2]);
    attempts[2].state = RAY_ATTEMPT_FINISHED;
    assert_null(attempt_lists_next(&lists, ATTEMPTS_RUNNING, "", &attempts[0]));
    attempt_lists_clear(&lists);
}

/* Actors that run a call each, with others behind it. */
struct crowd {
    struct ray_attempt *attempts;
    struct ray_actor actors[ACTORS];
    struct ray_worker workers[ACTORS];
    struct why_records records;
};

/* The first so many actors are stopped in a debugger. */
static void crowd_open(struct crowd *crowd, size_t stopped)
{
    crowd->attempts = mem_array(MANY, sizeof *crowd->attempts);
    for (size_t i = 0; i < ACTORS; i++) {
        struct ray_actor *actor = &crowd->actors[i];
        struct ray_worker *worker = &crowd->workers[i];
        snprintf(worker->worker_id, sizeof worker->worker_id, "%056zx", i);
        snprintf(actor->actor_id, sizeof actor->actor_id, "%032zx", i);
        text_copy(actor->worker_id, sizeof actor->worker_id, worker->worker_id);
        actor->state = (char *)"ALIVE";
        actor->name = (char *)"";
        actor->class_name = (char *)"Server";
        worker->ip = (char *)"10.0.0.1";
        worker->is_alive = true;
        worker->paused_threads = i < stopped;
    }
    for (size_t i = 0; i < MANY; i++) {
        struct ray_attempt *it = &crowd->attempts[i];
        bool runs = i % CALLS == 0;
        it->name = (char *)"Server.call";
        it->type = RAY_ACTOR_TASK;
        it->state = runs ? RAY_ATTEMPT_RUNNING : RAY_ATTEMPT_SUBMITTED;
        it->state_ms[it->state] = NOW_MS - 60000;
        snprintf(it->task_id, sizeof it->task_id, "%048zx", i);
        memset(it->parent_task_id, 'f', sizeof it->parent_task_id - 1); /* a driver's */
        text_copy(it->actor_id, sizeof it->actor_id, crowd->actors[i / CALLS].actor_id);
        if (runs)
            text_copy(it->worker_id, sizeof it->worker_id, crowd->workers[i / CALLS].worker_id);
    }
    crowd->records = (struct why_records){.now_ms = NOW_MS,
                                          .attempts = crowd->attempts,
                                          .attempt_count = MANY,
                                          .workers = crowd->workers,
                                          .worker_count = ACTORS,
                                          .actors = crowd->actors,
                                          .actor_count = ACTORS};
    why_records_index(&crowd->records);
}

static void crowd_close(struct crowd *crowd)
{
    why_records_clear_index(&crowd->records);
    free(crowd->attempts);
}

/* A scan of all attempts for each group, or for each step of its walks, is thousands of looks for
 * each attempt. */
static void an_overview_looks_twice_at_each_attempt(void **state)
{
    static struct crowd crowd;
    struct why_overview overview;
    struct why_needs needs;
    (void)state;
    crowd_open(&crowd, 1);
    calls = 0;
    why_overview_make(&crowd.records, &overview);
    why_overview_needs(&crowd.records, &needs);
    assert_in_range(calls, 1, 2 * MANY);
    assert_int_equal(overview.count,
                     ACTORS + 1); /* the calls that wait, and the one that is stopped */
    assert_int_equal(overview.tasks_waiting, MANY - ACTORS);
    for (size_t i = 0; i < overview.count; i++) {
        const struct why_row *row = &overview.rows[i];
        assert_string_equal(row->code, text_equal(row->state, "paused") ? "paused"
                                       : text_equal(row->id, crowd.attempts[1].task_id)
                                           ? "waits_for_paused"
                                           : "queued_in_actor");
    }
    why_overview_clear(&overview);
    crowd_close(&crowd);
}

/* Of each process that is stopped it is asked what runs in it. */
static void many_that_are_stopped(void **state)
{
    static struct crowd crowd;
    struct why_overview overview;
    (void)state;
    crowd_open(&crowd, ACTORS);
    comparisons = 0;
    why_overview_make(&crowd.records, &overview);
    assert_in_range(comparisons, 1, 100 * MANY);
    assert_int_equal(overview.count, 2 * ACTORS);
    for (size_t i = 0; i < overview.count; i++)
        assert_string_equal(overview.rows[i].code, text_equal(overview.rows[i].state, "paused")
                                                       ? "paused"
                                                       : "waits_for_paused");
    why_overview_clear(&overview);
    crowd_close(&crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_those_of_a_scan),
        cmocka_unit_test(what_has_changed_is_left_out),
        cmocka_unit_test(an_overview_looks_twice_at_each_attempt),
        cmocka_unit_test(many_that_are_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
