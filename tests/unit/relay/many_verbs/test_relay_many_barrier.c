/* Barriers of groups, and breakpoints on the way to them. */
#include "many_fixture.h"

static void test_a_barrier_holds_until_the_last_comes(void **state)
{
    (void)state;
    set_stack(&world.threads[2], 41); /* is there already */
    line("/barrier train.py:41");
    check_log("set /a/train.py:41;continue 0;continue 1;continue 3;");
    check_out(
        "\"result\":\"barrier train.py:41: 1 of 4, missing: rank 0 T.step pid 800 (running);");
    clear();
    stop(0, "breakpoint", 41);
    stop(1, "breakpoint", 34); /* a breakpoint() on the way */
    wait_ms(20);
    check_log("continue quietly 1;");
    clear();
    stop(1, "pause", 35); /* the user's own: told, and still waited for */
    check_log("tell 1;");
    check_not_out("\"event\":\"stopped\"");
    wait_ms(600);
    check_out("barrier train.py:41: 2 of 4, missing: rank 1 T.step pid 801 (stopped at "
              "train.py:35); rank 3 T.step pid 803 (running)\\n");
    clear();
    many_verbs_resumed(world.many.verbs, 101); /* not one that is held */
    world.threads[1].stopped = false;
    stop(1, "step", 41);
    check_log("");
    stop(3, "breakpoint", 41);
    wait_ms(20);
    check_log("show all, 0 first;unset;");
    check_out("barrier train.py:41: 4 of 4; all here after ");
    check_out("\"state\":\"complete\"");
    assert_true(world.threads[3].told);
    clear();
    line("/barrier train.py:41"); /* all are there: the next round */
    check_log("set /a/train.py:41;continue 0;continue 1;continue 2;continue 3;");
}

static void test_a_barrier_that_times_out(void **state)
{
    (void)state;
    line("/barrier train.py:41 --timeout 0.05");
    stop(0, "breakpoint", 41);
    clear();
    wait_ms(120);
    check_log("show all, 0 first;unset;");
    check_out("barrier train.py:41: 1 of 4, missing: rank 1 T.step pid 801 (running); rank 2");
    check_out("given up after 0.05 s\\n");
    clear();
    stop(1, "breakpoint", 41);
    check_log("stop 1;");
}

static void test_a_barrier_names_who_never_comes(void **state)
{
    (void)state;
    line("/barrier train.py:41 0-2");
    stop(0, "breakpoint", 41);
    stop(1, "exception", 50);
    many_verbs_gone(world.many.verbs, &world.targets[2]);
    wait_ms(20);
    check_out("barrier train.py:41: 1 of 1; no longer waited for: rank 1 T.step pid 801 (stopped "
              "by an exception); rank 2 T.step pid 802 (its worker is gone); all here after");
    assert_true(world.threads[0].told);
}

static void test_a_worker_that_does_not_read_is_waited_for(void **state)
{
    (void)state;
    line("/barrier train.py:41 0-2");
    stop(0, "breakpoint", 41);
    world.targets[1].stalled = true;
    world.targets[2].state = MANY_LEAVING;
    clear();
    wait_ms(600);
    check_out("barrier train.py:41: 1 of 2, missing: rank 1 T.step pid 801 (running); no longer "
              "waited for: rank 2 T.step pid 802 (its worker is gone)\\n");
    world.targets[1].stalled = false;
    stop(1, "breakpoint", 41);
    wait_ms(20);
    check_out("barrier train.py:41: 2 of 2;");
}

static void test_a_barrier_that_nobody_is_left_for(void **state)
{
    (void)state;
    line("/barrier train.py:41 1-2");
    many_verbs_gone(world.many.verbs, &world.targets[1]);
    many_verbs_gone(world.many.verbs, &world.targets[2]);
    wait_ms(20);
    check_out("; nobody is left to wait for\\n");
    line("/barrier train.py:41 0");
    clear();
    world.many.leaving = true; /* the client goes: nothing is said to it any more */
    wait_ms(600);
    assert_int_equal(world.out.len, 0);
    check_log("unset;");
}

/* It is noticed with the next tick; the ticks go on. */
static void test_a_held_task_that_ends(void **state)
{
    (void)state;
    line("/barrier train.py:41 0-2");
    stop(0, "breakpoint", 41);
    world.threads[0].stopped = world.threads[0].shown = false;
    wait_ms(600);
    check_out("rank 0 T.step pid 800 (its task has ended)");
    check_not_out("by hand");
    world.threads[1].shown = world.threads[2].shown = false;
    wait_ms(600);
    wait_ms(20);
    check_out("; nobody is left to wait for\\n");
}

static void test_a_barrier_is_given_up_by_hand(void **state)
{
    (void)state;
    line("/barrier train.py:41");
    stop(0, "breakpoint", 41);
    clear();
    line("/0 next");
    check_out("there is no verb or group '/0'");
    line("/next 0");
    check_out("given up: rank 0 T.step pid 800 goes on by hand");
    check_log("show all, 0 first;unset;next 0;");
    clear();
    line("/barrier");
    check_out("there is no barrier under way");
    stop(0, "step", 31);
    stop(1, "breakpoint", 41);
    clear();
    line("/barrier train.py:57");
    line("/barrier train.py:58");
    check_out("barrier train.py:57: 0 of 4, missing: rank 0 T.step");
    check_out("given up for another barrier");
    check_out("\"result\":\"barrier train.py:58: 0 of 4");
    line("/barrier -");
    check_out("given up by hand");
}

static void test_a_breakpoint_of_the_users_stops_on_the_way(void **state)
{
    (void)state;
    world.own_breakpoint = true;
    line("/barrier train.py:41");
    clear();
    stop(1, "breakpoint", 34);
    wait_ms(20);
    check_log("tell 1;");
}

/* The thread stops; its stack comes later, or never. */
static void stop_without_stack(int rank)
{
    struct many_thread *thread = &world.threads[rank];
    free(thread->stack);
    thread->stack = NULL;
    thread->stopped = true;
    thread->told = false;
    thread->stops++;
    text_copy(thread->reason, sizeof thread->reason, "breakpoint");
    assert_true(many_verbs_stopped(world.many.verbs, &world.targets[rank], thread));
}

static void test_a_stop_that_is_judged_when_the_barrier_ends(void **state)
{
    (void)state;
    line("/barrier train.py:41 --timeout 0.05");
    stop_without_stack(1);
    clear();
    wait_ms(120);
    check_out("given up after 0.05 s");
    check_log("tell 1;unset;");
    set_stack(&world.threads[1], 34);
    line("/barrier train.py:41 1-2");
    stop_without_stack(1);
    clear();
    line("/barrier -");
    check_log("tell 1;unset;");
    set_stack(&world.threads[1], 34);
    line("/barrier train.py:41 1-2");
    stop(2, "breakpoint", 41);
    stop_without_stack(1);
    clear();
    line("/next 2"); /* one event shows all stops */
    check_log("show all, 2 first;unset;next 2;");
}

static void test_others_pass_a_barriers_line(void **state)
{
    (void)state;
    line("/next 3");
    line("/barrier train.py:41 0-2");
    clear();
    stop(3, "breakpoint", 41);
    wait_ms(20);
    check_log("continue quietly 3;");
    world.own_breakpoint = true; /* the client has one there, too */
    stop(3, "breakpoint", 41);
    wait_ms(20);
    check_log("continue quietly 3;tell 3;");
}

static void test_a_file_that_nobody_runs(void **state)
{
    (void)state;
    line("/barrier tain.py:41");
    check_out("no task has stopped with tain.py in its stack");
    line("/until tain.py:41");
    check_log("");
    assert_true(request("raydbg/barrier", "{\"place\":{\"path\":\"/b/other.py\",\"line\":7}}"));
    check_log("set /b/other.py:7;continue 0;continue 1;continue 2;continue 3;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_barrier_holds_until_the_last_comes),
        TEST(test_a_barrier_that_times_out),
        TEST(test_a_barrier_names_who_never_comes),
        TEST(test_a_worker_that_does_not_read_is_waited_for),
        TEST(test_a_barrier_that_nobody_is_left_for),
        TEST(test_a_held_task_that_ends),
        TEST(test_a_barrier_is_given_up_by_hand),
        TEST(test_a_breakpoint_of_the_users_stops_on_the_way),
        TEST(test_a_stop_that_is_judged_when_the_barrier_ends),
        TEST(test_others_pass_a_barriers_line),
        TEST(test_a_file_that_nobody_runs),
    };
    return cmocka_run_group_tests_name("many_barrier", tests, NULL, NULL);
}
