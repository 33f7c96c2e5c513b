/* What several clients have set, as the debuggee must have it and as each client must see it. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "relay/hub/breakpoint_union.h"

#include <stdlib.h>
#include <string.h>

/* Owners are but addresses. */
static const char owners[3];
#define ANN (&owners[0])
#define BOB (&owners[1])
#define CLEO (&owners[2])

#define REQUEST(command, arguments)                                                                \
    "{\"seq\":5,\"type\":\"request\",\"command\":\"" command "\",\"arguments\":" arguments "}"
#define LINES(source, items)                                                                       \
    REQUEST("setBreakpoints", "{\"source\":" source ",\"breakpoints\":[" items "]}")
#define A "{\"path\":\"/w/a.py\"}"
#define B "{\"path\":\"/w/b.py\"}"
#define FUNCTIONS(items) REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[" items "]}")
#define FILTERS(items) REQUEST("setExceptionBreakpoints", "{\"filters\":[" items "]}")
#define RESPONSE(body)                                                                             \
    "{\"seq\":9,\"type\":\"response\",\"request_seq\":5,\"command\":\"setBreakpoints\","           \
    "\"success\":true,\"body\":" body "}"

static struct envelope envelope_of(const char *json)
{
    struct envelope envelope;
    const char *problem = "none given";
    if (envelope_read(&envelope, json, strlen(json), &problem) != 0)
        fail_msg("%s: %s", problem, json);
    return envelope;
}

static void add_told(void *arg, const char *command, const char *arguments)
{
    buf_printf(arg, "%s %s\n", command, arguments);
}

/* Sets as an observer does; `expected` is what the debuggee is told. */
static void keep(struct breakpoint_union *sets, const void *owner, const char *json,
                 const char *expected)
{
    char *copy = mem_string(json); /* gone right after: what is kept must be its own */
    struct envelope envelope = envelope_of(copy);
    struct buf told = {0};
    buf_add_string(&told, "");
    bool tells = breakpoint_union_keep(sets, owner, copy, &envelope, add_told, &told);
    free(copy);
    assert_string_equal(told.data, expected);
    assert_int_equal(tells, *expected != '\0');
    buf_free(&told);
}

static void note(struct breakpoint_union *sets, const void *owner, bool armed, const char *json)
{
    if (!armed) {
        keep(sets, owner, json, "");
        return;
    }
    char *copy = mem_string(json);
    struct envelope envelope = envelope_of(copy);
    breakpoint_union_note(sets, owner, copy, &envelope);
    free(copy);
}

/* `expected` NULL: nothing to merge. Returns how many elements are the owner's. */
static size_t check_merge(const struct breakpoint_union *sets, const void *owner, const char *json,
                          const char *expected)
{
    struct envelope envelope = envelope_of(json);
    struct buf out = {0};
    size_t own = 99;
    bool merged = breakpoint_union_merge(sets, owner, json, strlen(json), &envelope, &out, &own);
    if (merged != (expected != NULL))
        fail_msg("%s is merged: %d", json, merged);
    if (expected) {
        assert_string_equal(out.data, expected);
        envelope_of(out.data);
    } else {
        assert_int_equal(out.len, 0);
    }
    buf_free(&out);
    return own;
}

/* Sets as a driver does: notes, then merges. */
static size_t drive(struct breakpoint_union *sets, const void *owner, const char *json,
                    const char *expected)
{
    note(sets, owner, true, json);
    return check_merge(sets, owner, json, expected);
}

static void check_told(struct breakpoint_union *sets, const void *owner,
                       void (*act)(struct breakpoint_union *, const void *, breakpoint_union_fn,
                                   void *),
                       const char *expected)
{
    struct buf told = {0};
    buf_add_string(&told, "");
    act(sets, owner, add_told, &told);
    assert_string_equal(told.data, expected);
    buf_free(&told);
}

static void check_each(const struct breakpoint_union *sets, const void *owner, const char *expected)
{
    struct buf told = {0};
    buf_add_string(&told, "");
    breakpoint_union_each(sets, owner, add_told, &told);
    assert_string_equal(told.data, expected);
    buf_free(&told);
}

static void check_clearing(struct breakpoint_union *sets, const char *expected)
{
    struct buf out = {0};
    breakpoint_union_clearing(sets, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static int set_up(void **state)
{
    *state = breakpoint_union_create();
    return 0;
}

static int tear_down(void **state)
{
    struct breakpoint_union *sets = *state;
    breakpoint_union_destroy(&sets);
    assert_null(sets);
    breakpoint_union_destroy(&sets);
    return 0;
}

static void commands(void **state)
{
    (void)state;
    assert_true(breakpoint_union_is_set("setBreakpoints"));
    assert_true(breakpoint_union_is_set("setFunctionBreakpoints"));
    assert_true(breakpoint_union_is_set("setExceptionBreakpoints"));
    assert_false(breakpoint_union_is_set("setDataBreakpoints"));
    assert_false(breakpoint_union_is_set("setVariable"));
    assert_false(breakpoint_union_is_set("setbreakpoints"));
    assert_false(breakpoint_union_is_set(""));
}

/* --- merge --- */

static void one_owner_needs_no_merge(void **state)
{
    assert_int_equal(drive(*state, ANN, LINES(A, "{\"line\":1},{\"line\":2}"), NULL), 2);
    assert_int_equal(drive(*state, ANN, LINES(A, "{\"line\":3}"), NULL), 1);
    assert_int_equal(drive(*state, ANN, LINES(A, ""), NULL), 0);
    check_told(*state, ANN, breakpoint_union_drop, "");
}

static void two_owners_of_a_source(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    assert_int_equal(drive(*state, BOB, LINES(A, "{\"line\":2},{\"line\":3}"),
                           LINES(A, "{\"line\":2},{\"line\":3},{\"line\":1}")),
                     2);
    drive(*state, ANN, LINES(A, "{\"line\":4}"),
          LINES(A, "{\"line\":4},{\"line\":2},{\"line\":3}"));
    /* Nothing of one's own: what the other has must stay. */
    assert_int_equal(drive(*state, ANN, LINES(A, ""), LINES(A, "{\"line\":2},{\"line\":3}")), 0);
    drive(*state, BOB, LINES(A, "{\"line\":5}"), NULL);
}

static void three_owners_in_the_order_they_set(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    drive(*state, BOB, LINES(A, "{\"line\":2}"), LINES(A, "{\"line\":2},{\"line\":1}"));
    drive(*state, CLEO, LINES(A, "{\"line\":3}"),
          LINES(A, "{\"line\":3},{\"line\":1},{\"line\":2}"));
    /* Who sets again is the latest. */
    drive(*state, ANN, LINES(A, "{\"line\":4}"),
          LINES(A, "{\"line\":4},{\"line\":2},{\"line\":3}"));
    drive(*state, BOB, LINES(A, "{\"line\":5}"),
          LINES(A, "{\"line\":5},{\"line\":3},{\"line\":4}"));
}

/* A debugger has one breakpoint a line: who asks now decides its condition. */
static void a_line_that_two_have(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1,\"condition\":\"x\"},{\"line\":2}"), NULL);
    assert_int_equal(drive(*state, BOB, LINES(A, "{\"condition\":\"y\",\"line\":1}"),
                           LINES(A, "{\"condition\":\"y\",\"line\":1},{\"line\":2}")),
                     1);
    drive(*state, CLEO, LINES(A, ""), LINES(A, "{\"line\":1,\"condition\":\"x\"},{\"line\":2}"));
    drive(*state, CLEO, LINES(A, "{\"line\":2},{\"line\":1}"), NULL);
}

static void sources_are_told_apart(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    drive(*state, BOB, LINES(B, "{\"line\":2}"), NULL);
    drive(*state, BOB, LINES("{\"path\":\"/w/A.py\"}", "{\"line\":2}"), NULL);
    drive(*state, BOB, LINES("{\"sourceReference\":7}", "{\"line\":3}"), NULL);
    drive(*state, ANN, LINES("{\"sourceReference\":8}", "{\"line\":4}"), NULL);
    drive(*state, ANN, LINES("{\"sourceReference\":7,\"name\":\"n\"}", "{\"line\":5}"),
          LINES("{\"sourceReference\":7,\"name\":\"n\"}", "{\"line\":5},{\"line\":3}"));
}

/* A path decides, however it is escaped and whatever else the source has. */
static void sources_by_path(void **state)
{
#define SAME "{\"name\":\"a.py\",\"sourceReference\":3,\"path\":\"\\/w\\/\\u0061.py\"}"
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    drive(*state, BOB, LINES(SAME, "{\"line\":2}"), LINES(SAME, "{\"line\":2},{\"line\":1}"));
}

static void functions_and_filters(void **state)
{
    drive(*state, ANN, FUNCTIONS("{\"name\":\"f\"}"), NULL);
    drive(*state, ANN, FILTERS("\"raised\",\"uncaught\""), NULL);
    drive(*state, BOB, FUNCTIONS("{\"name\":\"g\"},{\"name\":\"f\"}"), NULL);
    drive(*state, BOB, FUNCTIONS("{\"name\":\"g\"}"),
          FUNCTIONS("{\"name\":\"g\"},{\"name\":\"f\"}"));
    assert_int_equal(
        drive(*state, BOB, FILTERS("\"uncaught\""), FILTERS("\"uncaught\",\"raised\"")), 1);
    drive(*state, CLEO, FILTERS("\"uncaught\",\"raised\""), NULL);
    drive(*state, CLEO, FILTERS(""), FILTERS("\"raised\",\"uncaught\""));
}

/* debugpy has one breakpoint a function name: the last one of a request would win. */
static void a_function_that_two_have(void **state)
{
    drive(*state, ANN, FUNCTIONS("{\"name\":\"f\",\"condition\":\"x\"},{\"name\":\"g\"}"), NULL);
    drive(*state, BOB, FUNCTIONS("{\"name\":\"\\u0066\"}"),
          FUNCTIONS("{\"name\":\"\\u0066\"},{\"name\":\"g\"}"));
}

/* Every byte that is not changed stays as it was. */
static void bytes_stay(void **state)
{
    note(*state, ANN, true, LINES(A, " { \"line\" : 1 , \"x\":1.50 } "));
    check_merge(*state, BOB,
                " { \"arguments\" : {\"breakpoints\" : [ {\"line\":2e0} , {\"line\":2} ] ,\n"
                "\t\"source\":" A ",\"big\":123456789012345678901234567890,\"n\":NaN},"
                "\"command\":\"set\\u0042reakpoints\",\"type\":\"request\",\"seq\":5} \n",
                " { \"arguments\" : {\"breakpoints\" : [ {\"line\":2e0} , {\"line\":2} ,"
                "{ \"line\" : 1 , \"x\":1.50 }] ,\n"
                "\t\"source\":" A ",\"big\":123456789012345678901234567890,\"n\":NaN},"
                "\"command\":\"set\\u0042reakpoints\",\"type\":\"request\",\"seq\":5} \n");
}

/* What has no array, or none that is one, sets nothing: the others' must stay all the same. */
static void a_missing_array(void **state)
{
    note(*state, ANN, true, LINES(A, "{\"line\":1}"));
    note(*state, ANN, true, FUNCTIONS("{\"name\":\"f\"}"));
    note(*state, ANN, true, FILTERS("\"raised\""));
    check_merge(*state, BOB, REQUEST("setBreakpoints", "{\"source\":" A "}"),
                REQUEST("setBreakpoints", "{\"breakpoints\":[{\"line\":1}],\"source\":" A "}"));
    check_merge(
        *state, BOB, REQUEST("setExceptionBreakpoints", "{ \"filterOptions\":[]}"),
        REQUEST("setExceptionBreakpoints", "{\"filters\":[\"raised\"], \"filterOptions\":[]}"));
    check_merge(*state, BOB, REQUEST("setFunctionBreakpoints", "{}"),
                REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[{\"name\":\"f\"}]}"));
    check_merge(*state, BOB, REQUEST("setFunctionBreakpoints", "{ \n}"),
                REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[{\"name\":\"f\"}] \n}"));
    check_merge(*state, BOB, REQUEST("setFunctionBreakpoints", "{\"breakpoints\": null }"),
                REQUEST("setFunctionBreakpoints", "{\"breakpoints\": [{\"name\":\"f\"}] }"));
    check_merge(*state, BOB, REQUEST("setFunctionBreakpoints", "{\"breakpoints\":{\"a\":[]}}"),
                REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[{\"name\":\"f\"}]}"));
    check_merge(*state, BOB, REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[ ]}"),
                REQUEST("setFunctionBreakpoints", "{\"breakpoints\":[ {\"name\":\"f\"}]}"));
    check_merge(*state, BOB, REQUEST("setFunctionBreakpoints", "[]"), NULL);
    check_merge(*state, BOB, REQUEST("setFunctionBreakpoints", "null"), NULL);
    check_merge(*state, BOB,
                "{\"seq\":1,\"type\":\"request\",\"command\":\"setFunctionBreakpoints\"}", NULL);
}

static void elements_of_any_kind(void **state)
{
#define ODD "1,\"s\",[],{\"line\":\"1\"},{\"line\":1.5},{\"line\":null}"
    assert_int_equal(drive(*state, ANN, LINES(A, "null,{}," ODD), NULL), 8);
    drive(*state, BOB, LINES(A, "{\"line\":1}"), LINES(A, "{\"line\":1},null,{}," ODD));
    drive(*state, CLEO, LINES(A, "{},null"), LINES(A, "{},null," ODD ",{\"line\":1}"));
}

/* --- trim --- */

static void check_trim(const char *json, size_t own, const char *expected)
{
    struct envelope envelope = envelope_of(json);
    struct buf out = {0};
    bool trimmed = breakpoint_union_trim(json, strlen(json), &envelope, own, &out);
    if (trimmed != (expected != NULL))
        fail_msg("%s is trimmed: %d", json, trimmed);
    if (expected)
        assert_string_equal(out.data, expected);
    else
        assert_int_equal(out.len, 0);
    buf_free(&out);
}

static void answers_are_trimmed(void **state)
{
    (void)state;
    static const char whole[] =
        RESPONSE("{\"x\":1.0, \"breakpoints\" : [ {\"id\":1} , 2 , [3,4] ] , \"y\":[]}") "\n";
    check_trim(whole, 0, RESPONSE("{\"x\":1.0, \"breakpoints\" : [] , \"y\":[]}") "\n");
    check_trim(whole, 1, RESPONSE("{\"x\":1.0, \"breakpoints\" : [ {\"id\":1}] , \"y\":[]}") "\n");
    check_trim(whole, 2,
               RESPONSE("{\"x\":1.0, \"breakpoints\" : [ {\"id\":1} , 2] , \"y\":[]}") "\n");
    check_trim(whole, 3, NULL);
    check_trim(whole, 4, NULL);
    check_trim(RESPONSE("{\"breakpoints\":[]}"), 0, NULL);
    check_trim(RESPONSE("{\"breakpoints\":[]}"), 1, NULL);
    check_trim(RESPONSE("{\"breakpoints\":null}"), 0, NULL);
    check_trim(RESPONSE("{\"breakpoints\":{\"a\":1}}"), 0, NULL);
    check_trim(RESPONSE("{}"), 0, NULL);
    check_trim(RESPONSE("[1,2]"), 0, NULL);
    check_trim("{\"type\":\"response\",\"request_seq\":5,\"command\":\"setBreakpoints\"}", 0, NULL);
}

/* --- observers --- */

static void check_unarmed(const char *json, const char *expected)
{
    struct envelope envelope = envelope_of(json);
    struct buf out = {0};
    breakpoint_union_unarmed_body(json, &envelope, "not \"yet\"", &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void an_observer_is_told_why(void **state)
{
    (void)state;
#define WHY "\"message\":\"not \\\"yet\\\"\"}"
    check_unarmed(LINES(A, "{\"line\":12,\"condition\":\"c\"},{\"column\":1},7"),
                  "{\"breakpoints\":[{\"verified\":false,\"line\":12," WHY
                  ",{\"verified\":false," WHY ",{\"verified\":false," WHY "]}");
    check_unarmed(FUNCTIONS("{\"name\":\"f\"}"), "{\"breakpoints\":[{\"verified\":false," WHY "]}");
    check_unarmed(FILTERS("\"raised\",\"uncaught\""),
                  "{\"breakpoints\":[{\"verified\":false," WHY ",{\"verified\":false," WHY "]}");
    check_unarmed(LINES(A, ""), "{\"breakpoints\":[]}");
    check_unarmed(REQUEST("setBreakpoints", "{}"), "{\"breakpoints\":[]}");
    check_unarmed(REQUEST("setBreakpoints", "5"), "{\"breakpoints\":[]}");
    check_unarmed("{\"seq\":1,\"type\":\"request\",\"command\":\"setBreakpoints\"}",
                  "{\"breakpoints\":[]}");
}

static void an_observers_sets_count_once_armed(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    note(*state, BOB, false, LINES(A, "{\"line\":2}"));
    note(*state, BOB, false, LINES(B, "{\"line\":3}"));
    note(*state, BOB, false, FILTERS("\"raised\""));
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    check_clearing(*state, "[{\"command\":\"setBreakpoints\",\"arguments\":{\"source\":" A
                           ",\"breakpoints\":[]}}]");
    check_told(*state, BOB, breakpoint_union_arm,
               "setBreakpoints {\"source\":" A ",\"breakpoints\":[{\"line\":2},{\"line\":1}]}\n"
               "setBreakpoints {\"source\":" B ",\"breakpoints\":[{\"line\":3}]}\n"
               "setExceptionBreakpoints {\"filters\":[\"raised\"]}\n");
    check_told(*state, BOB, breakpoint_union_arm, ""); /* they are */
    check_told(*state, CLEO, breakpoint_union_arm, "");
    drive(*state, ANN, LINES(A, "{\"line\":4}"), LINES(A, "{\"line\":4},{\"line\":2}"));
}

static void ones_own_are_told_to_another_debuggee(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1},{\"line\":2}"), NULL);
    drive(*state, ANN, LINES(B, "{\"line\":3}"), NULL);
    note(*state, BOB, true, LINES(A, "{\"line\":4}"));
    note(*state, CLEO, false, FILTERS("\"raised\""));
    check_each(*state, ANN,
               "setBreakpoints {\"source\":" A ",\"breakpoints\":[{\"line\":1},{\"line\":2}]}\n"
               "setBreakpoints {\"source\":" B ",\"breakpoints\":[{\"line\":3}]}\n");
    check_each(*state, CLEO, "setExceptionBreakpoints {\"filters\":[\"raised\"]}\n");
}

static void what_an_observer_leaves_was_never_sent(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    note(*state, BOB, false, LINES(A, "{\"line\":2}"));
    check_told(*state, BOB, breakpoint_union_drop, "");
    check_told(*state, BOB, breakpoint_union_arm, "");
    note(*state, BOB, false, LINES(A, "{\"line\":2}"));
    note(*state, BOB, false, LINES(A, "")); /* taken back */
    check_told(*state, BOB, breakpoint_union_arm, "");
}

/* It has driven before. */
static void an_observer_takes_away_what_it_had_armed(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    drive(*state, ANN, LINES(B, "{\"line\":2}"), NULL);
    drive(*state, ANN, FILTERS("\"raised\""), NULL);
    note(*state, BOB, true, LINES(A, "{\"line\":3}"));
    keep(*state, ANN, LINES(A, ""),
         "setBreakpoints {\"source\":" A ",\"breakpoints\":[{\"line\":3}]}\n");
    keep(*state, ANN, LINES(B, "{\"line\":2},{\"line\":4}"),
         "setBreakpoints {\"source\":" B ",\"breakpoints\":[]}\n");
    keep(*state, ANN, FILTERS("\"userUnhandled\""),
         "setExceptionBreakpoints {\"filters\":[\"uncaught\"]}\n");
    keep(*state, ANN, LINES(B, "{\"line\":5}"), ""); /* it was not armed any more */
    check_clearing(*state, "[{\"command\":\"setBreakpoints\",\"arguments\":{\"source\":" A
                           ",\"breakpoints\":[]}}]");
    check_told(*state, ANN, breakpoint_union_arm,
               "setExceptionBreakpoints {\"filters\":[\"userUnhandled\"]}\n"
               "setBreakpoints {\"source\":" B ",\"breakpoints\":[{\"line\":5}]}\n");
}

/* --- leaving --- */

static void leaving_takes_ones_own_only(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1},{\"line\":2}"), NULL);
    drive(*state, ANN, LINES(B, "{\"line\":3}"), NULL);
    note(*state, BOB, true, LINES(A, "{\"line\":2,\"condition\":\"b\"},{\"line\":4}"));
    note(*state, CLEO, true, LINES(A, "{\"line\":5}"));
    check_told(*state, ANN, breakpoint_union_drop,
               "setBreakpoints {\"source\":" A ",\"breakpoints\":[{\"line\":2,\"condition\":\"b\"},"
               "{\"line\":4},{\"line\":5}]}\n"
               "setBreakpoints {\"source\":" B ",\"breakpoints\":[]}\n");
    check_told(*state, ANN, breakpoint_union_drop, "");
    check_told(*state, CLEO, breakpoint_union_drop,
               "setBreakpoints {\"source\":" A ",\"breakpoints\":[{\"line\":2,\"condition\":\"b\"},"
               "{\"line\":4}]}\n");
    check_told(*state, BOB, breakpoint_union_drop,
               "setBreakpoints {\"source\":" A ",\"breakpoints\":[]}\n");
    check_clearing(*state, "[]");
}

static void check_newly(struct breakpoint_union *sets, const char *expected)
{
    struct buf out = {0};
    buf_add_string(&out, "");
    breakpoint_union_newly_clearing(sets, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

#define CLEAR(source)                                                                              \
    "{\"command\":\"setBreakpoints\",\"arguments\":{\"source\":" source ",\"breakpoints\":[]}}"

/* Each source once, when something is first armed there. */
static void what_is_new_is_told_once(void **state)
{
    check_newly(*state, "");
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    check_newly(*state, CLEAR(A));
    check_newly(*state, "");
    drive(*state, ANN, LINES(A, "{\"line\":1},{\"line\":2}"), NULL);
    check_newly(*state, "");
    note(*state, BOB, false, LINES(B, "{\"line\":3}"));
    check_newly(*state, "");
    drive(*state, ANN, LINES(B, "{\"line\":4}"), NULL);
    check_newly(*state, CLEAR(B));
    check_clearing(*state, "[" CLEAR(A) "," CLEAR(B) "]");
    check_newly(*state, "");
}

/* Without "uncaught" a post-mortem pause would not stop any more. */
static void exceptions_fall_back_to_uncaught(void **state)
{
    drive(*state, ANN, FILTERS("\"raised\",\"uncaught\""), NULL);
    note(*state, BOB, true, FILTERS("\"userUnhandled\""));
    check_clearing(*state,
                   "[{\"command\":\"setExceptionBreakpoints\",\"arguments\":{\"filters\":"
                   "[\"uncaught\"]}},{\"command\":\"setExceptionBreakpoints\",\"arguments\":"
                   "{\"filters\":[\"uncaught\"]}}]");
    check_told(*state, ANN, breakpoint_union_drop,
               "setExceptionBreakpoints {\"filters\":[\"userUnhandled\"]}\n");
    check_told(*state, BOB, breakpoint_union_drop,
               "setExceptionBreakpoints {\"filters\":[\"uncaught\"]}\n");
}

static void has_filters_if_any_are_armed(void **state)
{
    drive(*state, ANN, LINES(A, "{\"line\":1}"), NULL);
    note(*state, BOB, false, FILTERS("\"raised\""));
    assert_false(breakpoint_union_has_filters(*state));
    drive(*state, ANN, FILTERS("\"uncaught\""), NULL);
    assert_true(breakpoint_union_has_filters(*state));
    drive(*state, ANN, FILTERS(""), NULL);
    assert_false(breakpoint_union_has_filters(*state));
}

static void sources_are_sent_as_they_came(void **state)
{
    drive(*state, ANN, LINES("{ \"sourceReference\" : 7 , \"x\":1.50}", "{\"line\":1}"), NULL);
    drive(*state, ANN, FUNCTIONS("{\"name\":\"f\"}"), NULL);
    check_clearing(*state, "[{\"command\":\"setBreakpoints\",\"arguments\":{\"source\":"
                           "{\"sourceReference\":7},\"breakpoints\":[]}},"
                           "{\"command\":\"setFunctionBreakpoints\",\"arguments\":"
                           "{\"breakpoints\":[]}}]");
    check_told(*state, ANN, breakpoint_union_drop,
               "setBreakpoints {\"source\":{ \"sourceReference\" : 7 , \"x\":1.50},"
               "\"breakpoints\":[]}\n"
               "setFunctionBreakpoints {\"breakpoints\":[]}\n");
}

static void empty_sets_are_nobodys(void **state)
{
    note(*state, ANN, true, LINES(A, ""));
    note(*state, ANN, true, FUNCTIONS(""));
    note(*state, ANN, false, REQUEST("setExceptionBreakpoints", "{}"));
    note(*state, ANN, true, "{\"seq\":1,\"type\":\"request\",\"command\":\"setBreakpoints\"}");
    check_clearing(*state, "[]");
    check_told(*state, ANN, breakpoint_union_arm, "");
    check_told(*state, ANN, breakpoint_union_drop, "");
}

#define SET_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        SET_TEST(one_owner_needs_no_merge),
        SET_TEST(two_owners_of_a_source),
        SET_TEST(three_owners_in_the_order_they_set),
        SET_TEST(a_line_that_two_have),
        SET_TEST(sources_are_told_apart),
        SET_TEST(sources_by_path),
        SET_TEST(functions_and_filters),
        SET_TEST(ones_own_are_told_to_another_debuggee),
        SET_TEST(a_function_that_two_have),
        SET_TEST(bytes_stay),
        SET_TEST(a_missing_array),
        SET_TEST(elements_of_any_kind),
        cmocka_unit_test(answers_are_trimmed),
        cmocka_unit_test(an_observer_is_told_why),
        SET_TEST(an_observers_sets_count_once_armed),
        SET_TEST(what_an_observer_leaves_was_never_sent),
        SET_TEST(an_observer_takes_away_what_it_had_armed),
        SET_TEST(leaving_takes_ones_own_only),
        SET_TEST(exceptions_fall_back_to_uncaught),
        SET_TEST(has_filters_if_any_are_armed),
        SET_TEST(sources_are_sent_as_they_came),
        SET_TEST(what_is_new_is_told_once),
        SET_TEST(empty_sets_are_nobodys),
    };
    return cmocka_run_group_tests_name("breakpoints", tests, NULL, NULL);
}
