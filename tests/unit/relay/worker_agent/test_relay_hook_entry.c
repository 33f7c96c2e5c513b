/* The setup hook in the cluster's store: its name tells nothing, and it is in plain ASCII. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/worker_agent/hook_entry.h"

#include <stdlib.h>
#include <string.h>

static void the_name_is_known_again(void **state)
{
    (void)state;
    char *key = hook_entry_key("00112233445566778899aabbccddeeff"), *name = hook_entry_name(key);
    assert_string_equal(key, "RaydbgSetupHook:00112233445566778899aabbccddeeff");
    assert_true(hook_entry_is_ours(name));
    assert_false(hook_entry_is_ours("ray_runtime_env_func::RmluY3Rpb25zVG9SdW46"));
    assert_false(hook_entry_is_ours("module.function"));
    assert_false(hook_entry_is_ours(""));
    free(name);
    free(key);
}

/* tests/agent/test_job_hook.py unpickles one, and runs it. */
static void the_entry_is_one_pickle_of_ascii(void **state)
{
    (void)state;
    char secret[] = "a-key-for-tests-only";
    const struct agent_files_config config = {
        .host = "127.0.0.1", .port = 4713, .fingerprint = "", .key_id = "id", .key = secret};
    char *entry = hook_entry_make(&config, "my.hook");
    assert_true(text_starts(entry, "(dVjob_id\nNs"));
    assert_true(text_ends(entry, "Vlatin1\ntRs."));
    assert_null(strstr(entry, secret)); /* as it would be in the log of a curious reader */
    for (const char *at = entry; *at; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
    free(entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_is_known_again),
        cmocka_unit_test(the_entry_is_one_pickle_of_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
