/* The rank of a task when its worker runs the next task. The debuggee and the cluster are played
 * here. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/many/many_state.h"
#include "relay/session/session_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An `evaluate` without an answer. */
struct question {
    many_answer_fn fn;
    void *arg;
};

static struct world {
    struct loop *loop;
    struct session session;
    struct many many;
    struct many_task task;
    struct many_task *by_slot[1];
    struct pause pause; /* the cluster's */
    struct pause_list pauses;
    struct question questions[8];
    size_t count;
    bool no_stack; /* requests for a stack get no answer yet */
    struct question stack;
} world;

/* --- the rest of the session --- */

static void answer(const struct question *question, const char *command, const char *body)
{
    struct envelope envelope;
    const char *problem;
    char *json = mem_format("{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":true,"
                            "\"command\":\"%s\",\"body\":%s}",
                            command, body);
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    question->fn(question->arg, &world.task, json, strlen(json), &envelope);
    free(json);
}

static void give_stack(const struct question *question)
{
    answer(question, "stackTrace", "{\"stackFrames\":[{\"id\":5,\"name\":\"train\"}]}");
}

void many_ask(struct many_task *task, const char *command, const char *arguments,
              int64_t timeout_ms, many_answer_fn fn, void *arg)
{
    struct question question = {fn, arg};
    assert_ptr_equal(task, &world.task);
    assert_true(timeout_ms > 0);
    if (text_equal(command, "stackTrace") && world.no_stack) {
        world.stack = question;
    } else if (text_equal(command, "stackTrace")) {
        give_stack(&question);
    } else {
        assert_string_equal(command, "evaluate");
        assert_non_null(strstr(arguments, "\"frameId\":5,"));
        assert_true(world.count < sizeof world.questions / sizeof *world.questions);
        world.questions[world.count++] = question;
    }
}

void many_drop_requests(struct many *many, const void *arg)
{
    (void)many, (void)arg;
}

void many_pass(struct many_task *task, int64_t client_seq, int64_t thread, const char *json,
               size_t len, const struct envelope *envelope)
{
    (void)task, (void)client_seq, (void)thread, (void)json, (void)len, (void)envelope;
}

void many_pass_out(struct many_task *task, int64_t client_seq, int64_t thread, const char *json,
                   size_t len, const struct envelope *envelope)
{
    (void)task, (void)client_seq, (void)thread, (void)json, (void)len, (void)envelope;
}

void many_task_move_at(struct invariant_location location, struct many_task *task,
                       enum many_task_state next)
{
    (void)location, (void)task, (void)next;
}

void many_task_attach(struct many_task *task)
{
    (void)task;
    fail_msg("another task joins");
}

void many_task_configure(struct many_task *task)
{
    (void)task;
}

struct cluster *__wrap_pause_finder_use_cluster(struct pause_finder *finder,
                                                const struct attach_arguments *arguments,
                                                struct err *err);
void __wrap_cluster_refresh(struct cluster *cluster, cluster_done_fn fn, void *arg);
void __wrap_cluster_refresh_cancel(struct cluster *cluster, const void *arg);
const struct pause_list *__wrap_cluster_pauses(const struct cluster *cluster);

struct cluster *__wrap_pause_finder_use_cluster(struct pause_finder *finder,
                                                const struct attach_arguments *arguments,
                                                struct err *err)
{
    (void)finder, (void)arguments, (void)err;
    return (struct cluster *)(void *)&world; /* opaque to the discovery */
}

void __wrap_cluster_refresh(struct cluster *cluster, cluster_done_fn fn, void *arg)
{
    (void)cluster;
    fn(arg, NULL);
}

void __wrap_cluster_refresh_cancel(struct cluster *cluster, const void *arg)
{
    (void)cluster, (void)arg;
}

const struct pause_list *__wrap_cluster_pauses(const struct cluster *cluster)
{
    (void)cluster;
    return &world.pauses;
}

static bool withhold(struct many_verbs *verbs, struct many_task *task, struct many_thread *thread)
{
    (void)verbs, (void)task, (void)thread;
    return true;
}

static void on_message(void *arg, const char *json, size_t len)
{
    (void)arg, (void)json, (void)len;
}

/* --- a session --- */

static void runs(const char *task_id)
{
    text_copy(world.pause.task_id, sizeof world.pause.task_id, task_id);
}

static int begin(void **state)
{
    static const struct many_hooks hooks = {.stopped = withhold};
    struct err err;
    (void)state;
    world = (struct world){.loop = loop_create(false, &err)};
    assert_non_null(world.loop);
    client_init(&world.session.client, on_message, NULL);
    struct many *many = &world.many;
    *many = (struct many){
        .loop = world.loop,
        .session = &world.session,
        .client = &world.session.client,
        .attach = &world.session.attach,
        .options = &world.session.options,
        .ids = idmap_create(),
        .jobs = many_jobs_create(),
        .targets = &world.task,
        .by_slot = world.by_slot,
        .slots = 1,
        .target_count = 1,
        .initialized = true,
        .configured = true,
        .introduced = true,
        .gathered = true,
        .hooks = &hooks,
    };
    many_set_magic(many);
    many->sets = many_breakpoints_create(many);
    world.pause = (struct pause){.pid = 811,
                                 .task_name = mem_string("train"),
                                 .node_ip = mem_string("10.0.0.7"),
                                 .worker_id = "77",
                                 .state = PAUSE_ATTACHED};
    runs("a1");
    world.pauses = (struct pause_list){&world.pause, 1};
    world.task = (struct many_task){.many = many, .state = MANY_RUNNING};
    world.by_slot[0] = &world.task;
    pause_copy(&world.task.pause, &world.pause);
    many->find = many_discovery_start(many, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    many_discovery_stop(&world.many.find);
    many_stops_free(&world.many);
    many_threads_free(&world.task);
    many_breakpoints_destroy(&world.many.sets);
    many_jobs_destroy(&world.many.jobs);
    idmap_destroy(&world.many.ids);
    client_free(&world.session.client);
    pause_clear(&world.task.pause);
    pause_clear(&world.pause);
    free(world.task.rank);
    loop_destroy(&world.loop);
    return 0;
}

/* The cluster is looked at. */
static void look(void)
{
    loop_skip(world.loop, 10000);
}

static void stop(void)
{
    static const char json[] = "{\"seq\":1,\"type\":\"event\",\"event\":\"stopped\","
                               "\"body\":{\"reason\":\"breakpoint\",\"threadId\":1}}";
    struct envelope event;
    const char *problem;
    assert_int_equal(envelope_read(&event, json, sizeof json - 1, &problem), 0);
    many_thread_on_stopped(&world.task, json, sizeof json - 1, &event);
}

static void go_on(void)
{
    many_thread_runs(&world.task, 1, true, false);
}

/* Answers the oldest question. */
static void say(const char *rank)
{
    struct question question = world.questions[0];
    assert_true(world.count > 0);
    memmove(world.questions, world.questions + 1, --world.count * sizeof *world.questions);
    char *body = mem_format("{\"result\":\"'%s'\",\"variablesReference\":0}", rank);
    answer(&question, "evaluate", body);
    free(body);
}

static void assert_name(const char *name)
{
    assert_int_equal(world.count, 0);
    assert_string_equal(world.task.threads[0].name, name);
}

/* --- tests --- */

static void one_task_is_asked_once(void **state)
{
    (void)state;
    stop();
    say("3");
    assert_name("rank 3 train 10.0.0.7 pid 811");
    go_on();
    look();
    stop();
    look();
    assert_name("rank 3 train 10.0.0.7 pid 811");
}

static void the_next_task_has_a_rank_of_its_own(void **state)
{
    (void)state;
    stop();
    say("3");
    go_on();
    runs("b2");
    look();
    assert_name("pid 811 train 10.0.0.7");
    assert_string_equal(world.task.pause.task_id, "b2");
    stop();
    say("7");
    assert_name("rank 7 train 10.0.0.7 pid 811");
}

static void a_stop_may_be_known_before_its_task(void **state)
{
    (void)state;
    stop();
    say("3");
    go_on();
    runs("b2");
    stop();
    look();
    say("7");
    assert_name("rank 7 train 10.0.0.7 pid 811");
    go_on();
    runs("c3");
    world.no_stack = true;
    stop();
    look();
    assert_name("pid 811 train 10.0.0.7");
    give_stack(&world.stack);
    say("8");
    assert_name("rank 8 train 10.0.0.7 pid 811");
}

static void an_answer_about_the_task_before_does_not_count(void **state)
{
    (void)state;
    stop();
    go_on();
    runs("b2");
    stop();
    look();
    assert_int_equal(world.count, 2);
    say("3");
    assert_false(world.task.rank_known);
    say("7");
    assert_name("rank 7 train 10.0.0.7 pid 811");
}

static void an_actor_keeps_its_rank(void **state)
{
    (void)state;
    text_copy(world.task.pause.actor_id, sizeof world.task.pause.actor_id, "ac");
    stop();
    say("3");
    go_on();
    runs("b2");
    look();
    assert_name("rank 3 train 10.0.0.7 pid 811");
    stop();
    say(""); /* in a frame without `self` */
    assert_name("rank 3 train 10.0.0.7 pid 811");
    go_on();
    runs("c3");
    look();
    stop();
    say("7");
    assert_name("rank 7 train 10.0.0.7 pid 811");
}

static void one_of_several_tasks_is_not_the_next(void **state)
{
    (void)state;
    stop();
    say("3");
    world.pause.ambiguous = true;
    runs("b2");
    look();
    assert_name("rank 3 train 10.0.0.7 pid 811");
}

static void an_id_that_comes_late_is_of_the_same_task(void **state)
{
    (void)state;
    world.task.pause.task_id[0] = '\0';
    stop();
    say("3");
    look();
    assert_name("rank 3 train 10.0.0.7 pid 811");
    assert_string_equal(world.task.pause.task_id, "a1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(one_task_is_asked_once),
        TEST(the_next_task_has_a_rank_of_its_own),
        TEST(a_stop_may_be_known_before_its_task),
        TEST(an_answer_about_the_task_before_does_not_count),
        TEST(an_actor_keeps_its_rank),
        TEST(one_of_several_tasks_is_not_the_next),
        TEST(an_id_that_comes_late_is_of_the_same_task),
    };
    return cmocka_run_group_tests_name("ranks of many tasks", tests, NULL, NULL);
}
