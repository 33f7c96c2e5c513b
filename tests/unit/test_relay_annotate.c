/* Bodies in data/debugpy-1.8.22-*.json are what a real debugpy said of a real Ray's references
 * (tests/unit/data/record_debugpy.py). */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "base/mem.h"
#include "dap/message.h"
#include "relay/annotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOT " \xC2\xB7 "
#define TASK "00668a65bda616c1ffffffffffffffffffffffff01000000"
#define REF_1 "ObjectRef(" TASK "01000000)"
#define REF_2 "ObjectRef(" TASK "02000000)"
#define REF_3 "ObjectRef(" TASK "03000000)"
#define REF_UNKNOWN "ObjectRef(" TASK "f0000000)"
#define REF_PENDING "ObjectRef(" TASK "e0000000)"
#define ACTOR_1 "Actor(H, b0f542cb5a173af7a58036f101000000)"
#define ACTOR_2 "Actor(H, 44e7fb2adbb8485524b9669301000000)"
#define READ_ONLY "\"presentationHint\": {\"attributes\": [\"readOnly\"]}"

/* --- what is known --- */

/* The bytes of an object are 8 MB times the first byte of its index. */
static bool object(void *arg, const struct object_id *id, struct object_note *out)
{
    (void)arg;
    uint8_t index = id->bytes[ID_TASK_BYTES];
    if (index >= 0xF0)
        return false;
    *out = (struct object_note){
        .state = OBJECT_STATE_READY, .size = INT64_C(8000000) * index, .owner = "pid 7@n"};
    if (index == 0xE0)
        *out = (struct object_note){
            .state = OBJECT_STATE_PENDING, .size = -1, .status = "SUBMITTED_TO_WORKER"};
    return true;
}

static bool actor(void *arg, const char *actor_id, struct actor_note *out)
{
    (void)arg;
    if (*actor_id != 'b' && *actor_id != '4')
        return false;
    *out = (struct actor_note){.class_name = "H", .node = "node-1", .pid = 7, .state = "ALIVE"};
    if (*actor_id == '4')
        strcpy(out->name, "the \"named\" one");
    return true;
}

struct log {
    char text[8192];
    int refs, containers, actors, arrays;
};

static void seen(void *arg, const struct annotate_seen *row)
{
    struct log *log = arg;
    size_t at = strlen(log->text);
    assert_non_null(row->name);
    assert_non_null(row->evaluate_name);
    log->refs += row->kind == ANNOTATE_REF;
    log->containers += row->kind == ANNOTATE_CONTAINER;
    log->actors += row->kind == ANNOTATE_ACTOR;
    log->arrays += row->kind == ANNOTATE_ARRAY;
    if (at < sizeof log->text - 256)
        snprintf(log->text + at, sizeof log->text - at, "%d %lld %02x %s|%s|%s;", (int)row->kind,
                 (long long)row->reference, row->id.bytes[ID_TASK_BYTES], row->actor_id, row->name,
                 row->evaluate_name);
}

static const struct annotate_options plain_options;

/* The annotated message, or NULL. The caller frees. */
static char *annotate(const char *command, const char *json, const struct annotate_options *options,
                      struct log *log)
{
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    struct annotate_source source = {object, actor, log ? seen : NULL, log};
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    bool any = annotate_response(command, json, strlen(json), &envelope, options, &source, &out);
    assert_int_equal(any, out.len > 0);
    if (!any) {
        buf_free(&out);
        return NULL;
    }
    assert_true(annotate_applies(json, strlen(json)));
    assert_true(scan_strict(out.data, out.len, &problem));
    return buf_take(&out);
}

static char *response(const char *command, const char *body)
{
    return mem_format("{\"seq\": 1, \"type\": \"response\", \"request_seq\": 2, \"success\": true, "
                      "\"command\": \"%s\", \"body\": %s}",
                      command, body);
}

/* Compares the annotated body with `expected`; NULL: it is left as it is. */
static void check_body(const char *command, const char *body, const char *expected)
{
    char *json = response(command, body), *out = annotate(command, json, &plain_options, NULL);
    if (!expected) {
        assert_null(out);
    } else {
        char *wanted = response(command, expected);
        assert_non_null(out);
        assert_string_equal(out, wanted);
        free(wanted);
    }
    free(json);
    free(out);
}

/* --- words --- */

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        enum annotate_unit unit;
        const char *text;
    } cases[] = {
        {-1, ANNOTATE_AUTO, "? B"},
        {0, ANNOTATE_AUTO, "0 B"},
        {817, ANNOTATE_AUTO, "817 B"},
        {999, ANNOTATE_AUTO, "999 B"},
        {1000, ANNOTATE_AUTO, "1.0 KB"},
        {9949, ANNOTATE_AUTO, "9.9 KB"},
        {9950, ANNOTATE_AUTO, "10 KB"},
        {999499, ANNOTATE_AUTO, "999 KB"},
        {999500, ANNOTATE_AUTO, "1.0 MB"},
        {8000096, ANNOTATE_AUTO, "8.0 MB"},
        {96000000, ANNOTATE_AUTO, "96 MB"},
        {INT64_C(2000000000), ANNOTATE_AUTO, "2.0 GB"},
        {INT64_C(2500000000000), ANNOTATE_AUTO, "2.5 TB"},
        {INT64_MAX, ANNOTATE_AUTO, "9223372 TB"},
        {INT64_MAX, ANNOTATE_B, "9223372036854775807 B"},
        {8000096, ANNOTATE_B, "8000096 B"},
        {8000096, ANNOTATE_KB, "8000 KB"},
        {817, ANNOTATE_KB, "0.8 KB"},
        {817, ANNOTATE_MB, "<0.1 MB"},
        {0, ANNOTATE_MB, "0.0 MB"},
        {INT64_C(123456789012), ANNOTATE_GB, "123 GB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        annotate_size(cases[i].bytes, cases[i].unit, &out);
        assert_string_equal(out.data, cases[i].text);
        buf_free(&out);
    }
}

static void test_object_states(void **state)
{
    (void)state;
    static const struct {
        struct object_note note;
        struct annotate_options options;
        const char *text;
    } cases[] = {
        {{OBJECT_STATE_READY, 8000000, "pid 5842@node-1", ""},
         {0},
         "8.0 MB" DOT "pid 5842@node-1" DOT},
        {{OBJECT_STATE_READY, -1, "pid 5842@node-1", ""}, {0}, "pid 5842@node-1" DOT},
        {{OBJECT_STATE_READY, 8000000, "", ""}, {0}, "8.0 MB" DOT},
        {{OBJECT_STATE_READY, -1, "", ""}, {0}, ""},
        {{OBJECT_STATE_SPILLED, 8000000, "pid 1@n", ""}, {0}, "8.0 MB spilled" DOT "pid 1@n" DOT},
        {{OBJECT_STATE_SPILLED, -1, "", ""}, {0}, "spilled" DOT},
        {{OBJECT_STATE_PENDING, -1, "pid 1@n", "SUBMITTED_TO_WORKER"},
         {0},
         "pending SUBMITTED_TO_WORKER" DOT},
        {{OBJECT_STATE_PENDING, -1, "", ""}, {0}, "pending" DOT},
        {{OBJECT_STATE_LOST, 8000000, "pid 1@n", "owner died"}, {0}, "lost (owner died)" DOT},
        {{OBJECT_STATE_LOST, 8000000, "", ""}, {0}, "lost" DOT},
        {{OBJECT_STATE_UNKNOWN, 8000000, "pid 1@n", "x"}, {0}, ""},
        {{OBJECT_STATE_READY, 8000000, "pid 1@n", ""},
         {.unit = ANNOTATE_B},
         "8000000 B" DOT "pid 1@n" DOT},
        {{OBJECT_STATE_READY, 8000000, "pid 1@n", ""}, {.no_size = true}, "pid 1@n" DOT},
        {{OBJECT_STATE_SPILLED, 8000000, "pid 1@n", ""},
         {.no_size = true},
         "spilled" DOT "pid 1@n" DOT},
        {{OBJECT_STATE_SPILLED, 8000000, "pid 1@n", ""},
         {.no_state = true, .no_owner = true},
         "8.0 MB" DOT},
        {{OBJECT_STATE_LOST, 8000000, "", "x"}, {.no_state = true}, ""},
        {{OBJECT_STATE_READY, 8000000, "pid 1@n", ""}, {.off = true}, ""},
        {{OBJECT_STATE_READY, -1, "a'b\"c#d\\e\n\x1b\xff\xc2\x9b\xc3\xa9", ""},
         {0},
         "a?b?c?d?e????\xc3\xa9" DOT},
    };
    struct object_id id = {{0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        char *wanted = mem_format("%sObjectRef(%056d)", cases[i].text, 0);
        annotate_object(&id, &cases[i].note, &cases[i].options, &out);
        assert_string_equal(out.data, wanted);
        free(wanted);
        buf_free(&out);
    }
}

/* --- rows --- */

#define ROW(value, rest) "{\"variables\": [{\"name\": \"x\", \"value\": \"" value "\", " rest "}]}"
#define PREFIX "8.0 MB" DOT "pid 7@n" DOT

static void test_hints(void **state)
{
    (void)state;
#define TYPE "\"type\": \"ObjectRef\""
    static const struct {
        const char *before, *after;
    } cases[] = {
        {TYPE, TYPE ", " READ_ONLY},
        {TYPE ", \"presentationHint\": {}",
         TYPE ", \"presentationHint\": {\"attributes\": [\"readOnly\"]}"},
        {TYPE ", \"presentationHint\": {\"kind\": \"data\"}",
         TYPE ", \"presentationHint\": {\"kind\": \"data\", \"attributes\": [\"readOnly\"]}"},
        {TYPE ", \"presentationHint\": {\"attributes\": [ ] }",
         TYPE ", \"presentationHint\": {\"attributes\": [ \"readOnly\"] }"},
        {TYPE ", \"presentationHint\": {\"attributes\": [\"a\"]}",
         TYPE ", \"presentationHint\": {\"attributes\": [\"a\", \"readOnly\"]}"},
        {TYPE ", \"presentationHint\": {\"attributes\": [\"readOnly\", \"a\"]}",
         TYPE ", \"presentationHint\": {\"attributes\": [\"readOnly\", \"a\"]}"},
        {TYPE ", \"presentationHint\": null", TYPE ", \"presentationHint\": null, " READ_ONLY},
        {TYPE ", \"presentationHint\": {\"attributes\": 7}",
         TYPE ", \"presentationHint\": {\"attributes\": 7, \"attributes\": [\"readOnly\"]}"},
        {TYPE ", \"presentationHint\": 1, \"presentationHint\": {}",
         TYPE ", \"presentationHint\": 1, \"presentationHint\": {\"attributes\": [\"readOnly\"]}"},
        {TYPE ", \"presentationHint\": {\"attributes\": [\"readOnly\"], \"attributes\": []}",
         TYPE ", \"presentationHint\": {\"attributes\": [\"readOnly\"], \"attributes\": "
              "[\"readOnly\"]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *before = mem_format(ROW(REF_1, "%s"), cases[i].before);
        char *after = mem_format(ROW(PREFIX REF_1, "%s"), cases[i].after);
        check_body("variables", before, after);
        free(before);
        free(after);
    }
    /* In front of the value, between blanks, with keys that are escaped or twice there. */
    check_body("variables",
               "{ \"variables\" : [ { \"presentationHint\" : { } , \"type\" : \"ObjectRef\" , "
               "\"value\" : \"" REF_1 "\" } , 7 , [ ] , { } ] , \"x\" : 1 }",
               "{ \"variables\" : [ { \"presentationHint\" : { \"attributes\": [\"readOnly\"]} , "
               "\"type\" : \"ObjectRef\" , \"value\" : \"" PREFIX REF_1
               "\" } , 7 , [ ] , { } ] , \"x\" : 1 }");
    check_body(
        "variables",
        "{\"variables\": [{\"type\": \"ObjectRef\", \"value\": \"1\", \"v\\u0061lue\": \"" REF_1
        "\"}]}",
        "{\"variables\": [{\"type\": \"ObjectRef\", \"value\": \"1\", \"v\\u0061lue\": \"" PREFIX
            REF_1 "\", " READ_ONLY "}]}");
    check_body(
        "variables",
        "{\"variables\": [{\"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}], \"variables\": "
        "[{\"value\": \"" REF_2 "\", \"type\": \"ObjectRef\"}]}",
        "{\"variables\": [{\"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}], \"variables\": "
        "[{\"value\": \"16 MB" DOT "pid 7@n" DOT REF_2 "\", \"type\": \"ObjectRef\", " READ_ONLY
        "}]}");
    check_body("variables", ROW(REF_1, TYPE), ROW(PREFIX REF_1, TYPE ", " READ_ONLY));
    check_body("variables",
               "{\"variables\": [{\"value\": \"" REF_1 "\", " TYPE "}], \"variables\": 1}", NULL);
    /* With nothing known. */
    check_body("variables", ROW(REF_UNKNOWN, TYPE), ROW(REF_UNKNOWN, TYPE ", " READ_ONLY));
    check_body("variables", ROW(REF_PENDING, TYPE),
               ROW("pending SUBMITTED_TO_WORKER" DOT REF_PENDING, TYPE ", " READ_ONLY));
#undef TYPE
}

static void test_look_alikes(void **state)
{
    (void)state;
    static const char *const rows[] = {
        ROW("ObjectRef(zz668a65bda616c1ffffffffffffffffffffffff0100000001000000)",
            "\"type\": \"ObjectRef\""),
        ROW("ObjectRef(00668A65BDA616C1FFFFFFFFFFFFFFFFFFFFFFFF0100000001000000)",
            "\"type\": \"ObjectRef\""),
        ROW("ObjectRef(" TASK "010000)", "\"type\": \"ObjectRef\""),
        ROW("ObjectRef(" TASK "0100000000)", "\"type\": \"ObjectRef\""),
        ROW("ObjectRef(" TASK "01000000", "\"type\": \"ObjectRef\""),
        ROW("ObjectRef(" TASK "01000000]", "\"type\": \"ObjectRef\""),
        ROW(" " REF_1, "\"type\": \"ObjectRef\""),
        ROW(REF_1 " ", "\"type\": \"ObjectRef\""),
        ROW("ObjectRef(0066...)", "\"type\": \"ObjectRef\""),
        ROW("ObjectRef(0066...)", "\"type\": \"ObjectRef\", \"presentationHint\": {}"),
        ROW("'" REF_1 "'", "\"type\": \"str\""),
        ROW(REF_1, "\"type\": \"str\""),
        ROW(REF_1, "\"type\": \"MyRef\""),
        ROW(REF_1, "\"type\": 7"),
        ROW(REF_1, "\"kind\": \"ObjectRef\""),
        ROW("x", "\"value\": 7, \"type\": \"ObjectRef\""),
        ROW(REF_1, "\"type\": \"ObjectRef\", \"type\": \"str\""),
        ROW(ACTOR_1 " ", "\"type\": \"ActorHandle\""),
        ROW("Actor(H, b0F542cb5a173af7a58036f101000000)", "\"type\": \"ActorHandle\""),
        ROW("Actor(H, b0f542cb5a173af7a58036f1010000)", "\"type\": \"ActorHandle\""),
        ROW("Actor(, b0f542cb5a173af7a58036f101000000)", "\"type\": \"ActorHandle\""),
        ROW("Actor(H, 90f542cb5a173af7a58036f101000000)", "\"type\": \"ActorHandle\""),
        ROW(ACTOR_1, "\"type\": \"str\""),
        ROW("x", "\"type\": \"rr\\u0061y\""),
        "{\"variables\": []}",
        "{\"variables\": [[{\"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}]]}",
        "{\"x\": {\"variables\": [{\"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}]}}",
        "{\"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}",
        "{}",
        "[]",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_body("variables", rows[i], NULL);
    check_body("scopes", ROW(REF_1, "\"type\": \"ObjectRef\""), NULL);
}

static void test_other_responses(void **state)
{
    (void)state;
    check_body("evaluate", "{\"result\": \"" REF_1 "\", \"value\": \"\", \"type\": \"ObjectRef\"}",
               "{\"result\": \"" PREFIX REF_1
               "\", \"value\": \"\", \"type\": \"ObjectRef\", " READ_ONLY "}");
    check_body("setExpression", "{\"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}",
               "{\"value\": \"" PREFIX REF_1 "\", \"type\": \"ObjectRef\", " READ_ONLY "}");
    /* It has no presentationHint in DAP. */
    check_body("setVariable", "{\"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}",
               "{\"value\": \"" PREFIX REF_1 "\", \"type\": \"ObjectRef\"}");
    check_body("evaluate", "{\"result\": \"" ACTOR_1 "\", \"type\": \"ActorHandle\"}",
               "{\"result\": \"H" DOT "pid 7@node-1" DOT "ALIVE" DOT ACTOR_1
               "\", \"type\": \"ActorHandle\"}");
    check_body("evaluate", "{\"result\": \"" ACTOR_2 "\", \"type\": \"ActorHandle\"}",
               "{\"result\": \"H \\\"the \\\\\\\"named\\\\\\\" one\\\"" DOT "pid 7@node-1" DOT
               "ALIVE" DOT ACTOR_2 "\", \"type\": \"ActorHandle\"}");
    check_body("evaluate", "{\"result\": \"" REF_1 "\", \"type\": null}", NULL);
    char *failed =
        mem_string("{\"seq\": 1, \"type\": \"response\", \"request_seq\": 2, \"success\": "
                   "false, \"command\": \"evaluate\", \"body\": {\"result\": \"" REF_1
                   "\", \"type\": \"ObjectRef\"}}");
    assert_null(annotate("evaluate", failed, &plain_options, NULL));
    free(failed);
}

/* --- containers --- */

static char *container_row(const char *prefix, const char *type, const char *value)
{
    struct buf out = {0};
    char *whole = mem_format("%s%s", prefix, value);
    buf_add_string(&out, "{\"result\": ");
    message_quote(&out, whole);
    buf_printf(&out, ", \"type\": \"%s\"}", type);
    free(whole);
    return buf_take(&out);
}

static void check_container(const char *type, const char *value, const char *expected)
{
    char *before = container_row("", type, value);
    char *prefix = mem_format("%s" DOT, expected ? expected : "");
    char *after = container_row(prefix, type, value);
    check_body("evaluate", before, expected ? after : NULL);
    free(before);
    free(prefix);
    free(after);
}

static void test_containers(void **state)
{
    (void)state;
    static const struct {
        const char *type, *value, *prefix;
    } cases[] = {
        {"list", "[" REF_1 "]", "1 ref, 8.0 MB"},
        {"list", "[" REF_1 ", " REF_2 ", " REF_1 "]", "3 refs, 24 MB"},
        {"list", "[" REF_1 ", " REF_UNKNOWN "]", "2 refs, 8.0+ MB"},
        {"list", "[" REF_UNKNOWN "]", NULL},
        {"list", "[" REF_PENDING "]", "1 ref"},
        {"list", "[" REF_1 ", ...]", "1+ refs, 8.0+ MB"},
        {"list", "[" REF_PENDING ", ...]", "1+ refs"},
        {"list", "[[...], " REF_1 "]", "1+ refs, 8.0+ MB"},
        {"tuple", "(" REF_1 ",)", "1 ref, 8.0 MB"},
        {"set", "{" REF_1 ", " REF_3 "}", "2 refs, 32 MB"},
        {"frozenset", "frozenset({" REF_1 "})", "1 ref, 8.0 MB"},
        {"deque", "deque([" REF_1 "])", "1 ref, 8.0 MB"},
        {"dict", "{'a': " REF_1 ", " REF_2 ": 1}", "2 refs, 24 MB"},
        {"dict", "{'a': {'b': [" REF_1 ", (" REF_2 ",)], 'c': {}}, 1: ()}", "2 refs, 24 MB"},
        {"OrderedDict", "OrderedDict([('a', " REF_1 "), ('b', " REF_2 ")])", "2 refs, 24 MB"},
        {"OrderedDict", "OrderedDict({'a': " REF_1 "})", "1 ref, 8.0 MB"},
        {"defaultdict", "defaultdict(<class 'list'>, {'a': [" REF_1 "]})", "1 ref, 8.0 MB"},
        {"defaultdict", "defaultdict(<class 'list'>, {'a': [[...], " REF_1 "]})", "1 ref, 8.0 MB"},
        {"dict_values", "dict_values([" REF_1 "])", "1 ref, 8.0 MB"},
        {"mappingproxy", "mappingproxy({'a': " REF_1 "})", "1 ref, 8.0 MB"},
        /* Strings: both quotes, escapes, bytes, another's text. */
        {"dict", "{\"it's\": " REF_1 ", 'say \"hi\"': " REF_2 ", 'both \\' and \"': " REF_3 "}",
         "3 refs, 48 MB"},
        {"list", "['\\\\', " REF_1 ", b'x', b\"'\", 'caf\xc3\xa9\\n']", "1 ref, 8.0 MB"},
        {"list", "['[" REF_1 "]', \"" REF_1 ", '" REF_1 "',\", b'" REF_1 "']", NULL},
        {"list", "['" REF_1 "', " REF_2 "]", "1 ref, 16 MB"},
        {"list", "['a...b', " REF_1 ", '\"...\"', \"it's...\"]", "1 ref, 8.0 MB"},
        /* Other classes' reprs are their own. */
        {"list", "[Holder(ref=" REF_1 "), " REF_2 "]", "1 ref, 16 MB"},
        {"list", "[<Foo " REF_1 ", x>, " REF_2 ", <C.R: 1>, array([1, 2]), -1.5, None]",
         "1 ref, 16 MB"},
        {"list", "[<f(x) -> " REF_1 ">, " REF_2 "]", "1 ref, 16 MB"},
        {"list", "[<f -> R, " REF_1 ", x>, " REF_2 "]", "1 ref, 16 MB"},
        {"list", "[Holder(" REF_1 ")]", NULL},
        {"list", "[" ACTOR_1 ", " REF_1 "]", "1 ref, 8.0 MB"},
        {"list", "[x" REF_1 "]", NULL},
        {"list", "[" REF_1 "x]", NULL},
        {"Point", "Point(x=" REF_1 ")", NULL},
        {"Sub", "[" REF_1 "]", NULL},
        {"str", "'[" REF_1 "]'", NULL},
        /* What is no container throughout. */
        {"list", "[" REF_1, NULL},
        {"list", "[" REF_1 "]]", NULL},
        {"list", "[" REF_1 ")", NULL},
        {"list", "[" REF_1 "] ", NULL},
        {"list", "[" REF_1 " " REF_2 "]", NULL},
        {"list", "[<Foo it's>, " REF_1 "]", NULL},
        {"list", "['abc, " REF_1 "]", NULL},
        {"deque", "deque([" REF_1 "]) ", NULL},
        {"list", REF_1, NULL},
        {"list", "", NULL},
        {"defaultdict", "<defaultdict, len() = 70>", NULL},
        /* Strings that pydevd has cut: which quote ends them cannot be told. */
        {"list", "[\"it...tail', " REF_1 ", \"]", NULL},
        {"list", "['it...tail\", " REF_1 ", ']", NULL},
        {"list", "[\"it...tail', " REF_1 ", \", " REF_2 ", 'x', \", 'ab...t\"]", NULL},
        {"list", "['it...t', " REF_1 "]", "1 ref, 8.0 MB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_container(cases[i].type, cases[i].value, cases[i].prefix);
}

static void test_deep_container(void **state)
{
    (void)state;
    struct buf deep = {0};
    for (int i = 0; i < 100000; i++)
        buf_add_string(&deep, "[");
    buf_add_string(&deep, REF_1);
    for (int i = 0; i < 100000; i++)
        buf_add_string(&deep, "]");
    check_container("list", deep.data, NULL);
    buf_free(&deep);
}

/* --- what debugpy says --- */

static char *recorded(const char *name)
{
    char path[512];
    struct buf bytes = {0};
    snprintf(path, sizeof path, "%s/debugpy-1.8.22-%s.json", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    bytes.len = fread(buf_reserve(&bytes, 1 << 20), 1, 1 << 20, file);
    fclose(file);
    buf_add(&bytes, "", 0);
    return buf_take(&bytes);
}

/* The last element of body.variables of that name: its span in `json`. */
static struct span row_named(const char *json, const char *name)
{
    struct span whole = {0, strlen(json)}, rows, row, value, found = {0};
    size_t cursor = 0;
    assert_true(scan_path(json, whole, "body/variables", &rows));
    while (scan_element(json, rows, &cursor, &row))
        if (scan_find(json, row, "name", &value) && scan_string_is(json, value, name))
            found = row;
    assert_true(found.len > 0);
    return found;
}

static void check_recorded_row(const char *before, const char *after, const char *name,
                               const char *prefix)
{
    struct span old = row_named(before, name), new = row_named(after, name), value, hint;
    assert_true(scan_find(before, old, "value", &value));
    char *old_value = scan_string(before, value);
    assert_true(scan_find(after, new, "value", &value));
    char *new_value = scan_string(after, value);
    char *wanted = mem_format("%s%s%s", prefix, *prefix ? DOT : "", old_value);
    assert_string_equal(new_value, wanted);
    bool is_ref =
        scan_find(before, old, "type", &value) && scan_string_is(before, value, "ObjectRef");
    bool read_only = scan_path(after, new, "presentationHint/attributes", &hint) &&
                     memmem(after + hint.at, hint.len, "\"readOnly\"", 10);
    assert_int_equal(read_only, is_ref);
    free(old_value);
    free(new_value);
    free(wanted);
}

static void test_recorded_variables(void **state)
{
    (void)state;
    static const struct {
        const char *name, *prefix;
    } rows[] = {
        {"ref", "16 MB" DOT "pid 7@n"},
        {"small", "24 MB" DOT "pid 7@n"},
        {"nil", ""},
        {"handle", "H" DOT "pid 7@node-1" DOT "ALIVE"},
        {"named", "H \"the \\\"named\\\" one\"" DOT "pid 7@node-1" DOT "ALIVE"},
        {"a_set", "2 refs, 40 MB"},
        {"actors", "1 ref, 16 MB"},
        {"by_name", "5 refs, 40 MB"},
        {"by_ref", "2 refs, 40 MB"},
        {"deep", "1+ refs, 16+ MB"},
        {"default", "2 refs, 40 MB"},
        {"default_long", ""},
        {"defaults", "1+ refs, 16+ MB"},
        {"frozen", "1 ref, 16 MB"},
        {"generator", ""},
        {"holder", ""},
        {"holders", "1 ref, 16 MB"},
        {"items", "2 refs, 40 MB"},
        {"look_alike", ""},
        /* The first 43,690 characters: "dict_values([" and 633 times a reference and ", ". */
        {"many_values", "633+ refs, 16+ MB"},
        {"one_tuple", "1 ref, 16 MB"},
        {"ordered", "2 refs, 40 MB"},
        {"pair", "2 refs, 40 MB"},
        {"point", ""},
        {"points", "1 ref, 16 MB"},
        {"proxy", "1 ref, 16 MB"},
        {"queue", "2 refs, 40 MB"},
        {"recursive", "1+ refs, 16+ MB"},
        {"refs", "3 refs, 120 MB"},
        {"rows", "20+ refs, 13+ GB"},
        {"seventy", "59+ refs, 17+ GB"},
        {"seventy_ordered", "59+ refs, 16+ MB"},
        {"subclass", ""},
        {"text", ""},
        {"texts", ""},
        {"values", "2 refs, 40 MB"},
        {"cut_texts", ""},
        {"cut_ends", ""},
        {"array", ""},
    };
    struct log log = {0};
    char *before = recorded("variables"),
         *after = annotate("variables", before, &plain_options, &log);
    assert_non_null(after);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_recorded_row(before, after, rows[i].name, rows[i].prefix);
    assert_int_equal(log.actors, 2);
    assert_int_equal(log.arrays, 1);
    assert_int_equal(log.containers, 23);
    free(before);
    free(after);
}

/* Names that need escapes; a key of a dict is a name. */
static void test_recorded_children(void **state)
{
    (void)state;
    struct log log = {0};
    char *before = recorded("children"),
         *after = annotate("variables", before, &plain_options, &log);
    check_recorded_row(before, after, "\"it's\"", "16 MB" DOT "pid 7@n");
    check_recorded_row(before, after, "'say \"hi\"'", "24 MB" DOT "pid 7@n");
    check_recorded_row(before, after, "'both \\' and \"'", "16 MB" DOT "pid 7@n");
    check_recorded_row(before, after, "'\xc3\xa9\\n\\t\\\\'", "16 MB" DOT "pid 7@n");
    assert_string_equal(log.text, "0 37 02 |\"it's\"|by_name[\"it's\"];"
                                  "0 42 03 |'say \"hi\"'|by_name['say \"hi\"'];"
                                  "0 37 02 |'both \\' and \"'|by_name['both \\' and \"'];"
                                  "0 37 02 |'\xc3\xa9\\n\\t\\\\'|by_name['\xc3\xa9\\n\\t\\\\'];"
                                  "0 42 03 |7|by_name[7];");
    free(before);
    free(after);
}

static void test_recorded_others(void **state)
{
    (void)state;
    static const struct {
        const char *file, *command, *inserted, *hint;
    } cases[] = {
        {"evaluate", "evaluate", "2 refs, 40 MB" DOT "(ObjectRef(", "\"presentationHint\": {}"},
        {"evaluate-actor", "evaluate", "H" DOT "pid 7@node-1" DOT "ALIVE" DOT "Actor(H, ",
         "\"presentationHint\": {}"},
        {"set-variable", "setVariable", "16 MB" DOT "pid 7@n" DOT "ObjectRef(", "ObjectRef"},
        {"set-expression", "setExpression", "16 MB" DOT "pid 7@n" DOT "ObjectRef(",
         "\"presentationHint\": {\"attributes\": [\"readOnly\"]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *before = recorded(cases[i].file);
        char *after = annotate(cases[i].command, before, &plain_options, NULL);
        assert_non_null(after);
        assert_non_null(strstr(after, cases[i].inserted));
        assert_non_null(strstr(after, cases[i].hint));
        free(before);
        free(after);
    }
}

/* --- what is told --- */

static void test_seen(void **state)
{
    (void)state;
    static const char body[] =
        "{\"variables\": ["
        "{\"name\": \"a\\u0062\", \"value\": \"" REF_UNKNOWN "\", \"type\": \"ObjectRef\", "
        "\"evaluateName\": \"s['ab']\", \"variablesReference\": 9},"
        "{\"name\": \"l\", \"value\": \"[" REF_1 ", " REF_2 ", " REF_1 "]\", \"type\": \"list\", "
        "\"evaluateName\": \"l\", \"variablesReference\": 10},"
        "{\"value\": \"" ACTOR_1 "\", \"type\": \"ActorHandle\"},"
        "{\"name\": \"n\", \"value\": \"array([0.])\", \"type\": \"numpy.ndarray\", "
        "\"variablesReference\": 11},"
        "{\"name\": \"t\", \"value\": \"pyarrow…\", \"type\": \"Int64Array\"},"
        "{\"name\": \"u\", \"value\": \"pyarrow…\", \"type\": \"MyArray\"},"
        "{\"name\": \"e\", \"value\": \"[]\", \"type\": \"list\", \"variablesReference\": 12}]}";
    static const char told[] = "0 9 f0 |ab|s['ab'];2 10 00 |l|l;0 0 01 |l|l;0 0 02 |l|l;"
                               "1 0 00 b0f542cb5a173af7a58036f101000000||;3 11 00 |n|;3 0 00 |t|;";
    char *json = response("variables", body);
    struct log log = {0}, off = {0};
    char *out = annotate("variables", json, &plain_options, &log);
    assert_string_equal(log.text, told);
    free(out);
    assert_null(annotate("variables", json, &(struct annotate_options){.off = true}, &off));
    assert_string_equal(off.text, told);
    free(json);
}

static void test_applies(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool applies;
    } cases[] = {
        {"{\"value\": \"" REF_1 "\"}", true},
        {"{\"type\": \"ActorHandle\"}", true},
        {"{\"type\" :\n\"ndarray\"}", true},
        {"{\"type\": \"int\", \"x\": {\"type\":\"DataFrame\"}}", true},
        {"{\"type\":\"pyarrow.lib.Table\"}", true},
        {"{\"type\":\"ChunkedArray\"}", true},
        {"{\"type\":\"DoubleArray\"}", true},
        {"{\"type\":\"Series\"}", true},
        {"{\"type\":\"RayArray\"}", false},
        {"{\"type\":\"Array\"}", true},
        {"{\"type\":\"rray\"}", false},
        {"{\"type\":\"int\",\"value\":\"ndarray ActorHandle\"}", false},
        {"{\"type\"", false},
        {"{\"type\":", false},
        {"{\"type\":\"", false},
        {"{\"type\":\"ndarray", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(annotate_applies(cases[i].json, strlen(cases[i].json)), cases[i].applies);
}

/* --- edit boxes --- */

static void check_stripped(const char *command, const char *argument, const char *quoted,
                           const char *expected)
{
    static const char format[] = "{\"seq\": 1, \"type\": \"request\", \"command\": \"%s\", "
                                 "\"arguments\": {\"name\": \"8 MB" DOT "x\", \"%s\": %s}}";
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    char *json = mem_format(format, command, argument, quoted);
    char *wanted = mem_format(format, command, argument, expected ? expected : "");
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    assert_int_equal(annotate_strip(json, strlen(json), &envelope, &out), expected != NULL);
    if (expected)
        assert_string_equal(out.data, wanted);
    else
        assert_int_equal(out.len, 0);
    buf_free(&out);
    free(json);
    free(wanted);
}

static void test_strip(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* NULL: as it is */
    } cases[] = {
        {"8.0 MB" DOT "pid 5842@node-1" DOT REF_1, REF_1},
        {"8.0 MB spilled" DOT "pid 1@n" DOT "x + 1", "x + 1"},
        {"<0.1 MB" DOT "x", "x"},
        {"pending SUBMITTED_TO_WORKER" DOT REF_1, REF_1},
        {"lost (owner died)" DOT REF_1, REF_1},
        {"12 refs, 96+ MB" DOT "[" REF_1 ", 'a" DOT "b']", "[" REF_1 ", 'a" DOT "b']"},
        {"H" DOT "pid 7@node-1" DOT "ALIVE" DOT ACTOR_1, ACTOR_1},
        {"H \\\"a\\\"" DOT "ALIVE" DOT ACTOR_1, ACTOR_1},
        {"H \\\"a \\\\\\\" b" DOT "c\\\"" DOT "ALIVE" DOT ACTOR_1, ACTOR_1},
        {"\\\"a" DOT "b\\\"" DOT "ALIVE" DOT ACTOR_1, ACTOR_1},
        {"H \\\"it's #1\\\"" DOT "x", "x"},
        {"8.0 MB \\u00b7 pid 1@n \\u00B7 x\\ud800", "x\\ud800"},
        {"  8.0 MB" DOT "x", "x"},
        {"  H \\\"a\\\"" DOT "x", "x"},
        {"H \\\"a\\\"" DOT DOT "x", "x"},
        {"8.0 MB" DOT, ""},
        {"8.0 MB" DOT "f(x)"
         "  # a" DOT "b",
         "f(x)"
         "  # a" DOT "b"},
        {"8.0 MB" DOT "f'" DOT "'", "f'" DOT "'"},
        {"view of " REF_1 DOT "array([0.])", "array([0.])"},
        {"node-\xc3\xa9" DOT "x", "x"},
        {REF_1, NULL},
        {"", NULL},
        {"x", NULL},
        {DOT "x", "x"},
        {"x + \\\"\\\"\\\"y \\\"b\\\"" DOT "c\\\"\\\"\\\"", NULL},
        {"a\xc2\xb7"
         "b",
         NULL},
        {"'a" DOT "b'", NULL},
        {"\\\"a" DOT "b\\\"", NULL},
        {"r'a" DOT "b'", NULL},
        {"rb\\\"a" DOT "b\\\"", NULL},
        {"'''a\\n" DOT "b'''", NULL},
        {"\\\"\\\"\\\"a" DOT "b\\\"\\\"\\\"", NULL},
        {"\\\"a\\\" \\\"" DOT "b\\\"", NULL},
        {"not \\\"\\\\\\\"" DOT "b\\\"", NULL},
        {"f\\\"{d[\\\"a" DOT "b\\\"]}\\\"", NULL},
        {"f\\\"{x:\\\"" DOT ">9}\\\"", NULL},
        {"x = 'a" DOT "b'", NULL},
        {"f(x, 'a" DOT "b')", NULL},
        {"x # a" DOT "b", NULL},
        {"x\\n'" DOT "'", NULL},
        {"x\\n y" DOT "z", NULL},
    };
    static const struct {
        const char *command, *argument;
    } edited[] = {{"setVariable", "value"}, {"setExpression", "value"}, {"evaluate", "expression"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *before = mem_format("\"%s\"", cases[i].before);
        char *after = cases[i].after ? mem_format("\"%s\"", cases[i].after) : NULL;
        for (size_t j = 0; j < 3; j++)
            check_stripped(edited[j].command, edited[j].argument, before, after);
        free(before);
        free(after);
    }
    check_stripped("evaluate", "value", "\"8.0 MB" DOT "x\"", NULL);
    check_stripped("completions", "text", "\"8.0 MB" DOT "x\"", NULL);
    check_stripped("setVariable", "value", "7", NULL);
}

/* Whatever is annotated is stripped again. */
static void test_strip_what_was_annotated(void **state)
{
    (void)state;
    char *before = recorded("variables"),
         *after = annotate("variables", before, &plain_options, NULL);
    struct span whole = {0, strlen(after)}, rows, row, value;
    size_t cursor = 0, count = 0;
    assert_true(scan_path(after, whole, "body/variables", &rows));
    while (scan_element(after, rows, &cursor, &row)) {
        struct span name;
        assert_true(scan_find(after, row, "name", &name) && scan_find(after, row, "value", &value));
        char *plain_name = scan_string(after, name);
        struct span old;
        assert_true(scan_find(before, row_named(before, plain_name), "value", &old));
        char *new_text = mem_string_n(after + value.at, value.len);
        char *old_text = mem_string_n(before + old.at, old.len);
        bool annotated = strcmp(new_text, old_text) != 0;
        check_stripped("setVariable", "value", new_text, annotated ? old_text : NULL);
        count += annotated;
        free(plain_name);
        free(new_text);
        free(old_text);
    }
    assert_int_equal(count, 27);
    free(before);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_object_states),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_look_alikes),
        cmocka_unit_test(test_other_responses),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_deep_container),
        cmocka_unit_test(test_recorded_variables),
        cmocka_unit_test(test_recorded_children),
        cmocka_unit_test(test_recorded_others),
        cmocka_unit_test(test_seen),
        cmocka_unit_test(test_applies),
        cmocka_unit_test(test_strip),
        cmocka_unit_test(test_strip_what_was_annotated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
