/* How long a session over many tasks gathers them before the client is shown anything: on a quiet
 * machine and on a busy one, by a clock that the test moves. The debuggees are played here. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "relay/many/many_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TASKS = 3 };

static struct world {
    struct loop *loop;
    struct attach_arguments attach;
    struct many many;
    struct many_task tasks[TASKS];
    struct many_task *by_slot[TASKS];
    struct many_thread threads[TASKS];
    int64_t paused;  /* threads in each worker that attaches */
    struct buf told; /* what the client was sent */
} world;

/* --- the rest of the session --- */

void client_event(struct client *client, const char *event, const char *body)
{
    (void)client, (void)body;
    buf_printf(&world.told, "%s;", event);
}

void client_respond(struct client *client, int64_t request_seq, const char *command,
                    const char *body)
{
    (void)client, (void)request_seq, (void)command, (void)body;
}

void client_refuse(struct client *client, int64_t request_seq, const char *command, const char *why,
                   bool show_user)
{
    (void)client, (void)request_seq, (void)command, (void)show_user;
    fail_msg("%s", why);
}

void session_send_initialized(struct session *session)
{
    (void)session;
    buf_add_string(&world.told, "initialized;");
}

void session_attach_succeeded(struct session *session)
{
    (void)session;
}

int64_t session_paused_threads(const struct session *session)
{
    (void)session;
    return world.paused;
}

void many_say(struct many *many, const char *category, const char *format, ...)
{
    (void)many, (void)category;
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[strcspn(text, ":") + strcspn(strchr(text, ':') + 1, ":") + 1] = '\0';
    buf_printf(&world.told, "%s;", text);
}

void many_tell_thread(struct many *many, const char *reason, int64_t id)
{
    (void)many, (void)reason, (void)id;
}

void many_tell_continued(struct many *many, int64_t id)
{
    (void)many, (void)id;
}

void many_pass_out(struct many_task *task, int64_t client_seq, int64_t thread, const char *json,
                   size_t len, const struct envelope *envelope)
{
    (void)client_seq, (void)thread, (void)len, (void)envelope;
    size_t shown = 0;
    for (size_t i = 0; i < TASKS; i++)
        shown += world.threads[i].told;
    if (strstr(json, "\"allThreadsStopped\":true"))
        buf_printf(&world.told, "shows %zu;", shown);
    else
        buf_printf(&world.told, "adds %u;", (unsigned)task->slot);
}

void many_task_move_at(struct invariant_location location, struct many_task *task,
                       enum many_task_state next)
{
    (void)location;
    task->state = next;
}

void many_task_attach(struct many_task *task)
{
    task->state = MANY_ATTACHING;
    task->since_us = loop_now_us();
}

void many_task_configure(struct many_task *task)
{
    task->state = MANY_RUNNING;
}

void many_capabilities_tell(struct many *many)
{
    (void)many;
}

void many_capabilities_joined(const struct many_task *task)
{
    (void)task;
}

void many_breakpoints_arm(struct many_breakpoints *sets, struct many_task *task)
{
    (void)sets, (void)task;
}

void many_jobs_note(struct many_jobs *jobs, const char *job_id)
{
    (void)jobs, (void)job_id;
}

/* --- a session --- */

/* Three tasks that Ray says are paused begin to attach. */
static int begin(void **state)
{
    (void)state;
    struct err err;
    world = (struct world){.loop = loop_create(false, &err), .paused = 1};
    assert_non_null(world.loop);
    struct many *many = &world.many;
    many_set_magic(many);
    many->loop = world.loop;
    many->attach = &world.attach;
    many->by_slot = world.by_slot;
    many->ids = idmap_create();
    many->slots = TASKS;
    many->target_count = TASKS;
    for (uint32_t i = TASKS; i-- > 0;) {
        struct many_thread *thread = &world.threads[i];
        *thread = (struct many_thread){.id = idmap_out(many->ids, i, ID_THREAD, 1, 0), .own = 1};
        world.tasks[i] = (struct many_task){.many = many,
                                            .next = many->targets,
                                            .slot = i,
                                            .first = true,
                                            .rank_known = true,
                                            .pause.paused_threads = 1,
                                            .threads = thread,
                                            .thread_count = 1};
        many->targets = world.by_slot[i] = &world.tasks[i];
    }
    many_join_proceed(many);
    return 0;
}

static int end(void **state)
{
    (void)state;
    timer_cancel(&world.many.hurry);
    timer_cancel(&world.many.intro);
    many_stops_free(&world.many);
    buf_free(&world.told);
    idmap_destroy(&world.many.ids);
    loop_destroy(&world.loop);
    return 0;
}

static void attached(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        many_join_ready(&world.tasks[i]);
}

static void configure(void)
{
    struct envelope request = {.seq = 1, .name = "configurationDone"};
    many_join_configuration_done(&world.many, &request);
}

static void stops(size_t task)
{
    static char event[] = "{\"seq\":1,\"type\":\"event\",\"event\":\"stopped\","
                          "\"body\":{\"reason\":\"breakpoint\",\"threadId\":1}}";
    world.threads[task].stopped_event = event;
    world.threads[task].stopped = true;
    many_stop_note(&world.tasks[task], &world.threads[task]);
}

static void assert_told(const char *expected)
{
    assert_string_equal(world.told.data ? world.told.data : "", expected);
    buf_free(&world.told);
}

/* --- tests --- */

static void what_is_complete_is_shown_at_once(void **state)
{
    (void)state;
    attached(0, TASKS);
    assert_told("initialized;");
    configure();
    stops(0);
    stops(1);
    assert_told("");
    stops(2);
    assert_told("shows 3;");
}

static void a_dead_worker_delays_the_others_by_two_seconds(void **state)
{
    (void)state;
    attached(0, 2);
    loop_skip(world.loop, 1800);
    assert_told("");
    loop_skip(world.loop, 300);
    assert_told("initialized;");
}

static void when_all_are_slow_they_are_waited_for(void **state)
{
    (void)state;
    loop_skip(world.loop, 3000);
    assert_told("");
    attached(0, 1);
    loop_skip(world.loop, 1000);
    assert_told("");
    attached(1, TASKS);
    assert_told("initialized;");
}

static void who_is_slower_than_twice_the_slowest_is_not_waited_for(void **state)
{
    (void)state;
    loop_skip(world.loop, 3000);
    attached(0, 1);
    loop_skip(world.loop, 2800);
    assert_told("");
    loop_skip(world.loop, 300);
    assert_told("initialized;");
}

static void nobody_is_waited_for_for_ever(void **state)
{
    (void)state;
    loop_skip(world.loop, 9000);
    assert_told("");
    loop_skip(world.loop, 1100);
    assert_told("initialized;");
}

static void each_stop_may_be_followed_by_another(void **state)
{
    (void)state;
    attached(0, TASKS);
    configure();
    stops(0);
    loop_skip(world.loop, 400);
    stops(1);
    loop_skip(world.loop, 400);
    assert_told("initialized;");
    stops(2);
    assert_told("shows 3;");
}

static void what_is_not_complete_is_said(void **state)
{
    (void)state;
    attached(0, TASKS);
    configure();
    stops(0);
    stops(1);
    loop_skip(world.loop, 600);
    assert_told("initialized;raydbg: 3 threads are paused, 2 of them have stopped so far;"
                "shows 2;");
    stops(2);
    assert_told("adds 2;");
}

static void what_the_worker_counts_is_waited_for(void **state)
{
    (void)state;
    world.paused = 3;
    attached(0, 1);
    world.paused = 1;
    attached(1, TASKS);
    configure();
    for (size_t i = 0; i < TASKS; i++)
        stops(i);
    assert_told("initialized;");
    loop_skip(world.loop, 600);
    assert_told("raydbg: 5 threads are paused, 3 of them have stopped so far;shows 3;");
}

static void what_attaches_slowly_stops_slowly(void **state)
{
    (void)state;
    loop_skip(world.loop, 3000);
    attached(0, TASKS);
    configure();
    loop_skip(world.loop, 5500);
    stops(0);
    loop_skip(world.loop, 4000);
    assert_told("initialized;");
    stops(1);
    stops(2);
    assert_told("shows 3;");
}

static void what_is_never_complete_is_shown_in_the_end(void **state)
{
    (void)state;
    loop_skip(world.loop, 8000);
    attached(0, TASKS);
    configure();
    stops(0);
    loop_skip(world.loop, 9000);
    assert_told("initialized;");
    loop_skip(world.loop, 1100);
    assert_told("raydbg: 3 threads are paused, 1 of them have stopped so far;shows 1;");
}

/* A task's questions get their last answer, none, when the session is destroyed. */
static void what_is_known_when_the_session_ends_is_not_shown(void **state)
{
    (void)state;
    world.attach.eager = true;
    world.tasks[2].rank_known = false;
    attached(0, TASKS);
    configure();
    for (size_t i = 0; i < TASKS; i++)
        stops(i);
    loop_skip(world.loop, 600);
    assert_told("initialized;shows 1;");
    assert_true(world.many.unhurried);
    for (size_t i = 0; i < TASKS; i++)
        world.threads[i].told = true;
    many_stop_renamed(&world.many);
    world.many.leaving = world.many.over = true;
    world.tasks[2].rank_known = true;
    many_stop_introduce(&world.many, false);
    assert_told("");
    assert_null(world.many.spacing);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_complete_is_shown_at_once),
        TEST(a_dead_worker_delays_the_others_by_two_seconds),
        TEST(when_all_are_slow_they_are_waited_for),
        TEST(who_is_slower_than_twice_the_slowest_is_not_waited_for),
        TEST(nobody_is_waited_for_for_ever),
        TEST(each_stop_may_be_followed_by_another),
        TEST(what_is_not_complete_is_said),
        TEST(what_the_worker_counts_is_waited_for),
        TEST(what_attaches_slowly_stops_slowly),
        TEST(what_is_never_complete_is_shown_in_the_end),
        TEST(what_is_known_when_the_session_ends_is_not_shown),
    };
    return cmocka_run_group_tests_name("gathering many tasks", tests, NULL, NULL);
}
