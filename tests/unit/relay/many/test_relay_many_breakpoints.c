/* Breakpoints of the client and of the verbs at one line: what the debuggees are sent, and which
 * stops are the client's. The debuggees are played here. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/many/many_state.h"
#include "relay/session/session_state.h"

#include <stdlib.h>

#define PATH "/a/train.py"

static struct world {
    struct session session;
    struct many many;
    struct many_task task;
    char *sent; /* the arguments of the last set */
} world;

/* --- the rest of the session --- */

void many_ask(struct many_task *task, const char *command, const char *arguments,
              int64_t timeout_ms, many_answer_fn fn, void *arg)
{
    (void)timeout_ms;
    assert_string_equal(command, "setBreakpoints");
    free(world.sent);
    world.sent = mem_string(arguments);
    fn(arg, task, NULL, 0, NULL);
}

void many_drop_requests(struct many *many, const void *arg)
{
    (void)many, (void)arg;
}

static void on_message(void *arg, const char *json, size_t len)
{
    (void)arg, (void)json, (void)len;
}

/* --- a session --- */

static int begin(void **state)
{
    (void)state;
    world = (struct world){.task = {.many = &world.many, .state = MANY_RUNNING}};
    client_init(&world.session.client, on_message, NULL);
    world.many = (struct many){
        .session = &world.session,
        .client = &world.session.client,
        .attach = &world.session.attach,
        .options = &world.session.options,
        .targets = &world.task,
        .ids = idmap_create(),
    };
    world.many.sets = many_breakpoints_create(&world.many);
    return 0;
}

static int end(void **state)
{
    (void)state;
    many_breakpoints_destroy(&world.many.sets);
    idmap_destroy(&world.many.ids);
    client_free(&world.session.client);
    free(world.sent);
    return 0;
}

/* The client sets these breakpoints in PATH. */
static void client_sets(const char *breakpoints)
{
    struct envelope envelope;
    const char *problem;
    char *json = mem_format("{\"seq\":1,\"type\":\"request\",\"command\":\"setBreakpoints\","
                            "\"arguments\":{\"source\":{\"path\":\"" PATH "\"},"
                            "\"breakpoints\":[%s]}}",
                            breakpoints);
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    many_breakpoints_request(world.many.sets, json, strlen(json), &envelope);
    free(json);
}

static void assert_sent(const char *breakpoints)
{
    char *expected =
        mem_format("{\"source\":{\"path\":\"" PATH "\"},\"breakpoints\":[%s]}", breakpoints);
    assert_string_equal(world.sent, expected);
    free(expected);
}

static bool stops(int64_t line)
{
    return many_breakpoints_stops(world.many.sets, PATH, line);
}

/* --- tests --- */

static void a_verbs_line_takes_the_place_of_a_condition(void **state)
{
    static const char *const conditions[] = {"{\"line\":57,\"condition\":\"i > 3\"}",
                                             "{\"line\":57,\"hitCondition\":\"5\"}",
                                             "{\"line\":57,\"logMessage\":\"here\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        client_sets(conditions[i]);
        assert_true(stops(57));
        int64_t handle = many_breakpoints_add(world.many.sets, PATH, 57);
        char *both = mem_format("%s,{\"line\":57}", conditions[i]);
        assert_sent(both);
        free(both);
        assert_false(stops(57)); /* not at the client's: this one is out of force */
        many_breakpoints_remove(world.many.sets, handle);
        assert_sent(conditions[i]);
        assert_true(stops(57));
    }
}

static void a_condition_elsewhere_stays_in_force(void **state)
{
    (void)state;
    client_sets("{\"line\":34,\"condition\":\"i > 3\"}");
    many_breakpoints_add(world.many.sets, PATH, 57);
    assert_sent("{\"line\":34,\"condition\":\"i > 3\"},{\"line\":57}");
    assert_true(stops(34));
    assert_false(stops(57));
    assert_false(stops(35));
}

static void a_breakpoint_that_always_stops_serves_the_verb_too(void **state)
{
    (void)state;
    client_sets("{\"line\":57,\"condition\":\"\"}");
    many_breakpoints_add(world.many.sets, PATH, 57);
    assert_sent("{\"line\":57,\"condition\":\"\"}");
    assert_true(stops(57));
    client_sets("{\"line\":57},{\"line\":57,\"condition\":\"i\"}"); /* the last one counts */
    assert_sent("{\"line\":57},{\"line\":57,\"condition\":\"i\"},{\"line\":57}");
    assert_false(stops(57));
    client_sets("");
    assert_sent("{\"line\":57}");
    assert_false(stops(57));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_verbs_line_takes_the_place_of_a_condition),
        TEST(a_condition_elsewhere_stays_in_force),
        TEST(a_breakpoint_that_always_stops_serves_the_verb_too),
    };
    return cmocka_run_group_tests_name("breakpoints of many tasks", tests, NULL, NULL);
}
