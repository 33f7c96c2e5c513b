/* Who is asked what in a look, and when again. */
#include "cmocka_prelude.h"
#include "view_fixture.h"

#include "relay/cluster/backoff.h"
#include "relay/cluster/poll_schedule.h"

#include <stdio.h>

enum { SECOND = 1000000 };

/* --- records --- */

static void all_are_fetched_as_often_as_they_are_few(void **state)
{
    (void)state;
    const int64_t now = 100 * (int64_t)SECOND;
    assert_true(poll_schedule_takes_all(0, 0, now));
    assert_true(poll_schedule_takes_all(now - 50000, 500, now));
    assert_false(poll_schedule_takes_all(now - 50000, 5000, now));
    assert_true(poll_schedule_takes_all(now - SECOND, 10000, now));
    assert_false(poll_schedule_takes_all(now - 9 * SECOND, 100000, now));
    assert_true(poll_schedule_takes_all(now - 10 * SECOND, 100000, now));
}

static void rest_grows_with_what_a_look_costs(void **state)
{
    (void)state;
    assert_int_equal(poll_schedule_rest_us(0, 0), 0);
    assert_int_equal(poll_schedule_rest_us(5000, 3), 20000);
    assert_int_equal(poll_schedule_rest_us(5000, 10000), SECOND / 2);
    assert_int_equal(poll_schedule_rest_us(30 * SECOND, 3), 2 * SECOND);
}

/* --- what workers run --- */

static void add_workers(struct cluster_view *view, size_t count, int64_t paused_threads)
{
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    for (size_t i = 0; i < count; i++) {
        snprintf(id, sizeof id, "%056zu", view->worker_count);
        add_worker(view, id, "10.0.0.7", 1)->paused_threads = paused_threads;
    }
}

/* How many are asked in this look; all of them answer. */
static size_t ask(struct cluster_view *view, int64_t now_us)
{
    size_t asked = 0;
    poll_schedule_choose(view, now_us);
    for (size_t i = 0; i < view->worker_count; i++) {
        struct ray_worker_stats stats = {0};
        if (!view->running[i].wanted)
            continue;
        poll_schedule_answered(&view->running[i], &stats, now_us);
        asked++;
    }
    return asked;
}

static void a_few_are_asked_each_time(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    add_workers(&view, POLL_SCHEDULE_ALL, 1);
    view.workers[0].is_alive = false;
    view.workers[1].debugger_port = 0;
    view.running[2].dead = true;
    for (int look = 0; look < 3; look++)
        assert_int_equal(ask(&view, SECOND + look), POLL_SCHEDULE_ALL - 3);
    cluster_view_clear(&view);
}

static void many_are_asked_at_a_rate(void **state)
{
    (void)state;
    enum { MANY = 2000, LOOKS = 500, LOOK_US = SECOND / 5 };
    struct cluster_view view = {0};
    size_t asked = 0, most = 0;
    add_workers(&view, MANY, 1);
    assert_int_equal(ask(&view, SECOND), MANY);
    for (int64_t look = 1; look <= LOOKS; look++) {
        size_t now = ask(&view, SECOND + look * LOOK_US);
        asked += now;
        most = now > most ? now : most;
    }
    /* 100 seconds at 50 a second, and never a great many at a time. */
    assert_in_range(asked, 4000, 6500);
    assert_in_range(most, 5, 60);
    cluster_view_clear(&view);
}

static void what_has_changed_is_asked_at_once(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    add_workers(&view, 1000, 1);
    ask(&view, SECOND);
    while (ask(&view, SECOND))
        ;
    view.workers[7].paused_threads = 2;
    view.workers[8].debugger_port = 4;
    poll_schedule_choose(&view, SECOND);
    for (size_t i = 0; i < view.worker_count; i++)
        assert_int_equal(view.running[i].wanted, i == 7 || i == 8);
    cluster_view_clear(&view);
}

static void who_does_not_answer_is_asked_more_and_more_seldom(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    size_t asked = 0;
    add_workers(&view, 1, 1);
    for (int64_t now = SECOND; now <= 101 * (int64_t)SECOND; now += SECOND / 10) {
        poll_schedule_choose(&view, now);
        if (!view.running[0].wanted)
            continue;
        poll_schedule_answered(&view.running[0], NULL, now);
        assert_false(view.running[0].known);
        asked++;
    }
    assert_in_range(asked, 8, 14);
    view.workers[0].paused_threads = 0;
    assert_int_equal(ask(&view, 101 * (int64_t)SECOND), 1);
    assert_true(view.running[0].known);
    assert_int_equal(ask(&view, 101 * (int64_t)SECOND), 1);
    cluster_view_clear(&view);
}

static void what_a_worker_said_holds_until_its_record_changes(void **state)
{
    (void)state;
    struct cluster_view view = {0};
    struct ray_worker_stats stats = {.running_tasks = 1};
    add_workers(&view, 1, 1);
    poll_schedule_choose(&view, SECOND);
    poll_schedule_answered(&view.running[0], &stats, SECOND);
    for (int look = 2; look < 4; look++) { /* it was killed, which Ray does not say yet */
        poll_schedule_choose(&view, look * (int64_t)SECOND);
        poll_schedule_answered(&view.running[0], NULL, look * (int64_t)SECOND);
        assert_true(view.running[0].known);
        assert_int_equal(view.running[0].stats.running_tasks, 1);
    }
    view.workers[0].paused_threads = 0;
    poll_schedule_choose(&view, 5 * (int64_t)SECOND);
    poll_schedule_answered(&view.running[0], NULL, 5 * (int64_t)SECOND);
    assert_false(view.running[0].known);
    assert_int_equal(view.running[0].stats.running_tasks, 0);
    cluster_view_clear(&view);
}

/* --- what is not there --- */

static void what_is_unknown_is_asked_more_and_more_seldom(void **state)
{
    (void)state;
    struct backoff retry = {0};
    size_t early = 0, late = 0;
    for (int64_t now = 0; now < 600 * (int64_t)SECOND; now += SECOND / 5) {
        bool due = backoff_due(&retry, TASK, now);
        *(now <= 3 * SECOND ? &early : &late) += due;
        backoff_sweep(&retry);
    }
    assert_int_equal(early, 16); /* each time */
    assert_in_range(late, 15, 30);
    assert_true(backoff_due(&retry, OTHER_TASK, 600 * (int64_t)SECOND));
    backoff_clear(&retry);
}

static void what_nobody_wants_is_forgotten(void **state)
{
    (void)state;
    struct backoff retry = {0};
    backoff_due(&retry, TASK, 1);
    backoff_due(&retry, OTHER_TASK, 1);
    backoff_sweep(&retry);
    backoff_due(&retry, OTHER_TASK, 2);
    backoff_sweep(&retry);
    assert_int_equal(retry.count, 1);
    assert_string_equal(retry.rows[0].id, OTHER_TASK);
    backoff_sweep(&retry);
    assert_int_equal(retry.count, 0);
    backoff_clear(&retry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_fetched_as_often_as_they_are_few),
        cmocka_unit_test(rest_grows_with_what_a_look_costs),
        cmocka_unit_test(a_few_are_asked_each_time),
        cmocka_unit_test(many_are_asked_at_a_rate),
        cmocka_unit_test(what_has_changed_is_asked_at_once),
        cmocka_unit_test(who_does_not_answer_is_asked_more_and_more_seldom),
        cmocka_unit_test(what_a_worker_said_holds_until_its_record_changes),
        cmocka_unit_test(what_is_unknown_is_asked_more_and_more_seldom),
        cmocka_unit_test(what_nobody_wants_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
