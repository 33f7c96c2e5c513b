/* A breakpoint of many debuggees is one to the client: verified if it is so anywhere. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "relay/many/breakpoint_merge.h"

#include <stdlib.h>
#include <string.h>

static struct idmap *ids;
static struct breakpoint_merge *set;

static int set_up(void **state)
{
    (void)state;
    ids = idmap_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    breakpoint_merge_destroy(&set);
    assert_null(set);
    idmap_destroy(&ids);
    return 0;
}

static struct envelope read_envelope(const char *json)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, strlen(json), &problem) != 0)
        fail_msg("%s: %s", problem, json);
    return envelope;
}

static struct breakpoint_merge *create(const char *command, const char *arguments)
{
    char *json = mem_format("{\"seq\":1,\"type\":\"request\",\"command\":\"%s\"%s%s}", command,
                            *arguments ? ",\"arguments\":" : "", arguments);
    struct envelope request = read_envelope(json);
    struct breakpoint_merge *made = breakpoint_merge_create(ids, json, &request);
    free(json);
    return made;
}

/* Two lines of a.py. */
static void create_two(void)
{
    set = create("setBreakpoints",
                 "{\"source\":{\"path\":\"/a.py\"},\"breakpoints\":[{\"line\":5},{\"line\":9}]}");
}

static void answer(uint32_t slot, const char *body)
{
    char *json = mem_format("{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":true,"
                            "\"command\":\"x\",\"body\":%s}",
                            body);
    struct envelope response = read_envelope(json);
    breakpoint_merge_answer(set, ids, slot, json, &response);
    free(json);
}

static void answer_failure(uint32_t slot, const char *message)
{
    char *json = mem_format("{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":false,"
                            "\"command\":\"x\",\"message\":\"%s\"}",
                            message);
    struct envelope response = read_envelope(json);
    breakpoint_merge_answer(set, ids, slot, json, &response);
    free(json);
}

static bool event(uint32_t slot, const char *body)
{
    char *json =
        mem_format("{\"seq\":1,\"type\":\"event\",\"event\":\"breakpoint\",\"body\":%s}", body);
    struct envelope said = read_envelope(json);
    bool mine = breakpoint_merge_event(set, slot, json, &said);
    free(json);
    return mine;
}

/* "@N" is the id of entry N. */
static char *expand(const char *text)
{
    struct buf out = {0};
    buf_add_string(&out, "");
    for (; *text; text++) {
        if (*text == '@')
            buf_printf(&out, "%d", (int)breakpoint_merge_id(set, (size_t)(*++text - '0')));
        else
            buf_add(&out, text, 1);
    }
    return buf_take(&out);
}

static void expect_body(const char *text)
{
    struct buf out = {0};
    char *expected = expand(text);
    breakpoint_merge_body(set, &out);
    assert_string_equal(out.data, expected);
    free(expected);
    buf_free(&out);
}

/* One after the other, or "" for none. */
static void expect_events(const char *text)
{
    struct buf out = {0};
    char *expected = expand(text);
    buf_add_string(&out, "");
    while (breakpoint_merge_next_event(set, &out))
        continue;
    assert_string_equal(out.data, expected);
    free(expected);
    buf_free(&out);
}

static void test_what_is_sent_to_each(void **state)
{
    (void)state;
    create_two();
    assert_string_equal(breakpoint_merge_command(set), "setBreakpoints");
    assert_string_equal(breakpoint_merge_arguments(set),
                        "{\"source\":{\"path\":\"/a.py\"},\"breakpoints\":"
                        "[{\"line\":5},{\"line\":9}]}");
    assert_int_equal(breakpoint_merge_count(set), 2);
    assert_true(breakpoint_merge_id(set, 0) != breakpoint_merge_id(set, 1) &&
                breakpoint_merge_id(set, 0) > 0);
    breakpoint_merge_destroy(&set);
    set = create("setFunctionBreakpoints", "");
    assert_string_equal(breakpoint_merge_arguments(set), "{}");
    expect_body("{\"breakpoints\":[]}");
    expect_events("");
}

static void test_verified_if_anywhere(void **state)
{
    (void)state;
    create_two();
    answer(0, "{\"breakpoints\":[{\"verified\":false,\"id\":1,\"message\":\"no such file\"},"
              "{\"verified\":false,\"id\":2,\"message\":\"not yet\"}]}");
    answer(
        1,
        "{\"breakpoints\":[{\"verified\":true,\"id\":1,\"line\":6,\"endLine\":6,\"x\":1,"
        "\"source\":{\"path\":\"/a.py\",\"sourceReference\":0}},{\"verified\":false,\"id\":9}]}");
    expect_body("{\"breakpoints\":[{\"id\":@0,\"verified\":true,\"line\":6,\"endLine\":6,"
                "\"source\":{\"path\":\"/a.py\",\"sourceReference\":0}},"
                "{\"id\":@1,\"verified\":false,\"line\":9,\"message\":\"not yet\"}]}");
    assert_null(breakpoint_merge_failure(set));
    expect_events("");
}

static void test_hits_are_of_the_entry(void **state)
{
    (void)state;
    create_two();
    answer(0, "{\"breakpoints\":[{\"verified\":true,\"id\":1},{\"verified\":true,\"id\":2}]}");
    answer(4, "{\"breakpoints\":[{\"verified\":true,\"id\":2},{\"verified\":true,\"id\":1}]}");
    for (size_t i = 0; i < 2; i++) {
        int64_t own = (int64_t)i + 1;
        assert_int_equal(idmap_out(ids, 0, ID_BREAKPOINT, own, 0), breakpoint_merge_id(set, i));
        assert_int_equal(idmap_out(ids, 4, ID_BREAKPOINT, 3 - own, 0), breakpoint_merge_id(set, i));
    }
}

static void test_nobody_is_there_yet(void **state)
{
    (void)state;
    create_two();
    expect_events(""); /* the client was told nothing yet */
    expect_body(
        "{\"breakpoints\":[{\"id\":@0,\"verified\":false,\"line\":5,\"message\":\"No task has it "
        "yet.\"},{\"id\":@1,\"verified\":false,\"line\":9,\"message\":\"No task has it yet.\"}]}");
    expect_events("");
    answer(0, "{\"breakpoints\":[{\"verified\":true,\"id\":1},{\"verified\":true,\"id\":2,\"line\":"
              "10}]}");
    expect_events(
        "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@0,\"verified\":true,\"line\":5}}"
        "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@1,\"verified\":true,\"line\":10}}");
    expect_events("");
}

static void test_events_only_if_it_changes(void **state)
{
    (void)state;
    create_two();
    answer(0, "{\"breakpoints\":[{\"verified\":false,\"id\":1},{\"verified\":false,\"id\":2}]}");
    answer(1, "{\"breakpoints\":[{\"verified\":false,\"id\":1},{\"verified\":true,\"id\":7,"
              "\"line\":9}]}");
    expect_body(
        "{\"breakpoints\":[{\"id\":@0,\"verified\":false,\"line\":5,\"message\":\"No task has it "
        "yet.\"},{\"id\":@1,\"verified\":true,\"line\":9}]}");
    /* The second one verifies what the first has, too: nothing new. */
    assert_true(event(
        0, "{\"reason\":\"changed\",\"breakpoint\":{\"id\":2,\"verified\":true,\"line\":9}}"));
    expect_events("");
    assert_true(event(1, "{\"reason\":\"changed\",\"breakpoint\":{\"id\":1,\"verified\":true}}"));
    expect_events(
        "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@0,\"verified\":true,\"line\":5}}");
    /* One of the two still has it. */
    assert_true(event(
        0, "{\"reason\":\"removed\",\"breakpoint\":{\"id\":2,\"verified\":true,\"line\":9}}"));
    expect_events("");
    assert_true(
        event(1, "{\"reason\":\"changed\",\"breakpoint\":{\"id\":7,\"message\":\"gone\"}}"));
    expect_events(
        "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@1,\"verified\":false,\"line\":9}}");
}

static void test_what_is_not_of_this_set(void **state)
{
    (void)state;
    create_two();
    answer(0, "{\"breakpoints\":[{\"verified\":true,\"id\":1},{\"verified\":true}]}");
    assert_false(event(0, "{\"breakpoint\":{\"id\":2,\"verified\":true}}"));
    assert_false(event(1, "{\"breakpoint\":{\"id\":1,\"verified\":true}}"));
    assert_false(event(0, "{\"breakpoint\":{\"verified\":false}}"));
    assert_false(event(0, "{\"breakpoint\":{\"id\":0,\"verified\":false}}")); /* no id is no id 0 */
    assert_false(event(0, "{\"breakpoint\":7}"));
    assert_false(event(0, "{}"));
    assert_false(event(0, "null"));
    assert_true(event(0, "{\"breakpoint\":{\"id\":1,\"verified\":true}}"));
}

static void test_answers_that_are_odd(void **state)
{
    (void)state;
    create_two();
    answer(0, "{\"breakpoints\":[{\"id\":1,\"verified\":true,\"line\":5}]}");        /* too few */
    answer(1, "{\"breakpoints\":[7,null,{\"id\":8},{\"id\":9,\"verified\":true}]}"); /* too many */
    answer(2, "{\"breakpoints\":{\"id\":1}}");
    answer(3, "[]");
    answer(4, "null");
    answer(
        5,
        "{\"breakpoints\":[{\"id\":\"1\",\"verified\":\"true\"},{\"verified\":1,\"message\":\"m\","
        "\"source\":{\"sourceReference\":4}}]}");
    breakpoint_merge_answer(set, ids, 6, NULL, NULL);
    expect_body("{\"breakpoints\":[{\"id\":@0,\"verified\":true,\"line\":5},"
                "{\"id\":@1,\"verified\":false,\"line\":9,\"message\":\"m\"}]}");
    assert_null(breakpoint_merge_failure(set));
    assert_int_equal(idmap_count(ids), 1); /* what the client has not named is not its */
}

static void test_failures(void **state)
{
    (void)state;
    create_two();
    assert_null(breakpoint_merge_failure(set));
    breakpoint_merge_answer(set, ids, 3, NULL, NULL);
    assert_string_equal(breakpoint_merge_failure(set), "no task has answered");
    answer_failure(0, "the worker \\\"w\\\" is gone");
    answer_failure(1, "other");
    assert_string_equal(breakpoint_merge_failure(set), "the worker \"w\" is gone");
    expect_body(
        "{\"breakpoints\":[{\"id\":@0,\"verified\":false,\"line\":5,\"message\":\"the worker "
        "\\\"w\\\" is gone\"},{\"id\":@1,\"verified\":false,\"line\":9,\"message\":\"the worker "
        "\\\"w\\\" is gone\"}]}");
    answer(1, "{\"breakpoints\":[{\"verified\":true},{\"verified\":true}]}");
    assert_null(breakpoint_merge_failure(set));
    expect_events(
        "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@0,\"verified\":true,\"line\":5}}"
        "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@1,\"verified\":true,\"line\":9}}");
}

static void test_debuggees_go(void **state)
{
    (void)state;
    create_two();
    answer(0, "{\"breakpoints\":[{\"verified\":true,\"id\":1},{\"verified\":true,\"id\":2}]}");
    answer(1, "{\"breakpoints\":[{\"verified\":false,\"id\":1,\"message\":\"m\"},"
              "{\"verified\":true,\"id\":2,\"line\":9}]}");
    expect_body("{\"breakpoints\":[{\"id\":@0,\"verified\":true,\"line\":5},"
                "{\"id\":@1,\"verified\":true,\"line\":9}]}");
    breakpoint_merge_gone(set, 0);
    breakpoint_merge_gone(set, 0);
    expect_events("{\"reason\":\"changed\",\"breakpoint\":{\"id\":@0,\"verified\":false,\"line\":5,"
                  "\"message\":\"m\"}}");
    /* What the last one has said stays, until somebody else says something. */
    breakpoint_merge_gone(set, 1);
    expect_events("");
    assert_false(event(1, "{\"breakpoint\":{\"id\":2,\"verified\":false}}"));
    answer(1, "{\"breakpoints\":[{\"verified\":true,\"id\":1},{\"verified\":false,\"id\":2,"
              "\"message\":\"n\"}]}");
    expect_events("{\"reason\":\"changed\",\"breakpoint\":{\"id\":@0,\"verified\":true,\"line\":5}}"
                  "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@1,\"verified\":false,\"line\":9,"
                  "\"message\":\"n\"}}");
}

static void test_exceptions(void **state)
{
    (void)state;
    set = create("setExceptionBreakpoints",
                 "{\"filters\":[\"raised\"],\"filterOptions\":[{\"filterId\":\"uncaught\"}]}");
    assert_int_equal(breakpoint_merge_count(set), 2);
    answer(0, "{}");
    expect_body("{}");
    answer(1, "{\"breakpoints\":[{\"verified\":true},{\"verified\":false}]}");
    expect_events(""); /* the client knows of none that could change */
    expect_body("{\"breakpoints\":[{\"id\":@0,\"verified\":true},"
                "{\"id\":@1,\"verified\":false,\"message\":\"No task has it yet.\"}]}");
}

static void test_lines_of_old_clients(void **state)
{
    (void)state;
    set = create("setBreakpoints", "{\"source\":{\"path\":\"/a.py\"},\"lines\":[5,9]}");
    answer(0, "{\"breakpoints\":[{\"verified\":true},{\"verified\":true}]}");
    expect_body("{\"breakpoints\":[{\"id\":@0,\"verified\":true,\"line\":5},"
                "{\"id\":@1,\"verified\":true,\"line\":9}]}");
}

static void test_what_replaces_what(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        const char *arguments;
    } all[] = {
        {"setBreakpoints", "{\"source\":{\"path\":\"/a.py\"},\"breakpoints\":[{\"line\":5}]}"},
        {"setBreakpoints", "{\"source\":{\"path\":\"/b.py\"},\"breakpoints\":[{\"line\":5}]}"},
        {"setBreakpoints", "{\"source\":{\"sourceReference\":4}}"},
        {"setBreakpoints", "{}"},
        {"setFunctionBreakpoints", "{}"},
        {"setExceptionBreakpoints", ""},
    };
    enum { ALL = sizeof all / sizeof *all };
    struct breakpoint_merge *sets[ALL];
    for (size_t i = 0; i < ALL; i++)
        sets[i] = create(all[i].command, all[i].arguments);
    for (size_t i = 0; i < ALL; i++)
        for (size_t j = 0; j < ALL; j++)
            assert_int_equal(breakpoint_merge_replaces(sets[i], sets[j]), i == j);
    set = create("setBreakpoints",
                 "{\"breakpoints\":[],\"source\":{\"name\":\"a\",\"path\":\"\\/a.py\"}}");
    assert_true(breakpoint_merge_replaces(set, sets[0]));
    assert_false(breakpoint_merge_replaces(set, sets[1]));
    for (size_t i = 0; i < ALL; i++)
        breakpoint_merge_destroy(&sets[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_sent_to_each),
        TEST(test_verified_if_anywhere),
        TEST(test_hits_are_of_the_entry),
        TEST(test_nobody_is_there_yet),
        TEST(test_events_only_if_it_changes),
        TEST(test_what_is_not_of_this_set),
        TEST(test_answers_that_are_odd),
        TEST(test_failures),
        TEST(test_debuggees_go),
        TEST(test_exceptions),
        TEST(test_lines_of_old_clients),
        TEST(test_what_replaces_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
