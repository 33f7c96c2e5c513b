/* A `launch`: the command in the terminal, and the attach that the relay gets. */
#include "cmocka_prelude.h"

#include "cli/dap/launch_arguments.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *json, const char *terminal, const char *attach)
{
    struct launch_arguments arguments;
    struct err err;
    struct buf out = {0};
    struct span all = {0, strlen(json)};
    assert_int_equal(launch_arguments_read(&arguments, json, all, &err), 0);
    launch_arguments_terminal(&arguments, "/bin/raydbg", "/s.sock", "/here", &out);
    assert_string_equal(out.data, terminal);
    buf_clear(&out, 0);
    launch_arguments_attach(json, all, "RUN", &out);
    assert_string_equal(out.data, attach);
    buf_free(&out);
    launch_arguments_clear(&arguments);
}

static void it_becomes_a_command_and_an_attach(void **state)
{
    (void)state;
    expect("{\"program\":\"/w/train.py\"}",
           "{\"kind\":\"integrated\",\"title\":\"train.py\",\"cwd\":\"/here\",\"args\":[\"/bin/"
           "raydbg\",\"run\",\"--session\",\"/s.sock\",\"--\",\"python3\",\"/w/train.py\"]}",
           "{\"tasks\":\"*\",\"run\":\"RUN\"}");
    expect("{\"type\":\"raydbg\",\"module\":\"pkg.train\",\"args\":[\"--lr\",\"3 \\\"x\\\"\"],"
           "\"python\":[\"uv\",\"run\",\"python\"],\"cwd\":\"/w\",\"env\":{\"A\":\"1\",\"B\":null},"
           "\"console\":\"externalTerminal\",\"tasks\":\"T*\",\"mode\":\"sessions\","
           "\"pathMappings\":[1.0e0]}",
           "{\"kind\":\"external\",\"title\":\"pkg.train\",\"cwd\":\"/w\",\"args\":[\"/bin/"
           "raydbg\",\"run\",\"--session\",\"/s.sock\",\"--\",\"uv\",\"run\",\"python\",\"-m\","
           "\"pkg.train\",\"--lr\",\"3 \\\"x\\\"\"],\"env\":{\"A\":\"1\",\"B\":null}}",
           "{\"tasks\":\"*\",\"run\":\"RUN\",\"type\":\"raydbg\",\"pathMappings\":[1.0e0]}");
    expect("{\"program\":\"t.py\",\"args\":\"one word\",\"console\":\"internalConsole\"}",
           "{\"kind\":\"integrated\",\"title\":\"t.py\",\"cwd\":\"/here\",\"args\":[\"/bin/"
           "raydbg\",\"run\",\"--session\",\"/s.sock\",\"--\",\"python3\",\"t.py\",\"one word\"]}",
           "{\"tasks\":\"*\",\"run\":\"RUN\"}");
}

static void nonsense_is_named(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"", "arguments"},
        {"[]", "arguments"},
        {"{}", "program"},
        {"{\"program\":\"\"}", "program"},
        {"{\"program\":3}", "program"},
        {"{\"program\":\"t\",\"module\":\"t\"}", "program"},
        {"{\"program\":\"t\",\"args\":[3]}", "args"},
        {"{\"program\":\"t\",\"args\":{}}", "args"},
        {"{\"program\":\"t\",\"python\":false}", "python"},
        {"{\"program\":\"t\",\"env\":{\"a\":1}}", "env"},
        {"{\"program\":\"t\",\"env\":[]}", "env"},
        {"{\"program\":\"t\",\"cwd\":1}", "cwd"},
        {"{\"program\":\"t\",\"console\":\"none\"}", "console"},
        {"{\"program\":\"t\",\"noDebug\":1}", "noDebug"},
        {"{\"program\":\"t\",\"noDebug\":true}", "launch: \"noDebug\" is true"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct launch_arguments arguments;
        struct err err;
        struct span all = {0, strlen(texts[i][0])};
        assert_int_equal(launch_arguments_read(&arguments, texts[i][0], all, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.what, texts[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_becomes_a_command_and_an_attach),
        cmocka_unit_test(nonsense_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
