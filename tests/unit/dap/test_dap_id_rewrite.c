/* Ids are exchanged, and nothing else: what is no id by the table keeps its bytes. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "dap/id_rewrite.h"

#include <stdlib.h>
#include <string.h>

/* "@N" in an expected text is the number that the map gives as the N-th of its kind. */
static char *expand(const char *text)
{
    struct buf out = {0};
    for (; *text; text++) {
        if (*text == '@' && text[1] >= '0' && text[1] <= '9')
            buf_printf(&out, "%d", ID_FIRST_MAPPED + (*++text - '0'));
        else
            buf_add(&out, text, 1);
    }
    return buf_take(&out);
}

static char *message(enum dap_kind kind, const char *name, const char *body)
{
    static const char request[] = "{\"seq\": 7, \"type\": \"request\", \"command\": \"",
                      response[] = "{\"seq\": 7, \"type\": \"response\", \"request_seq\": 3, "
                                   "\"success\": true, \"command\": \"",
                      event[] = "{\"seq\": 7, \"type\": \"event\", \"event\": \"";
    static const char *const heads[] = {
        [DAP_REQUEST] = request, [DAP_RESPONSE] = response, [DAP_EVENT] = event};
    return mem_format("%s%s\", \"%s\": %s}", heads[kind], name,
                      kind == DAP_REQUEST ? "arguments" : "body", body);
}

static struct envelope read_envelope(const char *json)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, strlen(json), &problem) != 0)
        fail_msg("%s: %s", problem, json);
    return envelope;
}

/* The envelope that is moved is the one that is read. */
static void expect_envelope(const char *before, const char *after)
{
    struct envelope was = read_envelope(before), read = read_envelope(after), moved;
    envelope_moved(&was, strlen(before), after, strlen(after), &moved);
    assert_memory_equal(&moved, &read, sizeof read);
}

/* What the client gets of it. */
static char *out_of(struct idmap *map, uint32_t slot, int64_t thread, const char *json)
{
    struct buf out = {0};
    struct envelope envelope = read_envelope(json);
    if (!id_rewrite_out(map, slot, thread, json, strlen(json), &envelope, &out)) {
        assert_int_equal(out.len, 0);
        buf_free(&out);
        return mem_string(json);
    }
    assert_true(id_rewrite_applies(envelope.kind, envelope.name));
    assert_string_not_equal(out.data, json);
    expect_envelope(json, out.data);
    return buf_take(&out);
}

struct example {
    const char *name;
    const char *foreign;
    const char *session; /* NULL: the same bytes */
};

static void expect_out(enum dap_kind kind, const struct example *example)
{
    struct idmap *map = idmap_create();
    char *wanted = expand(example->session ? example->session : example->foreign);
    char *json = message(kind, example->name, example->foreign);
    char *expected = message(kind, example->name, wanted), *got = out_of(map, 1, 5, json);
    assert_string_equal(got, expected);
    free(got);
    free(wanted);
    free(json);
    free(expected);
    idmap_destroy(&map);

    /* The first debuggee's stay. */
    map = idmap_create();
    json = message(kind, example->name, example->foreign);
    got = out_of(map, 0, 5, json);
    assert_string_equal(got, json);
    free(got);
    free(json);
    idmap_destroy(&map);
}

static void test_responses(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"threads", "{\"threads\": [{\"id\": 1, \"name\": \"id\"}, {\"name\": \"x\", \"id\": 2}]}",
         "{\"threads\": [{\"id\": @0, \"name\": \"id\"}, {\"name\": \"x\", \"id\": @1}]}"},
        {"stackTrace",
         "{\"stackFrames\": [{\"id\": 3, \"name\": \"f\", \"line\": 4, \"column\": 1, "
         "\"moduleId\": 6, "
         "\"source\": {\"path\": \"a.py\", \"sourceReference\": 9}}, {\"id\":8,\"moduleId\":\"6\","
         "\"source\":{\"sourceReference\":0}}], \"totalFrames\": 2}",
         "{\"stackFrames\": [{\"id\": @0, \"name\": \"f\", \"line\": 4, \"column\": 1, "
         "\"moduleId\": @0, "
         "\"source\": {\"path\": \"a.py\", \"sourceReference\": @0}}, "
         "{\"id\":@1,\"moduleId\":\"6\","
         "\"source\":{\"sourceReference\":0}}], \"totalFrames\": 2}"},
        {"scopes",
         "{\"scopes\":[{\"name\":\"Locals\",\"variablesReference\":4,\"expensive\":false,"
         "\"source\":{\"sourceReference\":2,\"sources\":[{\"sourceReference\":3,\"sources\":["
         "{\"sourceReference\":2}]}]}}]}",
         "{\"scopes\":[{\"name\":\"Locals\",\"variablesReference\":@0,\"expensive\":false,"
         "\"source\":{\"sourceReference\":@0,\"sources\":[{\"sourceReference\":@1,\"sources\":["
         "{\"sourceReference\":@0}]}]}}]}"},
        {"variables",
         "{\"variables\": [{\"name\": \"a\", \"value\": \"{\\\"variablesReference\\\": 5}\", "
         "\"variablesReference\": 5, \"namedVariables\": 5, \"valueLocationReference\": 1, "
         "\"declarationLocationReference\": 2}, {\"name\":\"b\",\"variablesReference\":0}]}",
         "{\"variables\": [{\"name\": \"a\", \"value\": \"{\\\"variablesReference\\\": 5}\", "
         "\"variablesReference\": @0, \"namedVariables\": 5, \"valueLocationReference\": @0, "
         "\"declarationLocationReference\": @1}, {\"name\":\"b\",\"variablesReference\":0}]}"},
        {"evaluate", "{\"result\":\"[1]\",\"variablesReference\":12,\"indexedVariables\":12}",
         "{\"result\":\"[1]\",\"variablesReference\":@0,\"indexedVariables\":12}"},
        {"setVariable", "{\"value\":\"1\",\"variablesReference\":12}",
         "{\"value\":\"1\",\"variablesReference\":@0}"},
        {"setExpression", "{\"value\":\"1\",\"variablesReference\":12}",
         "{\"value\":\"1\",\"variablesReference\":@0}"},
        {"setBreakpoints",
         "{\"breakpoints\":[{\"id\":1,\"verified\":true,\"source\":{\"sourceReference\":7},"
         "\"line\":1},"
         "{\"verified\":false},{\"id\":1}]}",
         "{\"breakpoints\":[{\"id\":@0,\"verified\":true,\"source\":{\"sourceReference\":@0},"
         "\"line\":1},"
         "{\"verified\":false},{\"id\":@0}]}"},
        {"setFunctionBreakpoints", "{\"breakpoints\":[{\"id\":1}]}",
         "{\"breakpoints\":[{\"id\":@0}]}"},
        {"setExceptionBreakpoints", "{\"breakpoints\":[{\"id\":1}]}",
         "{\"breakpoints\":[{\"id\":@0}]}"},
        {"gotoTargets", "{\"targets\":[{\"id\":9,\"label\":\"a\",\"line\":9}]}",
         "{\"targets\":[{\"id\":@0,\"label\":\"a\",\"line\":9}]}"},
        {"stepInTargets", "{\"targets\":[{\"id\":9,\"label\":\"a\"},{\"id\":10}]}",
         "{\"targets\":[{\"id\":@0,\"label\":\"a\"},{\"id\":@1}]}"},
        {"modules", "{\"modules\":[{\"id\":1,\"name\":\"m\"},{\"id\":\"1\"}],\"totalModules\":1}",
         "{\"modules\":[{\"id\":@0,\"name\":\"m\"},{\"id\":\"1\"}],\"totalModules\":1}"},
        {"loadedSources", "{\"sources\":[{\"sourceReference\":1}]}",
         "{\"sources\":[{\"sourceReference\":@0}]}"},
        {"locations", "{\"source\":{\"sourceReference\":1},\"line\":1}",
         "{\"source\":{\"sourceReference\":@0},\"line\":1}"},
        {"disassemble", "{\"instructions\":[{\"location\":{\"sourceReference\":1}}]}",
         "{\"instructions\":[{\"location\":{\"sourceReference\":@0}}]}"},
        {"raydbg/objects", "{\"total\":1,\"references\":[{\"variablesReference\":1}]}",
         "{\"total\":1,\"references\":[{\"variablesReference\":@0}]}"},
        {"completions", "{\"targets\":[{\"id\":1,\"start\":2}]}", NULL},
        {"source", "{\"content\":\"x\",\"id\":1,\"sourceReference\":1}", NULL},
        {"pydevdSystemInfo", "{\"process\":{\"pid\":1,\"id\":1}}", NULL},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        expect_out(DAP_RESPONSE, &examples[i]);
}

static void test_events(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"stopped", "{\"reason\":\"breakpoint\",\"threadId\":2,\"hitBreakpointIds\":[3, 4,3,0]}",
         "{\"reason\":\"breakpoint\",\"threadId\":@0,\"hitBreakpointIds\":[@0, @1,@0,0]}"},
        {"continued", "{\"threadId\":2,\"allThreadsContinued\":false}",
         "{\"threadId\":@0,\"allThreadsContinued\":false}"},
        {"thread", "{\"reason\":\"exited\",\"threadId\":2}",
         "{\"reason\":\"exited\",\"threadId\":@0}"},
        {"breakpoint", "{\"reason\":\"changed\",\"breakpoint\":{\"id\":1,\"verified\":true}}",
         "{\"reason\":\"changed\",\"breakpoint\":{\"id\":@0,\"verified\":true}}"},
        {"output",
         "{\"output\":\"x\",\"variablesReference\":1,\"source\":{\"sourceReference\":1},"
         "\"line\":1,\"threadId\":1}",
         "{\"output\":\"x\",\"variablesReference\":@0,\"source\":{\"sourceReference\":@0},"
         "\"line\":1,\"threadId\":1}"},
        {"module", "{\"reason\":\"new\",\"module\":{\"id\":1,\"name\":\"m\"}}",
         "{\"reason\":\"new\",\"module\":{\"id\":@0,\"name\":\"m\"}}"},
        {"loadedSource", "{\"reason\":\"new\",\"source\":{\"sourceReference\":1}}",
         "{\"reason\":\"new\",\"source\":{\"sourceReference\":@0}}"},
        {"invalidated", "{\"areas\":[\"variables\"],\"stackFrameId\":3,\"threadId\":2}",
         "{\"areas\":[\"variables\"],\"stackFrameId\":@0,\"threadId\":@0}"},
        {"progressStart", "{\"progressId\":\"p\",\"title\":\"t\",\"requestId\":44}",
         "{\"progressId\":\"1/p\",\"title\":\"t\",\"requestId\":44}"},
        {"progressEnd", "{\"progressId\":\"\"}", "{\"progressId\":\"1/\"}"},
        {"progressEnd", "{\"progressId\":4}", NULL},
        {"exited", "{\"exitCode\":1}", NULL},
        {"process", "{\"name\":\"x\",\"systemProcessId\":1}", NULL},
        {"terminated", "{\"threadId\":1}", NULL},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        expect_out(DAP_EVENT, &examples[i]);
}

/* What looks like an id, and is none. */
static void test_what_is_left_alone(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"variables",
         "{\"variables\":[{\"variablesReference\":1.5},{\"variablesReference\":1e-3},"
         "{\"variablesReference\":\"1\"},{\"variablesReference\":-1},"
         "{\"variablesReference\":-0},{\"variablesReference\":null},"
         "{\"variablesReference\":[1]},{\"variablesReference\":{\"variablesReference\":1}},"
         "{\"variablesReference\":2147483648},{\"variablesReference\":99999999999999999999},"
         "{\"variablesReference\":NaN},{\"variablesReference\":true}]}",
         NULL},
        {"variables",
         "{\"variables\":[{\"presentationHint\":{\"variablesReference\":1,\"id\":1},"
         "\"__vscodeVariableMenuContext\":{\"variablesReference\":2},\"id\":3,"
         "\"x\":[{\"variables\":[{\"variablesReference\":3}]}]}],\"variablesReference\":4,"
         "\"body\":{\"variables\":[{\"variablesReference\":3}]}}",
         NULL},
        {"variables", "{\"variables\":{\"variablesReference\":1}}", NULL},
        {"variables", "{\"variables\":[[{\"variablesReference\":1}],7,\"x\",null,[],{}]}", NULL},
        {"variables", "[{\"variables\":[{\"variablesReference\":1}]}]", NULL},
        {"variables", "\"variables\"", NULL},
        {"variables", "null", NULL},
        {"variables", "{}", NULL},
        {"threads", "{\"threads\":[1,2,[3]],\"id\":4}", NULL},
        {"scopes", "{\"scopes\":[{\"source\":[{\"sourceReference\":1}]},{\"source\":7}]}", NULL},
        {"stackTrace",
         "{\"stackFrames\":[{\"source\":{\"adapterData\":{\"sourceReference\":1},"
         "\"checksums\":[{\"id\":1}],\"id\":1}}]}",
         NULL},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        expect_out(DAP_RESPONSE, &examples[i]);
    static const struct example events[] = {
        {"stopped", "{\"threadId\":\"*\",\"hitBreakpointIds\":{\"0\":1}}", NULL},
        {"stopped", "{\"hitBreakpointIds\":[[1],\"2\",3.5,{\"id\":4}]}", NULL},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        expect_out(DAP_EVENT, &events[i]);
}

/* Bytes that no JSON library would give back. */
static void test_other_bytes_stay(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"variables",
         " { \"variables\" : [ { \"value\" : \"\\ud800 \\u0000 \\\\\\\" \xFF\x01\" , "
         "\"n\":9007199254740993,"
         "\"m\":[1e400,NaN,-Infinity], \"variablesReference\" :\n\t7 } "
         ",{\"variablesReference\":7}] } ",
         " { \"variables\" : [ { \"value\" : \"\\ud800 \\u0000 \\\\\\\" \xFF\x01\" , "
         "\"n\":9007199254740993,"
         "\"m\":[1e400,NaN,-Infinity], \"variablesReference\" :\n\t@0 } "
         ",{\"variablesReference\":@0}] } "},
        /* Keys are compared after unescaping; of duplicates each is exchanged. */
        {"variables", "{\"v\\u0061riables\":[{\"variables\\u0052eference\":7,\"\":1,\"\\\"\":2}]}",
         "{\"v\\u0061riables\":[{\"variables\\u0052eference\":@0,\"\":1,\"\\\"\":2}]}"},
        {"variables",
         "{\"variables\":[{\"variablesReference\":7,\"variablesReference\":8}],\"variables\":[]}",
         "{\"variables\":[{\"variablesReference\":@0,\"variablesReference\":@1}],\"variables\":[]"
         "}"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        expect_out(DAP_RESPONSE, &examples[i]);
}

static void test_what_stands_behind_the_body(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    static const char json[] =
        " {\"body\":{\"threads\":[{\"id\":1},{\"id\":2}]},\"command\":\"threads\","
        "\"request_seq\":3,\"message\":\"m\",\"type\":\"response\",\"seq\":4,"
        "\"success\":true,\"id\":1,\"threads\":[{\"id\":2}]} ";
    char *wanted =
        expand(" {\"body\":{\"threads\":[{\"id\":@0},{\"id\":@1}]},\"command\":\"threads\","
               "\"request_seq\":3,\"message\":\"m\",\"type\":\"response\",\"seq\":4,"
               "\"success\":true,\"id\":1,\"threads\":[{\"id\":2}]} ");
    char *got = out_of(map, 3, 0, json);
    assert_string_equal(got, wanted);
    free(got);
    free(wanted);
    idmap_destroy(&map);
}

static void test_a_source_in_sources_without_end(void **state)
{
    (void)state;
    enum { DEPTH = 200 };
    struct idmap *map = idmap_create();
    struct buf body = {0};
    buf_add_string(&body, "{\"source\":{");
    for (int i = 0; i < DEPTH; i++)
        buf_add_string(&body, "\"sources\":[{");
    buf_add_string(&body, "\"sourceReference\":1");
    for (int i = 0; i < DEPTH; i++)
        buf_add_string(&body, "}]");
    buf_add_string(&body, "}}");
    char *json = message(DAP_EVENT, "loadedSource", body.data), *got = out_of(map, 1, 0, json);
    assert_int_equal(strlen(got), strlen(json) + 7);
    assert_non_null(strstr(got, ":16777216}]"));
    free(json);
    free(got);
    buf_free(&body);
    idmap_destroy(&map);
}

/* Slot 0's own ids from 2^24 on are the relay's rows: they are no identity. */
static void test_rows_of_the_relays_own(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    char *json = message(DAP_RESPONSE, "raydbg/objects",
                         "{\"references\":[{\"variablesReference\":1073741824}]}");
    char *got = out_of(map, 0, 5, json);
    assert_non_null(strstr(got, "{\"variablesReference\":16777216}"));
    free(got);
    free(json);
    idmap_destroy(&map);
}

static void test_the_thread_of_new_ids(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    struct idmap_entry entry = {0};
    char *frames = message(DAP_RESPONSE, "stackTrace", "{\"stackFrames\":[{\"id\":3}]}");
    char *event = message(DAP_EVENT, "invalidated", "{\"stackFrameId\":4,\"threadId\":6}");
    free(out_of(map, 1, 5, frames));
    assert_true(idmap_in(map, ID_FRAME, ID_FIRST_MAPPED, &entry));
    assert_int_equal(entry.thread, 5);
    free(out_of(map, 1, 5, event));
    assert_true(idmap_in(map, ID_FRAME, ID_FIRST_MAPPED + 1, &entry));
    assert_int_equal(entry.thread, 6);
    assert_true(idmap_in(map, ID_THREAD, ID_FIRST_MAPPED, &entry));
    assert_int_equal(entry.foreign, 6);
    free(frames);
    free(event);
    idmap_destroy(&map);
}

/* --- in --- */

/* Slot 1 has thread 41, and in its stop frame 42, variables 43, target 44, location 45; source 46.
 * Slot 2 has the same + 10, in slot 0 all are 7. */
static struct idmap *sample(void)
{
    static const int64_t first[] = {7, 41, 51};
    struct idmap *map = idmap_create();
    for (uint32_t slot = 0; slot < 3; slot++) {
        int64_t id = first[slot], step = slot > 0, thread = id;
        static const enum id_kind kinds[] = {ID_THREAD, ID_FRAME,    ID_VARIABLES,
                                             ID_TARGET, ID_LOCATION, ID_SOURCE};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++, id += step)
            idmap_out(map, slot, kinds[i], id, thread);
    }
    return map;
}

struct question {
    const char *name;
    const char *session; /* @0 are slot 1's, @1 slot 2's */
    const char *foreign; /* NULL if it goes nowhere */
    enum id_route route;
    uint32_t slot;
    int64_t thread;
};

static void expect_in(const struct idmap *map, const struct question *question)
{
    struct buf out = {0};
    struct idmap_entry to = {.slot = 99, .thread = 99};
    char *arguments = expand(question->session);
    char *json = message(DAP_REQUEST, question->name, arguments);
    struct envelope envelope = read_envelope(json);
    buf_add_string(&out, "before");
    enum id_route route = id_rewrite_in(map, json, strlen(json), &envelope, &to, &out);
    if (route != question->route)
        fail_msg("%s %s: route %d", question->name, question->session, (int)route);
    if (route == ID_ROUTE_SLOT) {
        char *expected = message(DAP_REQUEST, question->name, question->foreign);
        assert_string_equal(out.data + 6, expected);
        assert_int_equal(to.slot, question->slot);
        assert_int_equal(to.thread, question->thread);
        expect_envelope(json, expected);
        free(expected);
    } else {
        assert_string_equal(out.data, "before");
        assert_int_equal(to.slot, 99);
    }
    buf_free(&out);
    free(json);
    free(arguments);
}

static void test_requests(void **state)
{
    (void)state;
    static const struct question questions[] = {
        {"stackTrace", "{\"threadId\":@0,\"startFrame\":0,\"levels\":20}",
         "{\"threadId\":41,\"startFrame\":0,\"levels\":20}", ID_ROUTE_SLOT, 1, 41},
        {"scopes", "{\"frameId\":@1}", "{\"frameId\":52}", ID_ROUTE_SLOT, 2, 51},
        {"scopes", "{\"frameId\":7}", "{\"frameId\":7}", ID_ROUTE_SLOT, 0, 7},
        {"variables", "{\"variablesReference\": @0, \"start\": 43}",
         "{\"variablesReference\": 43, \"start\": 43}", ID_ROUTE_SLOT, 1, 41},
        {"setVariable", "{\"variablesReference\":@0,\"name\":\"x\",\"value\":\"16777216\"}",
         "{\"variablesReference\":43,\"name\":\"x\",\"value\":\"16777216\"}", ID_ROUTE_SLOT, 1, 41},
        {"evaluate",
         "{\"expression\":\"x\",\"frameId\":@1,\"context\":\"hover\",\"line\":16777216}",
         "{\"expression\":\"x\",\"frameId\":52,\"context\":\"hover\",\"line\":16777216}",
         ID_ROUTE_SLOT, 2, 51},
        {"setExpression", "{\"expression\":\"x\",\"frameId\":@1}",
         "{\"expression\":\"x\",\"frameId\":52}", ID_ROUTE_SLOT, 2, 51},
        {"completions", "{\"frameId\":@1,\"text\":\"\",\"column\":1}",
         "{\"frameId\":52,\"text\":\"\",\"column\":1}", ID_ROUTE_SLOT, 2, 51},
        {"stepIn", "{\"threadId\":@0,\"targetId\":@0}", "{\"threadId\":41,\"targetId\":44}",
         ID_ROUTE_SLOT, 1, 41},
        {"goto", "{\"targetId\":@0,\"threadId\":@0}", "{\"targetId\":44,\"threadId\":41}",
         ID_ROUTE_SLOT, 1, 41},
        {"stepInTargets", "{\"frameId\":@0}", "{\"frameId\":42}", ID_ROUTE_SLOT, 1, 41},
        {"restartFrame", "{\"frameId\":@0}", "{\"frameId\":42}", ID_ROUTE_SLOT, 1, 41},
        {"exceptionInfo", "{\"threadId\":@0}", "{\"threadId\":41}", ID_ROUTE_SLOT, 1, 41},
        {"continue", "{\"threadId\":@0}", "{\"threadId\":41}", ID_ROUTE_SLOT, 1, 41},
        {"next", "{\"threadId\":@0}", "{\"threadId\":41}", ID_ROUTE_SLOT, 1, 41},
        {"stepOut", "{\"threadId\":@0}", "{\"threadId\":41}", ID_ROUTE_SLOT, 1, 41},
        {"pause", "{\"threadId\":@0}", "{\"threadId\":41}", ID_ROUTE_SLOT, 1, 41},
        {"locations", "{\"locationReference\":@0}", "{\"locationReference\":45}", ID_ROUTE_SLOT, 1,
         41},
        {"dataBreakpointInfo", "{\"variablesReference\":@0,\"frameId\":@0,\"name\":\"x\"}",
         "{\"variablesReference\":43,\"frameId\":42,\"name\":\"x\"}", ID_ROUTE_SLOT, 1, 41},
        {"source", "{\"source\":{\"sourceReference\":@0},\"sourceReference\":@0}",
         "{\"source\":{\"sourceReference\":46},\"sourceReference\":46}", ID_ROUTE_SLOT, 1, 0},
        {"setBreakpoints", "{\"source\":{\"sourceReference\":@1},\"breakpoints\":[{\"line\":1}]}",
         "{\"source\":{\"sourceReference\":56},\"breakpoints\":[{\"line\":1}]}", ID_ROUTE_SLOT, 2,
         0},
        {"gotoTargets", "{\"source\":{\"sourceReference\":@1},\"line\":1}",
         "{\"source\":{\"sourceReference\":56},\"line\":1}", ID_ROUTE_SLOT, 2, 0},
        {"breakpointLocations", "{\"source\":{\"sourceReference\":@1},\"line\":1}",
         "{\"source\":{\"sourceReference\":56},\"line\":1}", ID_ROUTE_SLOT, 2, 0},
        {"terminateThreads", "{\"threadIds\":[@0,@0]}", "{\"threadIds\":[41,41]}", ID_ROUTE_SLOT, 1,
         41},
        {"raydbg/release", "{\"threadId\":@0}", "{\"threadId\":41}", ID_ROUTE_SLOT, 1, 41},
        {"cancel", "{\"progressId\":\"1/p\"}", "{\"progressId\":\"p\"}", ID_ROUTE_SLOT, 1, 0},
        {"cancel", "{\"progressId\":\"p\",\"requestId\":4}",
         "{\"progressId\":\"p\",\"requestId\":4}", ID_ROUTE_SLOT, 0, 0},
        {"cancel", "{\"progressId\":\"12/3/p\",\"requestId\":4}",
         "{\"progressId\":\"3/p\",\"requestId\":4}", ID_ROUTE_SLOT, 12, 0},

        {"terminateThreads", "{\"threadIds\":[@0,@1]}", NULL, ID_ROUTE_MIXED, 0, 0},
        {"stepIn", "{\"threadId\":@0,\"targetId\":@1}", NULL, ID_ROUTE_MIXED, 0, 0},
        {"stepIn", "{\"threadId\":@0,\"targetId\":@9}", NULL, ID_ROUTE_UNKNOWN, 0, 0},
        {"stepIn", "{\"threadId\":@9,\"targetId\":@0}", NULL, ID_ROUTE_UNKNOWN, 0, 0},
        {"scopes", "{\"frameId\":8}", NULL, ID_ROUTE_UNKNOWN, 0, 0},
        {"scopes", "{\"frameId\":41}", NULL, ID_ROUTE_UNKNOWN, 0, 0},
        {"scopes", "{\"frameId\":-1}", NULL, ID_ROUTE_UNKNOWN, 0, 0},
        {"scopes", "{\"frameId\":4294967303}", NULL, ID_ROUTE_UNKNOWN, 0, 0},
        {"scopes", "{\"frameId\":\"7\"}", NULL, ID_ROUTE_NONE, 0, 0},
        {"scopes", "{\"frameId\":0}", NULL, ID_ROUTE_NONE, 0, 0},
        {"evaluate", "{\"expression\":\"x\"}", NULL, ID_ROUTE_NONE, 0, 0},
        {"evaluate", "[@0]", NULL, ID_ROUTE_NONE, 0, 0},
        {"setBreakpoints", "{\"source\":{\"path\":\"a.py\",\"sourceReference\":0},\"lines\":[@0]}",
         NULL, ID_ROUTE_NONE, 0, 0},
        {"setFunctionBreakpoints", "{\"breakpoints\":[{\"id\":@0}]}", NULL, ID_ROUTE_NONE, 0, 0},
        {"threads", "{\"threadId\":@0}", NULL, ID_ROUTE_NONE, 0, 0},
    };
    struct idmap *map = sample();
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        expect_in(map, &questions[i]);
    idmap_destroy(&map);
}

static void test_ids_of_an_old_stop(void **state)
{
    (void)state;
    struct idmap *map = sample();
    idmap_end_stop(map, 1, 41);
    expect_in(map, &(struct question){"scopes", "{\"frameId\":@0}", NULL, ID_ROUTE_UNKNOWN, 0, 0});
    expect_in(map, &(struct question){"stackTrace", "{\"threadId\":@0}", "{\"threadId\":41}",
                                      ID_ROUTE_SLOT, 1, 41});
    idmap_drop(map, 1);
    expect_in(map,
              &(struct question){"stackTrace", "{\"threadId\":@0}", NULL, ID_ROUTE_UNKNOWN, 0, 0});
    idmap_destroy(&map);
}

static void test_progress_ids_of_two_debuggees(void **state)
{
    (void)state;
    static const char *const own[] = {"p",          "3/p", "/", "99999999999/p", "4294967296/p",
                                      "4294967295/"};
    struct idmap *map = idmap_create();
    for (uint32_t slot = 0; slot < 4; slot += 3) {
        for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
            char *body = mem_format("{\"progressId\":\"%s\"}", own[i]);
            char *event = message(DAP_EVENT, "progressUpdate", body),
                 *got = out_of(map, slot, 0, event);
            struct envelope envelope = read_envelope(got);
            char *asked = mem_string_n(got + envelope.body.at, envelope.body.len);
            expect_in(map, &(struct question){"cancel", asked, body, ID_ROUTE_SLOT, slot, 0});
            free(asked);
            free(got);
            free(event);
            free(body);
        }
    }
    idmap_destroy(&map);
}

static void test_requests_and_answers_are_told_apart(void **state)
{
    (void)state;
    struct idmap *map = sample();
    struct buf out = {0};
    struct idmap_entry to;
    char *request = message(DAP_REQUEST, "stackTrace", "{\"threadId\":7}");
    char *event = message(DAP_EVENT, "stopped", "{\"threadId\":7}");
    struct envelope envelope = read_envelope(request);
    assert_false(id_rewrite_out(map, 1, 0, request, strlen(request), &envelope, &out));
    envelope = read_envelope(event);
    assert_int_equal(id_rewrite_in(map, event, strlen(event), &envelope, &to, &out), ID_ROUTE_NONE);
    assert_int_equal(out.len, 0);
    assert_false(id_rewrite_applies(DAP_EVENT, "exited"));
    assert_false(id_rewrite_applies(DAP_RESPONSE, "source"));
    assert_true(id_rewrite_applies(DAP_REQUEST, "source"));
    free(request);
    free(event);
    idmap_destroy(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_what_is_left_alone),
        cmocka_unit_test(test_other_bytes_stay),
        cmocka_unit_test(test_what_stands_behind_the_body),
        cmocka_unit_test(test_a_source_in_sources_without_end),
        cmocka_unit_test(test_rows_of_the_relays_own),
        cmocka_unit_test(test_the_thread_of_new_ids),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_ids_of_an_old_stop),
        cmocka_unit_test(test_progress_ids_of_two_debuggees),
        cmocka_unit_test(test_requests_and_answers_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
