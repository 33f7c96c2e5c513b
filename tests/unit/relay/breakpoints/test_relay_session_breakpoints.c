/* The breakpoints of sessions in the processes of a run: whose they are, and what becomes of them.
 */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/breakpoints/session_breakpoints.h"

#include <stdlib.h>
#include <string.h>

static const char a[] = "aaaa", b[] = "bbbb"; /* owners, and their runs */

static const char *set(struct session_breakpoints *sets, const char *owner, const char *json)
{
    return session_breakpoints_set(sets, owner, owner, json, (struct span){0, strlen(json)});
}

static void expect_dap(const struct session_breakpoints *sets, const char *run, const char *file,
                       const char *expected)
{
    struct buf out = {0};
    buf_add_string(&out, "[");
    session_breakpoints_dap(sets, run, file, &out);
    assert_string_equal(out.data + 1, expected);
    buf_free(&out);
}

static void expect_body(const struct session_breakpoints *sets, const char *owner, const char *file,
                        const char *expected)
{
    struct buf out = {0};
    bool found = session_breakpoints_body(sets, owner, file, &out);
    assert_int_equal(found, expected != NULL);
    if (expected)
        assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void note(struct session_breakpoints *sets, const char *run, const char *body)
{
    session_breakpoints_note(sets, run, body, (struct span){0, strlen(body)});
}

static void each_run_has_its_own(void **state)
{
    (void)state;
    struct session_breakpoints *sets = session_breakpoints_create();
    assert_false(session_breakpoints_concern(sets, a));
    assert_string_equal(set(sets, a,
                            "{\"source\":{\"path\":\"/t.py\"},\"breakpoints\":[{\"line\":5,"
                            "\"condition\":\"n\"},{\"line\":7}]}"),
                        "/t.py");
    set(sets, b, "{\"source\":{\"path\":\"/t.py\"},\"breakpoints\":[{\"line\":6}]}");
    assert_true(session_breakpoints_concern(sets, a));
    expect_dap(sets, a, "/t.py", "{\"line\":5,\"condition\":\"n\"},{\"line\":7}");
    expect_dap(sets, b, "/t.py", "{\"line\":6}");
    expect_dap(sets, b, "/u.py", "");
    set(sets, a, "{\"source\":{\"path\":\"/t.py\"},\"breakpoints\":[]}");
    assert_false(session_breakpoints_concern(sets, a));
    expect_body(sets, a, "/t.py", "{\"breakpoints\":[]}");
    char *file = session_breakpoints_drop(sets, b);
    assert_string_equal(file, "/t.py");
    free(file);
    assert_null(session_breakpoints_drop(sets, b));
    assert_false(session_breakpoints_concern(sets, b));
    expect_body(sets, b, "/t.py", NULL);
    session_breakpoints_destroy(&sets);
}

static void a_breakpoint_is_verified_once_a_process_has_it(void **state)
{
    (void)state;
    static const char source[] = "{\"source\":{\"path\":\"/t.py\"},\"breakpoints\":[{\"line\":5}]}";
    static const char verified[] = "{\"breakpoints\":[{\"verified\":true,\"line\":5}]}";
    struct session_breakpoints *sets = session_breakpoints_create();
    set(sets, a, source);
    expect_body(sets, a, "/t.py",
                "{\"breakpoints\":[{\"verified\":false,\"line\":5,\"message\":\"in no process "
                "yet\"}]}");
    note(sets, a,
         "{\"breakpoints\":[{\"verified\":false,\"line\":5,\"message\":\"no file\","
         "\"source\":{\"path\":\"/t.py\"}}]}");
    expect_body(sets, a, "/t.py",
                "{\"breakpoints\":[{\"verified\":false,\"line\":5,\"message\":\"no file\"}]}");
    static const char good[] =
        "{\"breakpoints\":[{\"verified\":true,\"line\":5,\"source\":{\"path\":\"/t.py\"}}]}";
    note(sets, b, good); /* of another run */
    note(sets, a,
         "{\"breakpoints\":[{\"verified\":true,\"line\":5,\"source\":{\"path\":\"/u.py\"}}]}");
    note(sets, a,
         "{\"breakpoints\":[{\"verified\":true,\"line\":6,\"source\":{\"path\":\"/t.py\"}}]}");
    note(sets, a, "{\"breakpoints\":[1,{}]}");
    expect_body(sets, a, "/t.py",
                "{\"breakpoints\":[{\"verified\":false,\"line\":5,\"message\":\"no file\"}]}");
    note(sets, a, good);
    expect_body(sets, a, "/t.py", verified);
    set(sets, a, source); /* the same again */
    expect_body(sets, a, "/t.py", verified);
    set(sets, a,
        "{\"source\":{\"path\":\"/t.py\"},\"breakpoints\":[{\"line\":5,\"condition\":\"x\"}]}");
    expect_body(sets, a, "/t.py",
                "{\"breakpoints\":[{\"verified\":false,\"line\":5,\"message\":\"in no process "
                "yet\"}]}");
    session_breakpoints_destroy(&sets);
}

static void a_log_point_is_the_agents(void **state)
{
    (void)state;
    struct session_breakpoints *sets = session_breakpoints_create();
    struct buf out = {0};
    int64_t id = 0;
    set(sets, a,
        "{\"source\":{\"path\":\"/t.py\"},\"breakpoints\":[{\"line\":5,\"logMessage\":"
        "\"n is {n}\",\"condition\":\"n > 1\"}]}");
    buf_add_string(&out, "[");
    session_breakpoints_dap(sets, a, "/t.py", &out);
    const char *call = strstr(out.data, "check(");
    assert_non_null(call);
    assert_null(strstr(out.data, "logMessage"));
    assert_non_null(strstr(out.data, "n is {n}"));
    id = strtoll(call + strlen("check("), NULL, 10);
    assert_true(session_breakpoints_note_problem(sets, id, "NameError"));
    assert_false(session_breakpoints_note_problem(sets, 1, "NameError")); /* the relay's own */
    expect_body(sets, a, "/t.py",
                "{\"breakpoints\":[{\"verified\":false,\"line\":5,\"message\":\"NameError\"}]}");
    buf_free(&out);
    session_breakpoints_destroy(&sets);
}

static void nonsense_changes_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}", "{\"source\":{\"path\":\"t.py\"},\"breakpoints\":[]}",
                                        "{\"source\":{\"sourceReference\":3}}", "[]", "3"};
    struct session_breakpoints *sets = session_breakpoints_create();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(set(sets, a, texts[i]));
    struct buf many = {0};
    buf_add_string(&many, "{\"source\":{\"path\":\"/t.py\"},\"breakpoints\":[{\"line\":1}");
    for (size_t i = 0; i < 2000; i++)
        buf_add_string(&many, ",{\"line\":1}");
    buf_add_string(&many, "]}");
    assert_null(set(sets, a, many.data));
    assert_false(session_breakpoints_concern(sets, a));
    buf_free(&many);
    session_breakpoints_destroy(&sets);
}

static void failures_stop_for_any_owner(void **state)
{
    (void)state;
    struct session_breakpoints *sets = session_breakpoints_create();
    assert_false(session_breakpoints_stops_failures(sets, a));
    assert_true(session_breakpoints_stop_failures(sets, a, a, true));
    assert_false(session_breakpoints_stop_failures(sets, a, a, true));
    assert_false(session_breakpoints_stop_failures(sets, b, a, true));
    assert_true(session_breakpoints_stops_failures(sets, a));
    assert_false(session_breakpoints_stops_failures(sets, b)); /* another run */
    assert_false(session_breakpoints_stop_failures(sets, a, a, false));
    assert_true(session_breakpoints_stops_failures(sets, a));
    assert_true(session_breakpoints_stop_failures(sets, b, a, false));
    assert_false(session_breakpoints_stop_failures(sets, b, a, false));
    assert_true(session_breakpoints_stop_failures(sets, b, b, true));
    session_breakpoints_destroy(&sets); /* frees it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_run_has_its_own),
        cmocka_unit_test(a_breakpoint_is_verified_once_a_process_has_it),
        cmocka_unit_test(a_log_point_is_the_agents),
        cmocka_unit_test(nonsense_changes_nothing),
        cmocka_unit_test(failures_stop_for_any_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
