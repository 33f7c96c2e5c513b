/* What of an `attach` is raydbg's own, and what debugpy gets. */
#include "cmocka_prelude.h"

#include "relay/debuggee/debugpy_arguments.h"
#include "relay/session/attach_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORCED "{\"justMyCode\":false"
#define DEFAULTS ",\"steppingResumesAllThreads\":false,\"stopAllThreadsOnSuspend\":false"

static int read_text(struct attach_arguments *out, const char *json, struct err *err)
{
    return attach_arguments_read(out, json, (struct span){0, strlen(json)}, err);
}

static void test_own_members_stay_here(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(
        read_text(&got,
                  "{\"address\":\"10.0.0.1:6379\",\"task\":\"square\",\"subProcess\":true,"
                  "\"kill\":true,\"noTune\":true,\"token\":\"secret\",\"redirectOutput\":true}",
                  &err),
        0);
    assert_string_equal(got.address, "10.0.0.1:6379");
    assert_string_equal(got.task, "square");
    assert_true(got.sub_process);
    assert_true(got.kill);
    assert_true(got.no_tune);
    assert_string_equal(got.upstream, FORCED DEFAULTS ",\"redirectOutput\":true}");
    attach_arguments_clear(&got);
}

static void test_just_my_code_is_forced_off(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got, "{\"justMyCode\":true}", &err), 0);
    assert_string_equal(got.upstream, FORCED DEFAULTS "}");
    attach_arguments_clear(&got);
}

/* debugpy refuses an attach with empty arguments, and none at all. */
static void test_upstream_is_never_empty(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got, "{}", &err), 0);
    assert_string_equal(got.upstream, FORCED DEFAULTS "}");
    attach_arguments_clear(&got);
    assert_int_equal(attach_arguments_read(&got, "", (struct span){0, 0}, &err), 0);
    assert_string_equal(got.upstream, FORCED DEFAULTS "}");
    attach_arguments_clear(&got);
}

static void test_a_client_may_want_debugpys_own_way(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got, "{\"steppingResumesAllThreads\":true}", &err), 0);
    assert_string_equal(got.upstream, FORCED ",\"stopAllThreadsOnSuspend\":false"
                                             ",\"steppingResumesAllThreads\":true}");
    attach_arguments_clear(&got);
}

static void test_bytes_of_the_rest_are_kept(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got,
                               "{ \"debugOptions\" : [\"\\ud800\" , \"a\"] , "
                               "\"breakOnSystemExit\":[1, 9007199254740993], "
                               "\"maxExceptionStackFrames\":1,\"maxExceptionStackFrames\":2 }",
                               &err),
                     0);
    assert_string_equal(got.upstream, FORCED DEFAULTS ",\"debugOptions\":[\"\\ud800\" , \"a\"],"
                                                      "\"breakOnSystemExit\":[1, 9007199254740993],"
                                                      "\"maxExceptionStackFrames\":1,"
                                                      "\"maxExceptionStackFrames\":2}");
    assert_null(got.unknown);
    attach_arguments_clear(&got);
}

/* pydevd ends at a wrong type, and its constructors at names of their own. */
static void test_what_debugpy_does_not_know_is_left_out(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got,
                               "{\"self\":1,\"type\":\"raydbg\",\"__x\":2,\"rules\":null,"
                               "\"stopAllThreadsOnSuspend\":null,\"pathM\\u0061ps\":[]}",
                               &err),
                     0);
    assert_string_equal(got.upstream, FORCED DEFAULTS "}");
    assert_string_equal(got.each, "{}");
    assert_string_equal(got.unknown, "\"self\", \"pathMaps\"");
    attach_arguments_clear(&got);
    assert_int_equal(read_text(&got, "{\"redirectOutput\":true,\"redirectOutput\":1}", &err), -1);
    assert_non_null(strstr(err.what, "redirectOutput"));
    assert_int_equal(read_text(&got, "{\"pathM\\u0061ppings\":{}}", &err), -1);
    assert_non_null(strstr(err.what, "pathMappings"));
    assert_int_equal(read_text(&got, "{\"noDebug\":true}", &err), -1);
}

static void test_no_other_process_is_asked_for(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got,
                               "{\"processId\":1,\"listen\":{\"port\":1},\"host\":\"h\",\"port\":2,"
                               "\"subProcessId\":3,\"connect\":{\"port\":5678}}",
                               &err),
                     0);
    assert_string_equal(got.upstream, FORCED DEFAULTS "}");
    assert_string_equal(got.connect_host, "127.0.0.1");
    assert_int_equal(got.connect_port, 5678);
    attach_arguments_clear(&got);
}

static void test_connect_as_text(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got, "{\"connect\":\"[::1]:99\"}", &err), 0);
    assert_string_equal(got.connect_host, "::1");
    assert_int_equal(got.connect_port, 99);
    attach_arguments_clear(&got);
}

/* Editors expand a variable, such as VS Code's ${input:port}, to text. */
static void test_numbers_as_text(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got,
                               "{\"connect\":{\"host\":\"h\",\"port\":\"5678\"},"
                               "\"maxSessions\":\"3\"}",
                               &err),
                     0);
    assert_string_equal(got.connect_host, "h");
    assert_int_equal(got.connect_port, 5678);
    assert_int_equal(got.max_sessions, 3);
    attach_arguments_clear(&got);
}

static void test_wrong_types_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *json, *named;
    } cases[] = {
        {"{\"task\":1}", "task"},
        {"{\"address\":null}", "address"},
        {"{\"subProcess\":\"yes\"}", "subProcess"},
        {"{\"kill\":1}", "kill"},
        {"{\"connect\":\"nowhere\"}", "connect"},
        {"{\"connect\":{\"host\":\"h\"}}", "connect"},
        {"{\"connect\":{\"port\":70000}}", "connect"},
        {"{\"connect\":{\"port\":1,\"host\":7}}", "connect"},
        {"{\"connect\":{\"port\":0}}", "connect"},
        {"{\"connect\":{\"port\":\"\"}}", "connect"},
        {"{\"connect\":{\"port\":\"0\"}}", "connect"},
        {"{\"connect\":{\"port\":\"5678x\"}}", "connect"},
        {"{\"connect\":{\"port\":\"65536\"}}", "connect"},
        {"{\"connect\":{\"port\":null}}", "connect"},
        {"{\"maxSessions\":0}", "maxSessions"},
        {"{\"maxSessions\":\"many\"}", "maxSessions"},
        {"{\"run\":1}", "run"},
        {"{\"run\":\"\"}", "run"},
        {"[]", "arguments"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attach_arguments got;
        struct err err = {0};
        assert_int_equal(read_text(&got, cases[i].json, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.what, cases[i].named));
        assert_null(got.upstream);
    }
}

static void test_initialize_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *given, *plain, *with_children;
    } cases[] = {
        {"", "{\"adapterID\":\"raydbg\"}", "{\"adapterID\":\"raydbg\"}"},
        {"{\"adapterID\":\"x\",\"supportsStartDebuggingRequest\":true,\"locale\":\"de\","
         "\"supportsRunInTerminalRequest\":true}",
         "{\"adapterID\":\"x\",\"locale\":\"de\"}",
         "{\"adapterID\":\"x\",\"supportsStartDebuggingRequest\":true,\"locale\":\"de\"}"},
        {"{\"locale\":null,\"clientID\":7,\"self\":1}", "{\"adapterID\":\"raydbg\"}",
         "{\"adapterID\":\"raydbg\"}"},
        {"{\"locale\":\"de\"}", "{\"locale\":\"de\",\"adapterID\":\"raydbg\"}",
         "{\"locale\":\"de\",\"adapterID\":\"raydbg\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span span = {0, strlen(cases[i].given)};
        char *plain = debugpy_arguments_initialize(cases[i].given, span, false);
        char *with_children = debugpy_arguments_initialize(cases[i].given, span, true);
        assert_string_equal(plain, cases[i].plain);
        assert_string_equal(with_children, cases[i].with_children);
        free(plain);
        free(with_children);
    }
}

/* objectStore: raydbg's own, and debugpy never sees it. */
static void test_object_store(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got, "{}", &err), 0);
    assert_false(got.objects.off || got.objects.no_size || got.no_object_scope);
    attach_arguments_clear(&got);
    assert_int_equal(
        read_text(&got,
                  "{\"objectStore\":{\"annotate\":\"off\",\"unit\":\"MB\",\"fields\":[\"state\"],"
                  "\"scope\":false,\"later\":1}}",
                  &err),
        0);
    assert_true(got.objects.off && got.no_object_scope);
    assert_int_equal(got.objects.unit, ANNOTATE_MB);
    assert_true(got.objects.no_size && got.objects.no_owner && !got.objects.no_state);
    assert_string_equal(got.upstream, FORCED DEFAULTS "}");
    attach_arguments_clear(&got);
}

static void test_object_store_of_another_type(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"true", "\"objectStore\""},
        {"{\"annotate\":\"on\"}", "\"objectStore.annotate\""},
        {"{\"unit\":\"mb\"}", "\"objectStore.unit\""},
        {"{\"fields\":\"size\"}", "\"objectStore.fields\""},
        {"{\"fields\":[\"size\",1]}", "\"objectStore.fields\""},
        {"{\"scope\":\"yes\"}", "\"objectStore.scope\""},
    };
    struct attach_arguments got;
    struct err err;
    char json[128];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(json, sizeof json, "{\"objectStore\":%s}", wrong[i][0]);
        assert_int_equal(read_text(&got, json, &err), -1);
        assert_non_null(strstr(err.what, wrong[i][1]));
    }
}

static void test_many(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool many;
        size_t tasks;
    } cases[] = {
        {"{\"task\":\"square\"}", false, 0},
        {"{\"task\":\"Trainer.*\"}", true, 1},
        {"{\"tasks\":\"*\"}", true, 1},
        {"{\"tasks\":[\"a\",\"b\"]}", true, 2},
        {"{\"tasks\":[\"a\"],\"task\":\"b\"}", true, 2},
        {"{\"task\":\"square\",\"mode\":\"threads\"}", true, 1},
        {"{\"job\":\"01\"}", true, 0},
        {"{\"actor\":\"Trainer\",\"node\":\"10.0.0.7\"}", true, 0},
        {"{\"tasks\":\"*\",\"ticket\":\"t\"}", false, 1},
        {"{\"tasks\":\"*\",\"connect\":\"127.0.0.1:5\"}", false, 1},
        {"{}", false, 0},
    };
    struct attach_arguments got;
    struct err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_text(&got, cases[i].json, &err), 0);
        assert_int_equal(attach_arguments_many(&got), cases[i].many);
        assert_int_equal(got.many.task_count, cases[i].tasks);
        assert_string_equal(got.upstream, FORCED DEFAULTS "}");
        attach_arguments_clear(&got);
    }
}

static void test_each_of_many_gets_what_does_not_choose(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got,
                               "{\"tasks\":\"*\",\"mode\":\"sessions\",\"maxSessions\":4,"
                               "\"threadName\":\"{rank}\",\"allThreads\":true,\"token\":\"x\","
                               "\"eager\":true,\"preserveFocus\":true,"
                               "\"kill\":true,\"redirectOutput\":true}",
                               &err),
                     0);
    assert_string_equal(got.each, "{\"kill\":true,\"redirectOutput\":true}");
    assert_true(got.sessions);
    assert_int_equal(got.max_sessions, 4);
    assert_string_equal(got.thread_name, "{rank}");
    assert_true(got.all_threads);
    assert_true(got.eager);
    assert_true(got.preserve_focus);
    attach_arguments_clear(&got);
    assert_int_equal(read_text(&got, "{}", &err), 0);
    assert_string_equal(got.each, "{}");
    assert_int_equal(got.max_sessions, ATTACH_MAX_SESSIONS);
    assert_false(got.eager);
    assert_false(got.preserve_focus);
    attach_arguments_clear(&got);
}

static void test_wrong_words_on_many(void **state)
{
    (void)state;
    static const char *const cases[] = {"{\"tasks\":7}",
                                        "{\"tasks\":[]}",
                                        "{\"tasks\":[\"a\",7]}",
                                        "{\"tasks\":[\"\"]}",
                                        "{\"mode\":\"x\"}",
                                        "{\"maxSessions\":0}",
                                        "{\"job\":1}",
                                        "{\"ticket\":1}",
                                        "{\"allThreads\":1}",
                                        "{\"run\":\"\"}",
                                        "{\"run\":\"r\",\"mode\":\"sessions\"}"};
    struct attach_arguments got;
    struct err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(read_text(&got, cases[i], &err), -1);
}

static void test_a_run_has_many_tasks(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got, "{\"run\":\"r\",\"task\":\"square\"}", &err), 0);
    assert_true(attach_arguments_many(&got));
    assert_int_equal(got.many.task_count, 1);
    attach_arguments_clear(&got);
}

static void test_the_command_line_s_task(void **state)
{
    (void)state;
    struct attach_arguments got;
    struct err err;
    assert_int_equal(read_text(&got, "{}", &err), 0);
    attach_arguments_default_task(&got, "square");
    assert_false(attach_arguments_many(&got));
    assert_string_equal(got.task, "square");
    attach_arguments_clear(&got);
    assert_int_equal(read_text(&got, "{\"mode\":\"threads\"}", &err), 0);
    attach_arguments_default_task(&got, "square");
    assert_int_equal(got.many.task_count, 1);
    attach_arguments_clear(&got);
    assert_int_equal(read_text(&got, "{}", &err), 0);
    attach_arguments_default_task(&got, "sq*");
    assert_true(attach_arguments_many(&got));
    attach_arguments_clear(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_members_stay_here),
        cmocka_unit_test(test_just_my_code_is_forced_off),
        cmocka_unit_test(test_upstream_is_never_empty),
        cmocka_unit_test(test_a_client_may_want_debugpys_own_way),
        cmocka_unit_test(test_bytes_of_the_rest_are_kept),
        cmocka_unit_test(test_what_debugpy_does_not_know_is_left_out),
        cmocka_unit_test(test_no_other_process_is_asked_for),
        cmocka_unit_test(test_connect_as_text),
        cmocka_unit_test(test_numbers_as_text),
        cmocka_unit_test(test_wrong_types_are_named),
        cmocka_unit_test(test_initialize_arguments),
        cmocka_unit_test(test_object_store),
        cmocka_unit_test(test_object_store_of_another_type),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_each_of_many_gets_what_does_not_choose),
        cmocka_unit_test(test_wrong_words_on_many),
        cmocka_unit_test(test_a_run_has_many_tasks),
        cmocka_unit_test(test_the_command_line_s_task),
    };
    return cmocka_run_group_tests_name("attach_arguments", tests, NULL, NULL);
}
