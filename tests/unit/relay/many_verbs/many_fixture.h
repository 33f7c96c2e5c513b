/* Groups of a session over many tasks, whose debuggees are played here: what they are asked, and
 * what the client is told, and when. */
#ifndef RAYDBG_TESTS_MANY_FIXTURE_H
#define RAYDBG_TESTS_MANY_FIXTURE_H

#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/many/many_state.h"
#include "relay/many_verbs/many_verbs_state.h"
#include "relay/session/session_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 4 };

/* A question of the verbs' that is not answered yet. */
struct question {
    struct many_task *target;
    char command[DAP_NAME_MAX];
    char *arguments;
    many_answer_fn fn;
    void *arg;
};

static struct world {
    struct loop *loop;
    struct session session;
    struct many many;
    struct many_task targets[TASKS];
    struct many_thread threads[TASKS];
    struct question questions[64];
    size_t question_count;
    struct buf out; /* what the client got, a message a line */
    struct buf log; /* what was done to the debuggees */
    int64_t seq;
    const char *value[TASKS]; /* of every evaluation; "!…" is a failure, NULL no answer */
    bool own_breakpoint;
} world;

/* --- the session over many, as the verbs see it --- */

void many_ask(struct many_task *target, const char *command, const char *arguments,
              int64_t timeout_ms, many_answer_fn fn, void *arg)
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

void many_drop_requests(struct many *many, const void *arg)
{
    assert_ptr_equal(many, &world.many);
    for (size_t i = world.question_count; i-- > 0;)
        if (world.questions[i].arg == arg)
            take_question(i);
}

struct many_thread *many_thread_by_id(const struct many *many, int64_t id,
                                      struct many_task **target)
{
    for (*target = many->targets; *target; *target = (*target)->next)
        for (size_t i = 0; i < (*target)->thread_count; i++)
            if ((*target)->threads[i].id == id)
                return &(*target)->threads[i];
    return NULL;
}

bool many_task_is_there(const struct many_task *target)
{
    return target->state == MANY_RUNNING && !target->stalled;
}

void many_resume(struct many_task *target, const struct many_thread *thread, const char *how,
                 bool all, bool tell)
{
    struct many_thread *it = &world.threads[target->slot];
    assert_ptr_equal(it, thread);
    assert_true(it->stopped);
    assert_false(all);
    it->stopped = it->told = false;
    buf_printf(&world.log, "%s%s %s;", how, tell ? "" : " quietly", target->rank);
}

void many_stop_note(struct many_task *target, struct many_thread *thread)
{
    assert_true(thread->stopped);
    thread->told = true;
    buf_printf(&world.log, "tell %s;", target->rank);
}

void many_stop_show(struct many_task *target, struct many_thread *thread)
{
    assert_true(thread->stopped);
    buf_printf(&world.log, "show %s;", target->rank);
}

void many_stop_show_all(struct many *many, struct many_task *target,
                        const struct many_thread *thread)
{
    assert_ptr_equal(many, &world.many);
    assert_true(thread->stopped);
    for (int i = 0; i < TASKS; i++)
        world.threads[i].told = world.threads[i].stopped;
    buf_printf(&world.log, "show all, %s first;", target->rank);
}

int64_t many_breakpoints_add(struct many_breakpoints *sets, const char *path, int64_t line)
{
    (void)sets;
    buf_printf(&world.log, "set %s:%lld;", path, (long long)line);
    return 77;
}

void many_breakpoints_remove(struct many_breakpoints *sets, int64_t handle)
{
    (void)sets;
    assert_int_equal(handle, 77);
    buf_add_string(&world.log, "unset;");
}

bool many_breakpoints_stops(const struct many_breakpoints *sets, const char *path, int64_t line)
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

static void set_stack(struct many_thread *thread, int line)
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
    world.many.loop = world.loop;
    world.many.session = &world.session;
    world.many.client = &world.session.client;
    world.many.attach = &world.session.attach;
    world.many.options = &world.session.options;
    world.many.targets = world.targets;
    client_init(&world.session.client, on_message, NULL);
    for (int i = 0; i < TASKS; i++) {
        struct many_task *target = &world.targets[i];
        struct many_thread *thread = &world.threads[i];
        *target = (struct many_task){
            .many = &world.many,
            .next = i + 1 < TASKS ? target + 1 : NULL,
            .slot = (uint32_t)i,
            .threads = thread,
            .thread_count = 1,
            .state = MANY_RUNNING,
            .rank = mem_format("%d", i),
        };
        *thread = (struct many_thread){
            .id = 100 + i, .own = 1, .shown = true, .stopped = true, .told = true, .stops = 1};
        thread->name = mem_format("rank %d T.step pid %d", i, 800 + i);
        text_copy(thread->reason, sizeof thread->reason, "breakpoint");
        set_stack(thread, 30);
    }
    world.many.verbs = many_verbs_create(&world.many);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    many_verbs_destroy(&world.many.verbs);
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
    bool taken = many_verbs_request(world.many.verbs, json.data, json.len, &envelope);
    buf_free(&json);
    return taken;
}

static void line(const char *text)
{
    char *arguments = mem_format("{\"expression\":\"%s\",\"context\":\"repl\"}", text);
    assert_true(request("evaluate", arguments));
    free(arguments);
}

static void stop(int rank, const char *reason, int at)
{
    struct many_thread *thread = &world.threads[rank];
    assert_false(thread->stopped);
    thread->stopped = true;
    thread->told = false;
    thread->stops++;
    text_copy(thread->reason, sizeof thread->reason, reason);
    set_stack(thread, at);
    if (!many_verbs_stopped(world.many.verbs, &world.targets[rank], thread)) {
        buf_printf(&world.log, "stop %d;", rank);
        thread->told = true;
    }
}

/* The loop turns for this long, and once more however busy the machine is: what is due then has
 * run. */
static void wait_ms(int64_t ms)
{
    for (int64_t until = loop_now_us() + ms * 1000; loop_now_us() < until;)
        loop_run_once(world.loop, 5);
    loop_run_once(world.loop, 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
