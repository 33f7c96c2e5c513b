/* Groups over a multi whose debuggees are played here: what is asked of them, what the client is
 * told, and when. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/multi_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 4 };

/* A question of the verbs' that is not answered yet. */
struct question {
    struct multi_target *target;
    char command[DAP_NAME_MAX];
    char *arguments;
    multi_answer_fn fn;
    void *arg;
};

static struct world {
    struct loop *loop;
    struct session session;
    struct multi multi;
    struct multi_target targets[TASKS];
    struct multi_thread threads[TASKS];
    struct question questions[64];
    size_t question_count;
    struct buf out; /* what the client got, a message a line */
    struct buf log; /* what was done to the debuggees */
    int64_t seq;
    const char *value[TASKS]; /* of every evaluation; "!…" is a failure, NULL no answer */
    bool own_breakpoint;
} world;

/* --- the multi, as the verbs see it --- */

void multi_ask(struct multi_target *target, const char *command, const char *arguments,
               int64_t timeout_ms, multi_answer_fn fn, void *arg)
{
    assert_true(timeout_ms > 0);
    assert_true(world.question_count < sizeof world.questions / sizeof *world.questions);
    struct question *question = &world.questions[world.question_count++];
    *question = (struct question){
        .target = target, .arguments = mem_string(arguments), .fn = fn, .arg = arg};
    text_copy(question->command, sizeof question->command, command);
}

static void take_question(size_t at)
{
    free(world.questions[at].arguments);
    world.questions[at] = world.questions[--world.question_count];
}

void multi_drop_asks(struct multi *multi, const void *arg)
{
    assert_ptr_equal(multi, &world.multi);
    for (size_t i = world.question_count; i-- > 0;)
        if (world.questions[i].arg == arg)
            take_question(i);
}

struct multi_thread *multi_thread_by_id(const struct multi *multi, int64_t id,
                                        struct multi_target **target)
{
    for (*target = multi->targets; *target; *target = (*target)->next)
        for (size_t i = 0; i < (*target)->thread_count; i++)
            if ((*target)->threads[i].id == id)
                return &(*target)->threads[i];
    return NULL;
}

bool multi_target_is_there(const struct multi_target *target)
{
    return target->state == MULTI_RUNNING;
}

void multi_resume(struct multi_target *target, const struct multi_thread *thread, const char *how,
                  bool all, bool tell)
{
    struct multi_thread *it = &world.threads[target->slot];
    assert_ptr_equal(it, thread);
    assert_true(it->stopped);
    assert_false(all);
    it->stopped = it->told = false;
    buf_printf(&world.log, "%s%s %s;", how, tell ? "" : " quietly", target->rank);
}

void multi_stop_note(struct multi_target *target, struct multi_thread *thread)
{
    assert_true(thread->stopped);
    thread->told = true;
    buf_printf(&world.log, "tell %s;", target->rank);
}

void multi_stop_show(struct multi_target *target, struct multi_thread *thread)
{
    assert_true(thread->stopped);
    buf_printf(&world.log, "show %s;", target->rank);
}

void multi_stop_show_all(struct multi *multi, struct multi_target *target,
                         const struct multi_thread *thread)
{
    assert_ptr_equal(multi, &world.multi);
    assert_true(thread->stopped);
    for (int i = 0; i < TASKS; i++)
        world.threads[i].told = world.threads[i].stopped;
    buf_printf(&world.log, "show all, %s first;", target->rank);
}

int64_t multi_sets_add(struct multi_sets *sets, const char *path, int64_t line)
{
    (void)sets;
    buf_printf(&world.log, "set %s:%lld;", path, (long long)line);
    return 77;
}

void multi_sets_remove(struct multi_sets *sets, int64_t handle)
{
    (void)sets;
    assert_int_equal(handle, 77);
    buf_add_string(&world.log, "unset;");
}

bool multi_sets_has(const struct multi_sets *sets, const char *path, int64_t line)
{
    (void)sets, (void)path, (void)line;
    return world.own_breakpoint;
}

/* --- the world --- */

static void on_message(void *arg, const char *json, size_t len)
{
    (void)arg;
    buf_add(&world.out, json, len);
    buf_add_string(&world.out, "\n");
}

static void set_stack(struct multi_thread *thread, int line)
{
    free(thread->stack);
    thread->stack = mem_format(
        "{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":"
        "\"stackTrace\",\"body\":{\"stackFrames\":[{\"id\":5,\"name\":\"step\",\"line\":%d,"
        "\"source\":{\"path\":\"/a/train.py\"}}]}}",
        line);
    thread->stack_len = strlen(thread->stack);
}

static int setup(void **state)
{
    struct err err;
    (void)state;
    memset(&world, 0, sizeof world);
    world.loop = loop_create(false, &err);
    world.multi.loop = world.loop;
    world.multi.session = &world.session;
    world.multi.targets = world.targets;
    client_init(&world.session.client, on_message, NULL);
    for (int i = 0; i < TASKS; i++) {
        struct multi_target *target = &world.targets[i];
        struct multi_thread *thread = &world.threads[i];
        *target = (struct multi_target){
            .multi = &world.multi,
            .next = i + 1 < TASKS ? target + 1 : NULL,
            .slot = (uint32_t)i,
            .threads = thread,
            .thread_count = 1,
            .state = MULTI_RUNNING,
            .rank = mem_format("%d", i),
        };
        *thread = (struct multi_thread){
            .id = 100 + i, .own = 1, .shown = true, .stopped = true, .told = true, .stops = 1};
        thread->name = mem_format("rank %d T.step pid %d", i, 800 + i);
        text_copy(thread->reason, sizeof thread->reason, "breakpoint");
        set_stack(thread, 30);
    }
    world.multi.verbs = multi_verbs_create(&world.multi);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    multi_verbs_destroy(&world.multi.verbs);
    assert_int_equal(world.question_count, 0);
    for (int i = 0; i < TASKS; i++) {
        free(world.targets[i].rank);
        free(world.threads[i].name);
        free(world.threads[i].stack);
    }
    client_free(&world.session.client);
    buf_free(&world.out);
    buf_free(&world.log);
    loop_destroy(&world.loop);
    return 0;
}

static void clear(void)
{
    buf_clear(&world.out, 65536);
    buf_clear(&world.log, 65536);
}

static bool request(const char *command, const char *arguments)
{
    struct buf json = {0};
    struct envelope envelope;
    const char *problem;
    buf_printf(&json, "{\"seq\":%lld,\"type\":\"request\",\"command\":\"%s\",\"arguments\":%s}",
               (long long)++world.seq, command, arguments);
    assert_int_equal(envelope_read(&envelope, json.data, json.len, &problem), 0);
    bool taken = multi_verbs_request(world.multi.verbs, json.data, json.len, &envelope);
    buf_free(&json);
    return taken;
}

static void line(const char *text)
{
    char *arguments = mem_format("{\"expression\":\"%s\",\"context\":\"repl\"}", text);
    assert_true(request("evaluate", arguments));
    free(arguments);
}

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

static void stop(int rank, const char *reason, int at)
{
    struct multi_thread *thread = &world.threads[rank];
    assert_false(thread->stopped);
    thread->stopped = true;
    thread->told = false;
    thread->stops++;
    text_copy(thread->reason, sizeof thread->reason, reason);
    set_stack(thread, at);
    if (!multi_verbs_stopped(world.multi.verbs, &world.targets[rank], thread)) {
        buf_printf(&world.log, "stop %d;", rank);
        thread->told = true;
    }
}

static void wait_ms(int64_t ms)
{
    for (int64_t until = loop_now_us() + ms * 1000; loop_now_us() < until;)
        loop_run_once(world.loop, 5);
}

static void check_log(const char *expected)
{
    assert_string_equal(world.log.data ? world.log.data : "", expected);
}

static void check_out(const char *part)
{
    if (!world.out.data || !strstr(world.out.data, part))
        fail_msg("no %s in\n%s", part, world.out.data ? world.out.data : "");
}

static void check_not_out(const char *part)
{
    if (world.out.data && strstr(world.out.data, part))
        fail_msg("%s is in\n%s", part, world.out.data);
}

/* --- tests --- */

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
    check_out("\"body\":{\"threadIds\":[100],\"running\":1}");
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
    multi_verbs_resumed(world.multi.verbs, 101); /* not one that is held */
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
    multi_verbs_gone(world.multi.verbs, &world.targets[2]);
    wait_ms(20);
    check_out("barrier train.py:41: 1 of 1; no longer waited for: rank 1 T.step pid 801 (stopped "
              "by an exception); rank 2 T.step pid 802 (its worker is gone); all here after");
    assert_true(world.threads[0].told);
}

static void test_a_barrier_that_nobody_is_left_for(void **state)
{
    (void)state;
    line("/barrier train.py:41 1-2");
    multi_verbs_gone(world.multi.verbs, &world.targets[1]);
    multi_verbs_gone(world.multi.verbs, &world.targets[2]);
    wait_ms(20);
    check_out("; nobody is left to wait for\\n");
    line("/barrier train.py:41 0");
    clear();
    world.multi.leaving = true; /* the client goes: nothing is said to it any more */
    wait_ms(600);
    assert_int_equal(world.out.len, 0);
    check_log("unset;");
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
    assert_int_equal(world.multi.focus, 102);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_only_what_is_a_verb_is_taken),
        TEST(test_groups_step_together),
        TEST(test_compare),
        TEST(test_stacks),
        TEST(test_a_barrier_holds_until_the_last_comes),
        TEST(test_a_barrier_that_times_out),
        TEST(test_a_barrier_names_who_never_comes),
        TEST(test_a_barrier_that_nobody_is_left_for),
        TEST(test_a_barrier_is_given_up_by_hand),
        TEST(test_a_breakpoint_of_the_users_stops_on_the_way),
        TEST(test_others_pass_a_barriers_line),
        TEST(test_a_file_that_nobody_runs),
        TEST(test_stops_that_pass),
        TEST(test_until_a_line),
        TEST(test_stops_pass_on_a_condition),
        TEST(test_the_session_ends_in_the_middle),
        TEST(test_focus_and_threads),
    };
    return cmocka_run_group_tests_name("multi_verbs", tests, NULL, NULL);
}
