/* What an agent says of its process, which is the user's: sound ids and names only. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "base/text.h"
#include "relay/pause/agent_facts.h"

#include <stdlib.h>
#include <string.h>

static void read(struct pause *pause, const char *json)
{
    agent_facts_read(pause, json, (struct span){0, strlen(json)});
}

static void a_workers_facts(void **state)
{
    (void)state;
    struct pause pause = {0};
    read(&pause, "{\"role\":\"worker\",\"pid\":42,\"worker_id\":\"" UNIQUE_ID(
                     "a1") "\",\"node_id\":\"" UNIQUE_ID("b1") "\",\"node_ip\":\"10.0.0.7\","
                                                               "\"job_id\":\"" JOB_ID("0a") "\"}");
    assert_int_equal(pause.pid, 42);
    assert_string_equal(pause.worker_id, UNIQUE_ID("a1"));
    assert_string_equal(pause.node_id, UNIQUE_ID("b1"));
    assert_string_equal(pause.job_id, JOB_ID("0a"));
    assert_string_equal(pause.node_ip, "10.0.0.7");
    assert_null(pause.task_name);
    read(&pause,
         "{\"task_id\":\"" TASK_ID("c1") "\",\"task_name\":\"Trainer.step\",\"actor_id\":"
                                         "\"" ACTOR_ID("d2") "\",\"actor_class\":\"Trainer\","
                                                             "\"actor_name\":\"\"}");
    assert_string_equal(pause.task_id, TASK_ID("c1"));
    assert_string_equal(pause.task_name, "Trainer.step");
    assert_string_equal(pause.actor_id, ACTOR_ID("d2"));
    assert_null(pause.actor_name);
    assert_string_equal(pause.worker_id, UNIQUE_ID("a1")); /* it stays */
    pause_clear(&pause);
}

/* Of the stop that the process is in: the next one has none, or another. */
static void the_breakpoint_is_the_last_stops(void **state)
{
    (void)state;
    struct pause pause = {0};
    read(&pause, "{\"breakpoint\":\"0123456789abcdef0123456789abcdef\"}");
    assert_string_equal(pause.breakpoint, "0123456789abcdef0123456789abcdef");
    read(&pause, "{\"breakpoint\":\"0123456789abcdef0123456789abcdef0\"}"); /* no uuid */
    assert_string_equal(pause.breakpoint, "");
    read(&pause, "{\"breakpoint\":\"ab\"}");
    read(&pause, "{\"pid\":1}");
    assert_string_equal(pause.breakpoint, "");
    pause_clear(&pause);
}

static void a_driver_is_named_by_its_program(void **state)
{
    (void)state;
    struct pause pause = {0};
    read(&pause, "{\"role\":\"driver\",\"program\":\"train.py\"}");
    assert_string_equal(pause.task_name, "driver train.py");
    read(&pause, "{\"role\":\"driver\"}");
    assert_string_equal(pause.task_name, "driver");
    pause_clear(&pause);
}

/* An id of the wrong length in a GCS filter kills the GCS process. */
static void no_id_of_another_form_gets_through(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"worker_id\":\"a1\"}",
        "{\"worker_id\":\"" UNIQUE_ID("a1") "00\"}",
        "{\"worker_id\":\"../../../../../../../../../../../../../../../../../../etc/passwd\"}",
        "{\"task_id\":\"" UNIQUE_ID("a1") "\"}",
        "{\"job_id\":1}",
        "{\"job_id\":null}",
        "{\"pid\":\"1\",\"node_ip\":7,\"task_name\":[]}",
    };
    struct pause empty = {0}, pause = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        read(&pause, wrong[i]);
        assert_true(pause_equal(&pause, &empty));
    }
    char big[1200] = "{\"task_name\":\"";
    memset(big + strlen(big), 'x', 1100);
    strcpy(big + 1114, "\"}");
    read(&pause, big);
    assert_null(pause.task_name);
}

static void the_repr_of_hexadecimal_json(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "'",      "''",       "'7b'",      "7b7d",
                                        "'7b7'", "'zz'",   "\"7b7d\"", "'5b5d'",    "'7b7d7d'",
                                        "None",  "'7b7d ", "'7B7D",    "'7b7d' + x"};
    struct pause pause = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(agent_facts_unhex(&pause, wrong[i]));
    assert_false(agent_facts_unhex(&pause, NULL));
    assert_true(agent_facts_unhex(&pause, "'7b7d'"));
    assert_true(agent_facts_unhex(&pause, "'7b22706964223a377d'")); /* {"pid":7} */
    assert_int_equal(pause.pid, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workers_facts),
        cmocka_unit_test(the_breakpoint_is_the_last_stops),
        cmocka_unit_test(a_driver_is_named_by_its_program),
        cmocka_unit_test(no_id_of_another_form_gets_through),
        cmocka_unit_test(the_repr_of_hexadecimal_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
