/* The first line of a process that dials the relay, and the keys of its agents. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/access/agent_key.h"
#include "relay/reverse/agent_line.h"

#include <stdlib.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef"
#define SECRET ID ID

static void both_kinds(void **state)
{
    (void)state;
    struct agent_line line;
    assert_true(agent_line_read(&line, "raydbg agent 1 " ID " " SECRET));
    assert_int_equal(line.kind, AGENT_LINE_AGENT);
    assert_string_equal(line.key_id, ID);
    assert_string_equal(line.secret, SECRET);
    assert_true(agent_line_read(&line, "raydbg pydevd 1 " SECRET));
    assert_int_equal(line.kind, AGENT_LINE_PYDEVD);
    assert_string_equal(line.secret, SECRET);
}

static void all_else_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "raydbg",
        "raydbg agent",
        "raydbg agent 1 " ID,
        "raydbg agent 2 " ID " " SECRET,
        "raydbg agent 1 " ID " " SECRET " more",
        "raydbg agent 1 " ID "0 " SECRET,
        "raydbg agent 1 " ID " " SECRET "0",
        "raydbg agent 1 " ID " " ID,
        "raydbg agent 1 ../../../etc/passwd-0123456789a " SECRET,
        "raydbg pydevd 1 " ID,
        "raydbg pydevd 1 " ID " " SECRET,
        "raydbg debugpy 1 " SECRET,
        "Raydbg pydevd 1 " SECRET,
        "raydbg pydevd 1 " SECRET "\r",
        "raydbg pydevd 1 0123456789ABCDEF0123456789abcdef" ID,
    };
    struct agent_line line;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(agent_line_read(&line, wrong[i]));
    char big[400];
    memset(big, 'a', sizeof big - 1);
    memcpy(big, "raydbg pydevd 1 ", 16);
    big[sizeof big - 1] = '\0';
    assert_false(agent_line_read(&line, big));
}

/* Computed with Python's hmac. */
static void a_key_is_made_of_token_and_id(void **state)
{
    (void)state;
    char *key = agent_key_make("a-token-for-tests-only", ID);
    assert_string_equal(key, "c381b24877863e423f9a8698c5853360d2cbe363b4320b767d6ece291f5814fb");
    char *other = agent_key_make("a-token-for-tests-onlz", ID);
    assert_string_not_equal(key, other);
    free(key);
    free(other);
}

static void a_relay_knows_the_key_by_its_token(void **state)
{
    (void)state;
    struct err err;
    setenv("RAYDBG_TOKEN", "a-token-for-tests-only", 1);
    setenv("RAYDBG_OBSERVER_TOKEN", "an-observers-token-0", 1);
    struct auth *auth = auth_create(&(struct auth_options){0}, &err);
    assert_non_null(auth);
    char *key = agent_key_of(auth, ID), *same = agent_key_make("a-token-for-tests-only", ID);
    assert_string_equal(key, same);
    assert_null(agent_key_of(auth, "../" ID));
    assert_null(agent_key_of(auth, ""));
    auth_destroy(&auth);
    auth = auth_create_open();
    assert_null(agent_key_of(auth, ID));
    auth_destroy(&auth);
    free(key);
    free(same);
}

static void an_id_for_a_purpose_is_of_it_and_the_token(void **state)
{
    (void)state;
    char id[AGENT_KEY_ID_ROOM], same[AGENT_KEY_ID_ROOM], other[AGENT_KEY_ID_ROOM];
    memset(id, 0, sizeof id);
    memset(same, 0, sizeof same);
    agent_key_id_for("a-token-for-tests-only", "env", id);
    assert_true(agent_key_is_id(id));
    agent_key_id_for("a-token-for-tests-only", "env", same);
    assert_string_equal(id, same);
    agent_key_id_for("a-token-for-tests-only", "run", other);
    assert_string_not_equal(id, other);
    agent_key_id_for("a-token-for-tests-onlz", "env", other);
    assert_string_not_equal(id, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds),
        cmocka_unit_test(all_else_is_refused),
        cmocka_unit_test(a_key_is_made_of_token_and_id),
        cmocka_unit_test(a_relay_knows_the_key_by_its_token),
        cmocka_unit_test(an_id_for_a_purpose_is_of_it_and_the_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
