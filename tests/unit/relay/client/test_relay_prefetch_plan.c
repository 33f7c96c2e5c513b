/* What a client asks after a stop is learned from what it has asked. */
#include "cmocka_prelude.h"

#include "relay/client/prefetch_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t number;

static struct plan_step *ask(struct plan *plan, const char *command, const char *arguments)
{
    char json[2048];
    struct envelope envelope;
    const char *problem;
    snprintf(json, sizeof json, "{\"seq\":1,\"type\":\"request\",\"command\":\"%s\"%s%s}", command,
             arguments ? ",\"arguments\":" : "", arguments ? arguments : "");
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    return plan_asked(plan, json, &envelope);
}

static void answer(struct plan_step *step, const char *body)
{
    char json[8192];
    struct envelope envelope;
    const char *problem;
    assert_non_null(step);
    snprintf(json, sizeof json,
             "{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":"
             "\"%s\",\"body\":%s}",
             plan_command(step), body);
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    plan_answered(step, json, &envelope);
}

/* The next step is asked ahead, with these arguments (NULL: none). */
static struct plan_step *expect(struct plan *plan, const char *command, const char *arguments)
{
    struct buf out = {0};
    struct plan_step *step = plan_next(plan, ++number, &out);
    if (!step)
        fail_msg("%s is not asked", command);
    assert_string_equal(plan_command(step), command);
    if (arguments)
        assert_string_equal(out.data, arguments);
    else
        assert_int_equal(out.len, 0);
    buf_free(&out);
    return step;
}

static void expect_none(struct plan *plan)
{
    struct buf out = {0};
    const struct plan_step *step = plan_next(plan, ++number, &out);
    if (step)
        fail_msg("%s %s is asked", plan_command(step), out.data);
    buf_free(&out);
}

static void answer_stack(struct plan_step *step, int first)
{
    char body[128];
    snprintf(body, sizeof body, "{\"stackFrames\":[{\"id\":%d},{\"id\":%d}]}", first, first + 1);
    answer(step, body);
}

static void answer_scopes(struct plan_step *step, int locals)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"scopes\":[{\"name\":\"Locals\",\"variablesReference\":%d},{\"name\":\"Globals\","
             "\"variablesReference\":%d},{\"name\":\"All\",\"variablesReference\":%d,\"expensive\":"
             "true}]}",
             locals, locals + 1, locals + 2);
    answer(step, body);
}

static void test_the_guess(void **state)
{
    (void)state;
    struct plan *plan = plan_create(true);
    expect_none(plan); /* no stop yet */
    plan_stop(plan, 5, false);
    expect(plan, "threads", NULL);
    struct plan_step *step =
        expect(plan, "stackTrace", "{\"threadId\":5,\"startFrame\":0,\"levels\":1}");
    expect_none(plan);
    answer_stack(step, 30);
    step = expect(plan, "scopes", "{\"frameId\":30}");
    expect_none(plan);
    answer_scopes(step, 60);
    expect(plan, "variables", "{\"variablesReference\":60}");
    expect_none(plan);
    plan_destroy(&plan);
    plan = plan_create(false);
    plan_stop(plan, 5, false);
    expect_none(plan);
    plan_destroy(&plan);
}

/* A stop at which the client asks all by itself. */
static void look(struct plan *plan, int64_t thread, int first)
{
    char text[128];
    snprintf(text, sizeof text, "{\"levels\":20,\"threadId\": %d ,\"x\":[1]}", (int)thread);
    answer_stack(ask(plan, "stackTrace", text), first);
    snprintf(text, sizeof text, "{\"frameId\":%d}", first + 1);
    answer_scopes(ask(plan, "scopes", text), first + 10);
    snprintf(text, sizeof text, "{\"variablesReference\":%d,\"count\":9}", first + 11);
    answer(ask(plan, "variables", text),
           "{\"variables\":[{\"name\":\"a\",\"variablesReference\":0},{\"name\":\"b\","
           "\"variablesReference\":99}]}");
    assert_non_null(ask(plan, "variables", "{\"variablesReference\":99}"));
    assert_null(ask(plan, "variables", "{\"variablesReference\":98}")); /* nobody knows it */
    snprintf(text, sizeof text, "{\"variablesReference\":%d}", first + 12);
    assert_null(ask(plan, "variables", text)); /* expensive */
    assert_null(ask(plan, "stackTrace", "{\"threadId\":77}"));
    assert_null(ask(plan, "evaluate", "{\"expression\":\"1\"}"));
}

static void test_what_was_asked_is_asked_again(void **state)
{
    (void)state;
    struct plan *plan = plan_create(false);
    plan_stop(plan, 5, false);
    look(plan, 5, 30);
    plan_stop(plan, 6, true); /* another thread: the same about that */
    struct plan_step *step =
        expect(plan, "stackTrace", "{\"levels\":20,\"threadId\": 6 ,\"x\":[1]}");
    expect_none(plan);
    answer_stack(step, 40);
    step = expect(plan, "scopes", "{\"frameId\":41}"); /* the second frame, as before */
    answer_scopes(step, 70);
    step = expect(plan, "variables", "{\"variablesReference\":71,\"count\":9}"); /* Globals */
    answer(step, "{\"variables\":[{\"name\":\"b\",\"variablesReference\":7},{\"name\":\"c\","
                 "\"variablesReference\":8}]}");
    expect(plan, "variables", "{\"variablesReference\":7}"); /* what b is now */
    expect_none(plan);
    plan_destroy(&plan);
}

static void test_who_asks_nothing_gets_nothing(void **state)
{
    (void)state;
    struct plan *plan = plan_create(false);
    plan_stop(plan, 5, false);
    assert_non_null(ask(plan, "threads", "{}"));
    plan_stop(plan, 5, true);
    expect(plan, "threads", "{}");
    assert_true(plan_used(plan, number));
    assert_false(plan_used(plan, number)); /* once */
    assert_false(plan_used(plan, number + 1));
    plan_stop(plan, 5,
              false); /* nobody knows what the client has done: nothing is held against it */
    expect(plan, "threads", "{}");
    plan_stop(plan, 5, false);
    expect(plan, "threads", "{}");
    plan_stop(plan, 5, true);
    expect_none(plan); /* not used */
    assert_non_null(ask(plan, "threads", " { } "));
    plan_stop(plan, 5, true);
    expect_none(plan);
    assert_non_null(ask(plan, "threads", "{}"));
    plan_stop(plan, 5, true);
    expect(plan, "threads", "{}"); /* it does ask, after all */
    expect_none(plan);
    plan_destroy(&plan);
}

/* The guess's stack is not what the client asks for, but its scopes are. */
static void test_a_wrong_guess_costs_one_stop(void **state)
{
    (void)state;
    struct plan *plan = plan_create(true);
    plan_stop(plan, 5, false);
    expect(plan, "threads", NULL);
    answer_stack(expect(plan, "stackTrace", "{\"threadId\":5,\"startFrame\":0,\"levels\":1}"), 30);
    answer_scopes(expect(plan, "scopes", "{\"frameId\":30}"), 60);
    assert_true(plan_used(plan, number));
    expect(plan, "variables", "{\"variablesReference\":60}");
    assert_true(plan_used(plan, number));
    answer_stack(ask(plan, "stackTrace", "{\"threadId\":5}"), 30);
    plan_stop(plan, 5, true);
    answer_stack(expect(plan, "stackTrace", "{\"threadId\":5}"), 31);
    answer_scopes(expect(plan, "scopes", "{\"frameId\":31}"), 61);
    expect(plan, "variables", "{\"variablesReference\":61}");
    expect_none(plan);
    plan_destroy(&plan);
}

static void test_a_plan_does_not_grow(void **state)
{
    (void)state;
    struct plan *plan = plan_create(false);
    char text[64];
    plan_stop(plan, 5, false);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "{\"threadId\":5,\"levels\":%d}", i);
        assert_int_equal(ask(plan, "stackTrace", text) != NULL, i < PLAN_STEPS);
    }
    plan_stop(plan, 5, true);
    for (int i = 0; i < PLAN_STEPS; i++) {
        snprintf(text, sizeof text, "{\"threadId\":5,\"levels\":%d}", i);
        expect(plan, "stackTrace", text);
    }
    expect_none(plan);
    for (int i = 0; i < 6; i++) /* nobody asks for them any more: there is room again */
        plan_stop(plan, 5, true);
    assert_non_null(ask(plan, "threads", NULL));
    plan_destroy(&plan);
}

static void test_what_is_expensive_is_left(void **state)
{
    (void)state;
    struct plan *plan = plan_create(true);
    plan_stop(plan, 5, false);
    expect(plan, "threads", NULL);
    answer_stack(expect(plan, "stackTrace", "{\"threadId\":5,\"startFrame\":0,\"levels\":1}"), 30);
    answer(expect(plan, "scopes", "{\"frameId\":30}"),
           "{\"scopes\":[{\"name\":\"All\",\"variablesReference\":6,\"expensive\":true},{\"name\":"
           "\"Locals\",\"variablesReference\":7}]}");
    expect(plan, "variables", "{\"variablesReference\":7}");
    expect_none(plan);
    plan_destroy(&plan);
}

/* What is below a step goes with it. */
static void test_a_stack_that_is_never_answered(void **state)
{
    (void)state;
    struct plan *plan = plan_create(false);
    plan_stop(plan, 5, false);
    for (int i = 0; i < 4; i++) {
        answer_stack(ask(plan, "stackTrace", "{\"threadId\":5}"), 30);
        assert_non_null(ask(plan, "scopes", "{\"frameId\":30}"));
        plan_stop(plan, 5, true);
    }
    expect(plan, "stackTrace", "{\"threadId\":5}");
    for (int i = 0; i < 8; i++)
        plan_stop(plan, 5, true);
    answer_stack(ask(plan, "stackTrace", "{\"threadId\":5}"), 30);
    plan_stop(plan, 5, true);
    answer_stack(expect(plan, "stackTrace", "{\"threadId\":5}"), 30);
    expect_none(plan);
    plan_destroy(&plan);
}

static void test_odd_arguments(void **state)
{
    (void)state;
    static const char *const odd[] = {"[]", "{}", "{\"threadId\":\"5\"}", "{\"threadId\":5.5}",
                                      "5"};
    struct plan *plan = plan_create(false);
    char text[1500];
    assert_null(ask(plan, "threads", NULL)); /* before any stop */
    plan_stop(plan, 5, false);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_null(ask(plan, "stackTrace", odd[i]));
    snprintf(text, sizeof text, "{\"threadId\":5,\"x\":\"%01200d\"}", 0);
    assert_null(ask(plan, "stackTrace", text));
    struct plan_step *step = ask(plan, "stackTrace", "{\"threadId\":5}");
    answer(step, "{\"stackFrames\":{}}");
    answer(step, "{\"stackFrames\":[1,null,{},{\"id\":\"x\"},[]]}");
    answer(step, "[]");
    assert_null(ask(plan, "scopes", "{\"frameId\":1}"));
    plan_destroy(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_guess),
        cmocka_unit_test(test_what_was_asked_is_asked_again),
        cmocka_unit_test(test_who_asks_nothing_gets_nothing),
        cmocka_unit_test(test_a_wrong_guess_costs_one_stop),
        cmocka_unit_test(test_a_plan_does_not_grow),
        cmocka_unit_test(test_what_is_expensive_is_left),
        cmocka_unit_test(test_a_stack_that_is_never_answered),
        cmocka_unit_test(test_odd_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
