/* What real clusters said of failures becomes records of one shape for every version; cut or broken
 * replies give an error. */
#include "why_world.h"

#include "proto/agent_client.h"

#include <string.h>

static const struct ray_attempt *attempt_called(const struct why_world *world, const char *name)
{
    const struct ray_attempt *found = NULL;
    for (size_t i = 0; i < world->records.attempt_count; i++)
        if (strcmp(world->records.attempts[i].name, name) == 0)
            found = &world->records.attempts[i];
    assert_non_null(found);
    return found;
}

static const struct ray_actor *actor_called(const struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.actor_count; i++)
        if (strcmp(world->records.actors[i].name, name) == 0)
            return &world->records.actors[i];
    fail_msg("no actor %s", name);
    return NULL;
}

static void check_attempts(const struct why_world *world)
{
    const struct ray_attempt *exit_1 = attempt_called(world, "exit_1");
    assert_int_equal(exit_1->state, RAY_ATTEMPT_FAILED);
    assert_true(exit_1->has_error);
    assert_int_equal(exit_1->error_type, RAY_ERROR_WORKER_DIED);
    assert_string_equal(exit_1->raised_type, "<class 'SystemExit'>");
    assert_string_equal(exit_1->raised_value, "1");
    assert_non_null(strstr(exit_1->raised_traceback, "in exit_1"));
    assert_true(exit_1->state_ms[RAY_ATTEMPT_RUNNING] > 1700000000000);
    assert_true(exit_1->state_ms[RAY_ATTEMPT_FAILED] >= exit_1->state_ms[RAY_ATTEMPT_RUNNING]);
    assert_non_null(strstr(exit_1->out.file, ".out"));
    assert_true(exit_1->out.start >= 0);
    assert_true(ray_resources_amount(&exit_1->resources, "CPU") > 0.99);
    assert_int_equal(attempt_called(world, "raise_value")->error_type,
                     RAY_ERROR_TASK_EXECUTION_EXCEPTION);
    assert_int_equal(attempt_called(world, "exit_0")->state, RAY_ATTEMPT_FINISHED);
    assert_int_equal(attempt_called(world, "infeasible")->state, RAY_ATTEMPT_PENDING_NODE);
    assert_int_equal(attempt_called(world, "waits_for_argument")->state, RAY_ATTEMPT_PENDING_ARGS);
    assert_int_equal(attempt_called(world, "holder")->state, RAY_ATTEMPT_RUNNING);
    assert_int_equal(attempt_called(world, "dies_thrice")->attempt, 2); /* the last in the order */
    assert_string_equal(attempt_called(world, "in_group")->group_id,
                        world->records.groups[0].group_id);
}

static void check_others(const struct why_world *world)
{
    assert_int_equal(actor_called(world, "init_raises")->death->context, RAY_DEATH_CREATION_FAILED);
    assert_int_equal(actor_called(world, "bad_env_actor")->death->context, RAY_DEATH_RUNTIME_ENV);
    assert_int_equal(actor_called(world, "restarted_actor")->restarts, 1);
    assert_int_equal(actor_called(world, "restarted_actor")->max_restarts, 1);
    assert_null(actor_called(world, "serial")->death);
    assert_string_equal(world->records.groups[0].name, "too_big");
    assert_string_equal(world->records.groups[0].state, "PENDING");
    assert_int_equal(world->records.groups[0].bundle_count, 1);
    assert_int_equal(world->records.resources.node_count, 2);
    assert_true(world->records.resources.demand_count >= 2);
}

static void records_have_one_shape(void **state)
{
    (void)state;
    static const char *const versions[] = {"2.60.0", "2.9.3"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct why_world world;
        why_world_open(&world, versions[i]);
        check_attempts(&world);
        check_others(&world);
        why_world_close(&world);
    }
}

static void reasons_are_new(void **state)
{
    (void)state;
    struct why_world world;
    why_world_open(&world, "2.60.0");
    assert_int_equal(actor_called(&world, "orphan")->death->reason, RAY_REASON_OWNER_DIED);
    assert_int_equal(actor_called(&world, "ray_killed_actor")->death->reason, RAY_REASON_RAY_KILL);
    assert_true(world.records.nodes[0].agent_port > 0);
    why_world_close(&world);
}

static void broken_replies_are_errors(void **state)
{
    (void)state;
    struct why_world world = {.ray = "2.60.0", .what = "why", .version = {2, 60, 0}};
    struct buf events = why_world_load(&world, "events");
    size_t errors = 0;
    for (size_t len = 0; len < events.len; len += 997) {
        struct ray_attempt *attempts = NULL;
        size_t count = 0;
        int64_t dropped;
        struct err err;
        if (failure_reply_attempts((const uint8_t *)events.data, len, world.version, false,
                                   &attempts, &count, &dropped, &err) == 0)
            ray_attempts_free(attempts, count);
        else
            errors++;
    }
    assert_true(errors > 10);
    buf_free(&events);
}

/* RUNNING was 6 up to Ray 2.38. */
static void early_states_are_translated(void **state)
{
    (void)state;
    /* {2: {4: {14: {1: 6, 2: 2,000,000 ns}}}} */
    static const uint8_t reply[] = {0x12, 10, 0x22, 8, 0x72, 6, 0x08, 6, 0x10, 0x80, 0x89, 0x7A};
    static const struct {
        struct ray_version version;
        int state;
    } cases[] = {{{2, 34, 0}, RAY_ATTEMPT_RUNNING},
                 {{2, 38, 9}, RAY_ATTEMPT_RUNNING},
                 {{2, 39, 0}, 6},
                 {{2, 60, 0}, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ray_attempt *attempts = NULL;
        size_t count = 0;
        int64_t dropped;
        struct err err;
        assert_int_equal(failure_reply_attempts(reply, sizeof reply, cases[i].version, false,
                                                &attempts, &count, &dropped, &err),
                         0);
        assert_int_equal(count, 1);
        assert_int_equal(attempts[0].state, cases[i].state);
        assert_int_equal(attempts[0].state_ms[cases[i].state], 2);
        ray_attempts_free(attempts, count);
    }
}

static void error_types_have_words(void **state)
{
    (void)state;
    for (int type = 0; type <= 34; type++) {
        assert_non_null(ray_error_type_name(type));
        assert_non_null(ray_error_type_words(type));
    }
    assert_string_equal(ray_error_type_name(9), "OWNER_DIED");
    assert_string_equal(ray_error_type_name(28), "OBJECT_UNRECONSTRUCTABLE_RETRIES_DISABLED");
    assert_null(ray_error_type_name(35));
    assert_null(ray_error_type_words(-1));
}

static void agents_in_the_store(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        uint16_t port;
    } cases[] = {{"[\"10.0.0.7\", 52365, 38593]", 38593},
                 {"[52365, 38593]", 38593},
                 {"[]", 0},
                 {"{}", 0},
                 {"", 0},
                 {"[\"x\"]", 0},
                 {"[1, 70000]", 0},
                 {"[1, -1]", 0}};
    char newer[AGENT_KEY_TEXT], older[AGENT_KEY_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(agent_client_port(cases[i].json, strlen(cases[i].json)), cases[i].port);
    agent_client_keys("0123", newer, older);
    assert_string_equal(newer, "DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX:0123");
    assert_string_equal(older, "DASHBOARD_AGENT_PORT_PREFIX:0123");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_have_one_shape),    cmocka_unit_test(reasons_are_new),
        cmocka_unit_test(broken_replies_are_errors), cmocka_unit_test(early_states_are_translated),
        cmocka_unit_test(error_types_have_words),    cmocka_unit_test(agents_in_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
