/* What groups do: verbs that are typed, and what comes of them. */
#include "many_fixture.h"

static void answer_all(void)
{
    while (world.question_count) {
        struct question question = world.questions[0];
        size_t at = question.target->slot;
        const char *value = world.value[at];
        struct buf json = {0};
        struct envelope envelope;
        const char *problem;
        world.questions[0] = world.questions[--world.question_count];
        assert_string_equal(question.command, "evaluate"); /* stacks are there already */
        if (question.target->threads->stopped)
            assert_non_null(strstr(question.arguments, "\"frameId\":5,\"context\":\"watch\""));
        else /* where it runs */
            assert_non_null(strstr(question.arguments, "_current_frames"));
        free(question.arguments);
        if (value && *value == '!')
            buf_printf(&json,
                       "{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":false,"
                       "\"command\":\"evaluate\",\"message\":\"Traceback:\\n  %s\\n\"}",
                       value + 1);
        else
            buf_printf(&json,
                       "{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":true,"
                       "\"command\":\"evaluate\",\"body\":{\"result\":\"%s\","
                       "\"type\":\"int\"}}",
                       value ? value : "");
        assert_int_equal(envelope_read(&envelope, json.data, json.len, &problem), 0);
        question.fn(question.arg, question.target, value ? json.data : NULL, json.len, &envelope);
        buf_free(&json);
    }
}

static void test_only_what_is_a_verb_is_taken(void **state)
{
    (void)state;
    assert_false(request("evaluate", "{\"expression\":\"1 / 2\",\"context\":\"repl\"}"));
    assert_false(request("evaluate", "{\"expression\":\"/next\",\"context\":\"watch\"}"));
    assert_false(request("evaluate", "null"));
    assert_false(request("raydbg/objects", "{}"));
    assert_false(request("completions", "{\"text\":\"x\",\"column\":2}"));
    assert_int_equal(world.out.len, 0);
    line("/nonsense");
    check_out("\"success\":false,\"message\":\"there is no verb or group '/nonsense'");
    assert_true(request("completions", "{\"text\":\"/next a\",\"column\":8}"));
    check_out("{\"targets\":[{\"label\":\"all\",\"type\":\"keyword\",\"start\":6,\"length\":1}]}");
}

static void test_groups_step_together(void **state)
{
    (void)state;
    line("/group odd 1 3");
    check_out("\"result\":\"odd  1 3  2 tasks: rank 1, 3\"");
    line("/odd next");
    check_log("next 1;next 3;");
    check_out("\"result\":\"next: 2 tasks\"");
    clear();
    assert_true(request("raydbg/step", "{\"threadIds\":[100,101],\"how\":\"stepIn\"}"));
    check_log("stepIn 0;");
    check_out("\"body\":{\"threadIds\":[100],\"running\":1,\"observed\":0}");
    clear();
    assert_true(request("raydbg/groups", "{}"));
    check_out("{\"groups\":[{\"name\":\"all\",\"filters\":\"*\",\"threadIds\":[100,101,102,103]},"
              "{\"name\":\"odd\",\"filters\":\"1 3\",\"threadIds\":[101,103]}]}");
    line("/group odd -");
    line("/odd next");
    check_out("there is no verb or group '/odd'");
    assert_true(request("raydbg/step", "{\"how\":\"jump\"}"));
    check_out("\\\"how\\\" must be");
}

static void test_compare(void **state)
{
    (void)state;
    world.value[0] = "5", world.value[1] = "5", world.value[2] = "!NameError: no x";
    world.threads[3].stopped = false;
    line("/compare x");
    assert_int_equal(world.out.len, 0);
    answer_all();
    check_out("x · 3 tasks, 2 different\\n  5                ████████████████████    2  rank 0, 1");
    check_out("NameError: no x");
    check_out("not asked: rank 3 T.step pid 803 (running)");
    clear();
    world.value[2] = NULL;
    assert_true(request("raydbg/compare", "{\"expression\":\"x\"}"));
    answer_all();
    check_out("\"value\":null,\"error\":\"no answer in time\"");
    check_out("\"notAsked\":[{\"threadId\":103,\"rank\":3,");
    clear();
    line("/compare x g9");
    line("/compare x 7"); /* an expression that is none, for the debuggees to say */
    check_not_out("success\":false");
}

static void test_stacks(void **state)
{
    (void)state;
    set_stack(&world.threads[2], 41);
    world.threads[3].stopped = false;
    line("/stacks");
    answer_all();
    check_out("3 tasks, 2 different stacks");
    check_out("step  train.py:30");
    check_out("rank 0, 1");
    check_out("not shown: rank 3 T.step pid 803 (running)");
    clear();
    /* [{"name":"wait","line":9}] */
    world.value[3] = "'5b7b226e616d65223a2277616974222c226c696e65223a397d5d'";
    line("/stacks");
    answer_all();
    check_out("4 tasks, 3 different stacks");
    check_out("running: rank 3 T.step pid 803");
    assert_true(request("raydbg/stacks", "{\"group\":\"0-1\"}"));
    check_out("\"body\":{\"tasks\":2,\"stacks\":1,\"tree\":[");
}

static void test_stops_that_pass(void **state)
{
    (void)state;
    line("/continue 0 --skip 2");
    stop(0, "breakpoint", 30);
    wait_ms(20);
    stop(0, "breakpoint", 30);
    wait_ms(20);
    stop(0, "breakpoint", 30);
    check_log("continue 0;continue quietly 0;continue quietly 0;stop 0;");
}

static bool drives_nothing(const void *mode)
{
    (void)mode;
    return false;
}

static void test_a_stop_of_a_task_that_is_taken_over(void **state)
{
    static const struct session_mode_ops ops = {.drives = drives_nothing};
    struct session observes = {.mode = &world, .mode_ops = &ops};
    (void)state;
    line("/continue 0-1 --skip 1");
    clear();
    stop(0, "breakpoint", 30);
    stop(1, "breakpoint", 30);
    world.targets[0].inner = &observes;
    wait_ms(20);
    check_log("tell 0;continue quietly 1;");
}

static void test_until_a_line(void **state)
{
    (void)state;
    line("/until train.py:41 0-1");
    check_log("set /a/train.py:41;continue 0;continue 1;");
    clear();
    stop(0, "breakpoint", 41);
    check_log("stop 0;");
    stop(1, "breakpoint", 35); /* any stop is the end of it */
    check_log("stop 0;stop 1;");
    wait_ms(20);
    check_log("stop 0;stop 1;unset;");
}

static void test_stops_pass_on_a_condition(void **state)
{
    (void)state;
    line("/continue 0-1 --if i < 10");
    clear();
    world.value[0] = "True", world.value[1] = "!NameError: name 'i' is not defined";
    stop(0, "breakpoint", 30);
    stop(1, "breakpoint", 30);
    assert_non_null(strstr(world.questions[0].arguments, "bool((i < 10))"));
    answer_all();
    wait_ms(20);
    check_log("tell 1;continue quietly 0;");
    check_out("--if i < 10: rank 1 T.step pid 801: NameError: name 'i' is not defined");
    world.value[0] = "False";
    stop(0, "breakpoint", 30);
    answer_all();
    check_log("tell 1;continue quietly 0;tell 0;");
    world.threads[0].stopped = false;
    stop(0, "breakpoint", 30); /* it is over */
    check_log("tell 1;continue quietly 0;tell 0;stop 0;");
    line("/continue 0 --skip 9");
    clear();
    stop(0, "exception", 30);
    check_log("stop 0;");
}

static void test_the_session_ends_in_the_middle(void **state)
{
    (void)state;
    line("/barrier train.py:41 0-1");
    stop(0, "breakpoint", 41);
    line("/continue 2 --if x");
    stop(2, "breakpoint", 30);
    line("/compare x");
    assert_true(world.question_count > 0); /* teardown sees that they are dropped */
}

static void test_focus_and_threads(void **state)
{
    (void)state;
    line("/focus rank 2");
    check_out("\"result\":\"rank 2 T.step pid 802\"");
    check_log("show 2;");
    assert_int_equal(world.many.focus, 102);
    clear();
    line("/focus rank");
    check_out("'rank' is 4 tasks");
    world.threads[1].stopped = false;
    line("/focus 1");
    check_out("rank 1 T.step pid 801 is running");
    line("/threads 0-2");
    check_out("        100  stopped  rank 0 T.step pid 800  train.py:30 step\\n ");
    check_out("        101  running  rank 1 T.step pid 801\\n* ");
    line("/help barrier");
    check_out("/barrier FILE:LINE [GROUP] [--timeout S]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_what_is_a_verb_is_taken),
        TEST(test_groups_step_together),
        TEST(test_compare),
        TEST(test_stacks),
        TEST(test_stops_that_pass),
        TEST(test_a_stop_of_a_task_that_is_taken_over),
        TEST(test_until_a_line),
        TEST(test_stops_pass_on_a_condition),
        TEST(test_the_session_ends_in_the_middle),
        TEST(test_focus_and_threads),
    };
    return cmocka_run_group_tests_name("many_verbs", tests, NULL, NULL);
}
