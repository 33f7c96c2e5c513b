/* What is said of references, handles and containers in front of their values. */
#include "annotate_fixture.h"
#include "cmocka_prelude.h"

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
        {{OBJECT_STATE_READY, 8000000, 5842, "node-1", ""},
         {0},
         "8.0 MB" DOT "pid 5842@node-1" DOT},
        {{OBJECT_STATE_READY, -1, 5842, "node-1", ""}, {0}, "pid 5842@node-1" DOT},
        {{OBJECT_STATE_READY, 8000000, 0, NULL, ""}, {0}, "8.0 MB" DOT},
        {{OBJECT_STATE_READY, -1, 0, NULL, ""}, {0}, ""},
        {{OBJECT_STATE_SPILLED, 8000000, 1, "n", ""}, {0}, "8.0 MB spilled" DOT "pid 1@n" DOT},
        {{OBJECT_STATE_SPILLED, -1, 0, NULL, ""}, {0}, "spilled" DOT},
        {{OBJECT_STATE_PENDING, -1, 1, "n", "SUBMITTED_TO_WORKER"},
         {0},
         "pending SUBMITTED_TO_WORKER" DOT},
        {{OBJECT_STATE_PENDING, -1, 0, NULL, ""}, {0}, "pending" DOT},
        {{OBJECT_STATE_LOST, 8000000, 1, "n", "owner died"}, {0}, "lost (owner died)" DOT},
        {{OBJECT_STATE_LOST, 8000000, 0, NULL, ""}, {0}, "lost" DOT},
        {{OBJECT_STATE_UNKNOWN, 8000000, 1, "n", "x"}, {0}, ""},
        {{OBJECT_STATE_READY, 8000000, 1, "n", ""},
         {.unit = ANNOTATE_B},
         "8000000 B" DOT "pid 1@n" DOT},
        {{OBJECT_STATE_READY, 8000000, 1, "n", ""}, {.no_size = true}, "pid 1@n" DOT},
        {{OBJECT_STATE_SPILLED, 8000000, 1, "n", ""},
         {.no_size = true},
         "spilled" DOT "pid 1@n" DOT},
        {{OBJECT_STATE_SPILLED, 8000000, 1, "n", ""},
         {.no_state = true, .no_owner = true},
         "8.0 MB" DOT},
        {{OBJECT_STATE_LOST, 8000000, 0, NULL, "x"}, {.no_state = true}, ""},
        {{OBJECT_STATE_READY, 8000000, 1, "n", ""}, {.off = true}, ""},
        {{OBJECT_STATE_READY, -1, 1, "a'b\"c#d\\e\n\x1b\xff\xc2\x9b\xc3\xa9", ""},
         {0},
         "pid 1@a?b?c?d?e????\xc3\xa9" DOT},
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

/* The keys of a row are compared with those of the row before. */
static void test_other_keys(void **state)
{
    (void)state;
#define NOTE "8.0 MB" DOT "pid 7@n" DOT
    static const struct {
        const char *row, *expected;
    } rows[] = {
        {"{\"name\": \"a\", \"value\": \"" REF_1 "\", \"type\": \"ObjectRef\"}",
         "{\"name\": \"a\", \"value\": \"" NOTE REF_1 "\", \"type\": \"ObjectRef\", " READ_ONLY
         "}"},
        /* Another order; names of the same length change places. */
        {"{\"type\": \"ObjectRef\", \"value\": \"" REF_1 "\", \"name\": \"a\"}",
         "{\"type\": \"ObjectRef\", \"value\": \"" NOTE REF_1 "\", \"name\": \"a\", " READ_ONLY
         "}"},
        /* Keys that begin or end like those before. */
        {"{\"type\": \"int\", \"values\": \"" REF_1 "\", \"name\": \"ObjectRef\"}", NULL},
        {"{\"type\": \"ObjectRef\", \"valu\": \"" REF_1 "\", \"name\": \"a\"}", NULL},
        /* White space differs, and is as in the row before. */
        {"{\"type\" :\"ObjectRef\", \"value\":   \"" REF_1 "\"}",
         "{\"type\" :\"ObjectRef\", \"value\":   \"" NOTE REF_1 "\", " READ_ONLY "}"},
        {"{\"type\" :  \"ObjectRef\", \"value\":    \"" REF_1 "\"}",
         "{\"type\" :  \"ObjectRef\", \"value\":    \"" NOTE REF_1 "\", " READ_ONLY "}"},
        /* Escaped, twice the same. */
        {"{\"typ\\u0065\": \"ObjectRef\", \"value\": \"" REF_1 "\"}",
         "{\"typ\\u0065\": \"ObjectRef\", \"value\": \"" NOTE REF_1 "\", " READ_ONLY "}"},
        {"{\"typ\\u0065\": \"ObjectRef\", \"value\": \"" REF_1 "\"}",
         "{\"typ\\u0065\": \"ObjectRef\", \"value\": \"" NOTE REF_1 "\", " READ_ONLY "}"},
        /* More members than are remembered, the last two of them the same key. */
        {"{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"f\": 6, \"g\": 7, "
         "\"type\": \"ObjectRef\", \"value\": \"x\", \"value\": \"" REF_1 "\"}",
         "{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"f\": 6, \"g\": 7, "
         "\"type\": \"ObjectRef\", \"value\": \"x\", \"value\": \"" NOTE REF_1 "\", " READ_ONLY
         "}"},
        {"{}", NULL},
        {"{\"\": \"\", \"type\": \"ObjectRef\", \"value\": \"" REF_1 "\"}",
         "{\"\": \"\", \"type\": \"ObjectRef\", \"value\": \"" NOTE REF_1 "\", " READ_ONLY "}"},
    };
#undef NOTE
    struct buf body = {0}, expected = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buf_printf(&body, "%s%s", i ? ", " : "{\"variables\": [", rows[i].row);
        buf_printf(&expected, "%s%s", i ? ", " : "{\"variables\": [",
                   rows[i].expected ? rows[i].expected : rows[i].row);
    }
    buf_add_string(&body, "]}");
    buf_add_string(&expected, "]}");
    check_body("variables", body.data, expected.data);
    buf_free(&body);
    buf_free(&expected);
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
    assert_string_equal(log.children, "9 10 11 12 ");
    free(out);
    assert_null(annotate("variables", json, &(struct annotate_options){.off = true}, &off));
    assert_string_equal(off.text, told);
    assert_string_equal(off.children, "9 10 11 12 ");
    free(json);
}

#define REF_ROW                                                                                    \
    "{\"name\": \"a\", \"value\": \"" REF_1 "\", \"type\": \"ObjectRef\", "                        \
    "\"variablesReference\": 7}"

/* Whole numbers however they are written; of duplicates the last counts. */
static void test_children_in_all_spellings(void **state)
{
    (void)state;
    static const char reference[] = "\"variablesReference\": ";
    static const struct {
        const char *first, *second, *told;
    } rows[] = {
        {"7", NULL, "7 "},
        {"0", NULL, ""},
        {"-3", NULL, ""},
        {"\"7\"", NULL, ""},
        {"null", NULL, ""},
        {"12.0", NULL, "12 "},
        {"1.2e1", NULL, "12 "},
        {"1.5", NULL, ""},
        {"123456789012345678", NULL, "123456789012345678 "},
        {"1234567890123456789", NULL, "1234567890123456789 "},
        {"9223372036854775808", NULL, ""},
        {"7", "8", "8 "},
        {"7", "0", ""},
        {"7", "\"x\"", ""},
        {"\"x\"", "1.2e1", "12 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct log log = {0};
        char *second = rows[i].second ? mem_format(", %s%s", reference, rows[i].second) : NULL;
        /* The row in front has one, the one behind has none. */
        char *body = mem_format("{\"variables\": [{%s5}, {%s%s%s}, {\"a\": 6}, " REF_ROW "]}",
                                reference, reference, rows[i].first, second ? second : "");
        char *told = mem_format("5 %s7 ", rows[i].told);
        char *json = response("variables", body);
        char *out = annotate("variables", json, &plain_options, &log);
        assert_string_equal(log.children, told);
        free(out);
        free(json);
        free(told);
        free(body);
        free(second);
    }
}

/* --- responses of which only the head was read --- */

#define HEAD                                                                                       \
    "{\"seq\": 1, \"type\": \"response\", \"request_seq\": 2, \"success\": true, "                 \
    "\"command\": \"variables\", \"body\": "

/* Annotates the response; false if that did not check all of it. */
static bool annotate_head(const char *json, struct buf *out)
{
    struct envelope head;
    bool checked;
    struct annotate_source source = {object, actor, NULL, NULL, NULL};
    assert_true(envelope_read_head(&head, json, strlen(json)));
    head.body.len = strlen(json) - head.body.at;
    bool any = annotate_unchecked("variables", json, strlen(json), &head, &plain_options, &source,
                                  out, &checked);
    assert_int_equal(any, out->len > 0);
    return checked;
}

static void test_unchecked(void **state)
{
    (void)state;
    static const char *const good[] = {
        HEAD "{\"variables\": [" REF_ROW "]}}",
        HEAD " { \"x\" : [1, {}] , \"variables\" :[ 1 , {} ," REF_ROW " , " REF_ROW "] } } ",
        HEAD "{\"variables\": [{\"a\\\"\": -0.5e1, \"b\": [[], {\"c\": NaN}]}," REF_ROW "]}}",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct buf out = {0};
        char *wanted = annotate("variables", good[i], &plain_options, NULL);
        assert_true(annotate_head(good[i], &out));
        assert_string_equal(out.data, wanted);
        free(wanted);
        buf_free(&out);
    }
}

/* Malformed, or with a member behind the body. */
static void test_unchecked_rest(void **state)
{
    (void)state;
    static const char *const rests[] = {
        "]}",
        "]},}",
        "]}}}",
        "]}} x",
        "]}}, ",
        ",]}}",
        ", {\"a\"}]}}",
        ", {\"a\"::1}]}}",
        ", {\"a\": 01}]}}",
        ", {\"a\":1,}]}}",
        ", {\"a\": 1 2}]}}",
        ", {\"a\": [}]}]}}",
        ", {\"a\": \"\\x\"}]}}",
        ", {a: 1}]}}",
        ", {\"a\": 1]}}",
        ", {\"a",
        ", {\"a\": \"b",
        ", {",
        "} {}]}}",
        "], }}",
        "], \"x\"}}",
        "], \"x\": }}",
        "] \"x\": 1}}",
        "}}",
        "]}, \"success\": false}",
    };
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        struct buf out = {0};
        char *json = mem_format("%s%s", HEAD "{\"variables\": [" REF_ROW, rests[i]);
        assert_false(annotate_head(json, &out));
        free(json);
        buf_free(&out);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_object_states),
        cmocka_unit_test(test_hints),      cmocka_unit_test(test_look_alikes),
        cmocka_unit_test(test_other_keys), cmocka_unit_test(test_other_responses),
        cmocka_unit_test(test_containers), cmocka_unit_test(test_deep_container),
        cmocka_unit_test(test_seen),       cmocka_unit_test(test_children_in_all_spellings),
        cmocka_unit_test(test_unchecked),  cmocka_unit_test(test_unchecked_rest),
        cmocka_unit_test(test_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
