/* Lines and columns for clients that count from 0. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "dap/line_base.h"

#include <string.h>

static const struct line_base from_0 = {true, true}, from_1 = {false, false};

static void check(const struct line_base *base, const char *before, const char *after)
{
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    assert_int_equal(envelope_read(&envelope, before, strlen(before), &problem), 0);
    bool changed = line_base_write(base, before, strlen(before), &envelope, &out);
    if (!text_equal(changed ? out.data : before, after))
        fail_msg("%s", changed ? out.data : before);
    assert_int_equal(changed, !text_equal(before, after));
    buf_free(&out);
}

#define REQUEST(command, arguments)                                                                \
    "{\"arguments\":" arguments ",\"seq\":1,\"type\":\"request\",\"command\":\"" command "\"}"
#define RESPONSE(command, body)                                                                    \
    "{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":\"" command   \
    "\",\"body\":" body "}"
#define EVENT(name, body) "{\"seq\":1,\"type\":\"event\",\"event\":\"" name "\",\"body\":" body "}"

static const struct {
    const char *client, *debugger;
    bool request;
} rows[] = {
#define ROW(MESSAGE, request, name, before, after)                                                 \
    {                                                                                              \
        MESSAGE(name, before), MESSAGE(name, after), request                                       \
    }
    ROW(REQUEST, true, "setBreakpoints",
        "{\"breakpoints\":[{\"line\":0,\"column\":4},{\"line\":11}],\"lines\":[0,11],"
        "\"source\":{\"path\":\"a\"}}",
        "{\"breakpoints\":[{\"line\":1,\"column\":5},{\"line\":12}],\"lines\":[1,12],"
        "\"source\":{\"path\":\"a\"}}"),
    ROW(REQUEST, true, "breakpointLocations",
        "{\"line\":0,\"column\":0,\"endLine\":3,\"endColumn\":9}",
        "{\"line\":1,\"column\":1,\"endLine\":4,\"endColumn\":10}"),
    ROW(REQUEST, true, "gotoTargets", "{\"line\":7,\"column\":0}", "{\"line\":8,\"column\":1}"),
    ROW(REQUEST, true, "completions", "{\"text\":\"a\",\"line\":0,\"column\":1}",
        "{\"text\":\"a\",\"line\":1,\"column\":2}"),
    ROW(REQUEST, true, "evaluate", "{\"line\":0,\"column\":1}", "{\"line\":1,\"column\":2}"),
    ROW(REQUEST, true, "setPydevdSourceMap",
        "{\"pydevdSourceMaps\":[{\"line\":0,\"endLine\":1,\"runtimeLine\":2}]}",
        "{\"pydevdSourceMaps\":[{\"line\":1,\"endLine\":2,\"runtimeLine\":3}]}"),
    ROW(RESPONSE, false, "setBreakpoints",
        "{\"breakpoints\":[{\"id\":1,\"line\":0,\"endLine\":1},{\"line\":2,\"column\":0}]}",
        "{\"breakpoints\":[{\"id\":1,\"line\":1,\"endLine\":2},{\"line\":3,\"column\":1}]}"),
    ROW(RESPONSE, false, "setFunctionBreakpoints", "{\"breakpoints\":[{\"line\":0}]}",
        "{\"breakpoints\":[{\"line\":1}]}"),
    ROW(RESPONSE, false, "setExceptionBreakpoints", "{\"breakpoints\":[{\"line\":0}]}",
        "{\"breakpoints\":[{\"line\":1}]}"),
    ROW(RESPONSE, false, "breakpointLocations", "{\"breakpoints\":[{\"line\":0,\"column\":3}]}",
        "{\"breakpoints\":[{\"line\":1,\"column\":4}]}"),
    ROW(RESPONSE, false, "stackTrace",
        "{\"stackFrames\":[{\"id\":1,\"line\":7,\"column\":0},{\"line\":1,\"endColumn\":2}]}",
        "{\"stackFrames\":[{\"id\":1,\"line\":8,\"column\":1},{\"line\":2,\"endColumn\":3}]}"),
    ROW(RESPONSE, false, "scopes", "{\"scopes\":[{\"line\":3,\"endLine\":4}]}",
        "{\"scopes\":[{\"line\":4,\"endLine\":5}]}"),
    ROW(RESPONSE, false, "gotoTargets", "{\"targets\":[{\"line\":3}]}",
        "{\"targets\":[{\"line\":4}]}"),
    ROW(RESPONSE, false, "stepInTargets", "{\"targets\":[{\"line\":3,\"column\":0}]}",
        "{\"targets\":[{\"line\":4,\"column\":1}]}"),
    ROW(EVENT, false, "breakpoint", "{\"breakpoint\":{\"line\":3,\"column\":0}}",
        "{\"breakpoint\":{\"line\":4,\"column\":1}}"),
    ROW(EVENT, false, "output", "{\"output\":\"x\",\"line\":3,\"column\":0}",
        "{\"output\":\"x\",\"line\":4,\"column\":1}"),
};

static void every_message_that_has_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *before = rows[i].request ? rows[i].client : rows[i].debugger;
        const char *after = rows[i].request ? rows[i].debugger : rows[i].client;
        check(&from_0, before, after);
        check(&from_1, before, before);
    }
}

static void lines_and_columns_apart(void **state)
{
    (void)state;
    static const struct line_base lines = {true, false}, columns = {false, true};
    const char *before = REQUEST("gotoTargets", "{\"line\":7,\"column\":3}");
    check(&lines, before, REQUEST("gotoTargets", "{\"line\":8,\"column\":3}"));
    check(&columns, before, REQUEST("gotoTargets", "{\"line\":7,\"column\":4}"));
}

static void what_stays(void **state)
{
    (void)state;
    static const char *const rows_that_stay[] = {
        RESPONSE("stackTrace", "{\"stackFrames\":[{\"line\":0,\"column\":0}]}"), /* no source */
        RESPONSE("completions", "{\"targets\":[{\"label\":\"a\",\"start\":0,\"length\":1}]}"),
        RESPONSE("variables", "{\"variables\":[{\"name\":\"line\",\"value\":\"1\",\"line\":1}]}"),
        REQUEST("setBreakpoints", "{\"breakpoints\":[{\"line\":\"1\"},{\"line\":1.5},7,null]}"),
        REQUEST("setBreakpoints", "{\"breakpoints\":7,\"lines\":null}"),
        REQUEST("setBreakpoints", "[]"),
        REQUEST("gotoTargets", "{\"line\":9223372036854775807}"),
    };
    for (size_t i = 0; i < sizeof rows_that_stay / sizeof *rows_that_stay; i++)
        check(&from_0, rows_that_stay[i], rows_that_stay[i]);
}

static void the_client_says_how_it_counts(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool lines, columns;
    } said[] = {
        {"{}", false, false},
        {"{\"linesStartAt1\":true,\"columnsStartAt1\":true}", false, false},
        {"{\"linesStartAt1\":false}", true, false},
        {"{\"columnsStartAt1\":false}", false, true},
        {"{\"linesStartAt1\":null,\"columnsStartAt1\":null}", false, false},
        {"{\"linesStartAt1\":0,\"columnsStartAt1\":\"false\"}", false, false},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct line_base base =
            line_base_read(said[i].json, (struct span){0, strlen(said[i].json)});
        assert_int_equal(base.lines_from_0, said[i].lines);
        assert_int_equal(base.columns_from_0, said[i].columns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_that_has_a_line),
        cmocka_unit_test(lines_and_columns_apart),
        cmocka_unit_test(what_stays),
        cmocka_unit_test(the_client_says_how_it_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
