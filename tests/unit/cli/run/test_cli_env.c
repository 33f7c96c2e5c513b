/* `raydbg env`: what it makes of the user's own runtime_env, and which ones it refuses. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "cli/run/env_merge.h"
#include "relay/worker_agent/hook_entry.h"

#include <stdlib.h>
#include <string.h>

static char *merged(const char *text, char **own)
{
    struct err err;
    char *key = hook_entry_key("0123"), *name = hook_entry_name(key);
    cJSON *runtime_env = env_merge_read(text, own, &err);
    assert_non_null(runtime_env);
    env_merge_add_hook(runtime_env, name);
    char *json = cJSON_PrintUnformatted(runtime_env);
    cJSON_Delete(runtime_env);
    free(name);
    free(key);
    return json;
}

#define ENTRY "\"" HOOK_ENTRY_VARIABLE "\":\"ray_runtime_env_func::UmF5ZGJnU2V0dXBIb29rOjAxMjM=\""

static void expect_merged(const char *text, const char *expected, const char *expected_own)
{
    char *own, *json = merged(text, &own);
    assert_string_equal(json, expected);
    if (expected_own)
        assert_string_equal(own, expected_own);
    else
        assert_null(own);
    free(own);
    /* What raydbg env has printed may be merged again. */
    char *again = merged(json, &own);
    assert_string_equal(again, expected);
    assert_null(own);
    free(again);
    free(json);
}

static void the_users_own_stays(void **state)
{
    (void)state;
    expect_merged(NULL, "{\"env_vars\":{" ENTRY "}}", NULL);
    expect_merged(" {\"env_vars\": null}", "{\"env_vars\":{" ENTRY "}}", NULL);
    expect_merged("{\"pip\": [\"a\"], \"env_vars\": {\"A\": \"1\"}}",
                  "{\"pip\":[\"a\"],\"env_vars\":{\"A\":\"1\"," ENTRY "}}", NULL);
}

static void the_users_hook_is_taken_out(void **state)
{
    (void)state;
    expect_merged("{\"worker_process_setup_hook\": \"my.module.setup\"}",
                  "{\"env_vars\":{" ENTRY "}}", "my.module.setup");
    expect_merged("{\"worker_process_setup_hook\": null}",
                  "{\"worker_process_setup_hook\":null,\"env_vars\":{" ENTRY "}}", NULL);
}

static void expect_refused(const char *text, enum err_code code, const char *why)
{
    struct err err = {0};
    char *own;
    assert_null(env_merge_read(text, &own, &err));
    assert_null(own);
    assert_int_equal(err.code, code);
    if (!strstr(err.why, why) && !strstr(err.what, why))
        fail_msg("%s: %s: %s", text, err.what, err.why);
}

static void conflicts_are_said(void **state)
{
    (void)state;
    expect_refused("[]", ERR_USAGE, "cannot be read");
    expect_refused("{\"a\": 1} x", ERR_USAGE, "one JSON object");
    expect_refused("/no/such/file", ERR_USAGE, "No such file");
    expect_refused("/etc/hostname", ERR_USAGE, "one JSON object");
    expect_refused("{\"env_vars\": [1]}", ERR_USAGE, "env_vars");
    expect_refused("{\"worker_process_setup_hook\": \"setup\"}", ERR_FAILED, "module.function");
    expect_refused("{\"worker_process_setup_hook\": 7}", ERR_FAILED, "module.function");
    expect_refused("{\"worker_process_setup_hook\": \"ray_runtime_env_func::a.b\"}", ERR_FAILED,
                   "exported");
    expect_refused("{\"env_vars\": {\"" HOOK_ENTRY_VARIABLE "\": \"a.b\"}}", ERR_FAILED,
                   HOOK_ENTRY_VARIABLE);
    expect_refused("{\"worker_process_setup_hook\": \"a.b\", \"env_vars\": 1}", ERR_USAGE,
                   "env_vars");
}

static void debugpy_must_come_from_somewhere(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool refused, refused_if_absent;
    } cases[] = {
        {"{}", false, true},
        {"{\"pip\":[\"torch\"]}", false, true},
        {"{\"pip\":[\"torch\",\"debugpy>=1.8\"]}", false, false},
        {"{\"uv\":{\"packages\":[\"debugpy\"]}}", false, false},
        {"{\"conda\":{\"dependencies\":[\"pip\",{\"pip\":[\"debugpy\"]}]}}", false, false},
        {"{\"conda\":{\"dependencies\":[\"torch\"]}}", true, true},
        {"{\"conda\":\"an-environment\"}", false, false},
        {"{\"image_uri\":\"an/image\"}", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err;
        cJSON *runtime_env = cJSON_Parse(cases[i].json);
        assert_non_null(runtime_env);
        assert_int_equal(env_merge_check_debugpy(runtime_env, false, &err),
                         cases[i].refused ? -1 : 0);
        assert_int_equal(env_merge_check_debugpy(runtime_env, true, &err),
                         cases[i].refused_if_absent ? -1 : 0);
        cJSON_Delete(runtime_env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_users_own_stays),
        cmocka_unit_test(the_users_hook_is_taken_out),
        cmocka_unit_test(conflicts_are_said),
        cmocka_unit_test(debugpy_must_come_from_somewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
