/* Lines of verbs, as they are typed. */
#include "cmocka_prelude.h"

#include "relay/verbs/verb.h"

#include <string.h>

static const char *const names[] = {"workers", "g1"};
static const struct verb_groups groups = {names, 2};

static struct verb parse(const char *line)
{
    struct verb verb;
    struct err err = {0};
    if (verb_parse(line, &groups, &verb, &err) != 0)
        fail_msg("%s: %s", line, err.what);
    return verb;
}

static void refuse(const char *line, const char *what)
{
    struct verb verb;
    struct err err = {0};
    if (verb_parse(line, &groups, &verb, &err) != -1)
        fail_msg("%s was taken", line);
    assert_string_equal(err.what, what);
    assert_int_equal(err.code, ERR_USAGE);
    assert_true(*err.hint);
    verb_clear(&verb);
}

static void test_steps(void **state)
{
    (void)state;
    static const struct {
        const char *line, *how, *subject;
    } rows[] = {
        {"/next", "next", NULL},
        {"/n g1", "next", "g1"},
        {"/g1 next", "next", "g1"},
        {"/all step", "stepIn", "all"},
        {"/out Trainer.*", "stepOut", "Trainer.*"},
        {"/c", "continue", NULL},
        {"/workers   finish ", "stepOut", "workers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verb verb = parse(rows[i].line);
        assert_int_equal(verb.kind, VERB_STEP);
        assert_string_equal(verb.how, rows[i].how);
        if (rows[i].subject)
            assert_string_equal(verb.subject, rows[i].subject);
        else
            assert_null(verb.subject);
        verb_clear(&verb);
    }
}

static void test_continue_and_its_conditions(void **state)
{
    (void)state;
    struct verb verb = parse("/continue g1 --skip 10 --until /a/b.py:41 --if loss < 1 and  x");
    assert_string_equal(verb.subject, "g1");
    assert_int_equal(verb.skip, 10);
    assert_string_equal(verb.file, "/a/b.py");
    assert_int_equal(verb.line, 41);
    assert_string_equal(verb.expression, "loss < 1 and  x");
    verb_clear(&verb);
    verb = parse("/all until \"my files/train.py:7\"");
    assert_string_equal(verb.how, "continue");
    assert_string_equal(verb.file, "my files/train.py");
    assert_int_equal(verb.line, 7);
    assert_string_equal(verb.subject, "all");
    verb_clear(&verb);
}

static void test_barrier(void **state)
{
    (void)state;
    struct verb verb = parse("/barrier train.py:41 workers --timeout 1.5");
    assert_int_equal(verb.kind, VERB_BARRIER);
    assert_string_equal(verb.file, "train.py");
    assert_string_equal(verb.subject, "workers");
    assert_int_equal(verb.timeout_ms, 1500);
    verb_clear(&verb);
    verb = parse("/barrier");
    assert_null(verb.file);
    assert_false(verb.remove);
    verb_clear(&verb);
    verb = parse("/barrier -");
    assert_true(verb.remove);
    verb_clear(&verb);
}

static void test_compare_knows_where_its_expression_ends(void **state)
{
    (void)state;
    static const struct {
        const char *line, *expression, *subject;
        enum verb_format format;
    } rows[] = {
        {"/compare loss", "loss", NULL, VERB_TEXT},
        {"/compare loss g1", "loss", "g1", VERB_TEXT},
        {"/compare loss  g1  --format  csv ", "loss", "g1", VERB_CSV},
        {"/g1 compare x + y --format json", "x + y", "g1", VERB_JSON},
        {"/g1 compare g1", "g1", "g1", VERB_TEXT},
        {"/compare g1", "g1", NULL, VERB_TEXT},
        {"/compare x if y else g1", "x if y else g1", NULL, VERB_TEXT},
        {"/compare x + g1", "x + g1", NULL, VERB_TEXT},
        {"/compare not_in g1", "not_in", "g1", VERB_TEXT},
        {"/compare f('an all') all", "f('an all')", "all", VERB_TEXT},
        {"/compare f('an all')", "f('an all')", NULL, VERB_TEXT},
        {"/compare x - -format", "x - -format", NULL, VERB_TEXT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verb verb = parse(rows[i].line);
        assert_string_equal(verb.expression, rows[i].expression);
        if (rows[i].subject)
            assert_string_equal(verb.subject, rows[i].subject);
        else
            assert_null(verb.subject);
        assert_int_equal(verb.format, rows[i].format);
        verb_clear(&verb);
    }
}

static void test_groups_stacks_focus(void **state)
{
    (void)state;
    struct verb verb = parse("/group readers Reader.* 0-3 !7");
    assert_int_equal(verb.kind, VERB_GROUP);
    assert_string_equal(verb.subject, "readers");
    assert_int_equal(verb.word_count, 3);
    assert_string_equal(verb.words[2], "!7");
    verb_clear(&verb);
    verb = parse("/group g1 -");
    assert_true(verb.remove);
    verb_clear(&verb);
    verb = parse("/stacks 0-3 --full --format json");
    assert_true(verb.full);
    assert_int_equal(verb.format, VERB_JSON);
    assert_string_equal(verb.subject, "0-3");
    verb_clear(&verb);
    verb = parse("/focus rank 7");
    assert_string_equal(verb.subject, "rank 7");
    verb_clear(&verb);
}

static void test_errors_name_what_was_wrong(void **state)
{
    (void)state;
    refuse("/", "there is no verb or group '/'");
    refuse("/nxt", "there is no verb or group '/nxt'");
    refuse("/g1", "/g1: what shall it do?");
    refuse("/g1 focus", "/g1: there is no 'focus' for a group");
    refuse("/until", "/until: FILE:LINE is missing");
    refuse("/until train.py", "/until: FILE:LINE is wanted, not 'train.py'");
    refuse("/until train.py:0", "/until: FILE:LINE is wanted, not 'train.py:0'");
    refuse("/next g1 g2", "/next: one group is enough: what is 'g2'");
    refuse("/next --skip 3", "/next: there is no option '--skip'");
    refuse("/continue --skip", "/continue: --skip wants a number of stops, not ''");
    refuse("/continue --skip -1", "/continue: --skip wants a number of stops, not '-1'");
    refuse("/continue --if", "/continue: --if wants an expression");
    refuse("/barrier a.py:1 --timeout soon", "/barrier: --timeout wants seconds, not 'soon'");
    refuse("/compare", "/compare: EXPR is missing");
    refuse("/compare --format csv", "/compare: EXPR is missing");
    refuse("/compare x --format xml", "/compare: there is no format 'xml'");
    refuse("/stacks --format csv", "/stacks: there is no format 'csv'");
    refuse("/group next x", "/group: this is no name for a group: 'next'");
    refuse("/group 1 x", "/group: this is no name for a group: '1'");
    refuse("/group all x", "/group: \"all\" is all tasks, always");
    refuse("/focus", "/focus: THREAD is missing");
}

static void test_help(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_true(verb_help(NULL, &out));
    for (const char *at = out.data; *at;) {
        size_t len = strcspn(at, "\n");
        assert_true(len <= 110);
        at += len + (at[len] == '\n');
    }
    assert_non_null(strstr(out.data, "/barrier FILE:LINE [GROUP] [--timeout S]"));
    buf_clear(&out, 0);
    assert_true(verb_help("/cmp", &out));
    assert_non_null(strstr(out.data, "/compare EXPR [GROUP]"));
    assert_false(verb_help("nothing", &out));
    buf_free(&out);
}

static void collect(void *arg, const char *word)
{
    struct buf *out = arg;
    buf_add_string(out, word);
    buf_add_string(out, " ");
}

static void complete(const char *line, const char *expected)
{
    struct buf out = {0};
    verb_complete(line, &groups, collect, &out);
    assert_string_equal(out.data ? out.data : "", expected);
    buf_free(&out);
}

static void test_completions(void **state)
{
    (void)state;
    complete("/ba", "/barrier ");
    complete("/g", "/group /groups /g1 ");
    complete("/next w", "workers ");
    complete("/g1 st", "step stacks ");
    complete("/g1 stacks --f", "--format --full ");
    complete("/continue --", "--skip --until --if ");
    complete("/help comp", "compare ");
    complete("/nothing x", "");
    complete("/focus ", "");
}

static int read_request(const char *command, const char *json, struct verb *verb, struct err *err)
{
    bool known;
    struct span whole = {0, strlen(json)};
    int rc = verb_read(command, json, whole, verb, &known, err);
    assert_true(known);
    return rc;
}

static void test_requests(void **state)
{
    (void)state;
    struct verb verb;
    struct err err;
    assert_int_equal(
        read_request("raydbg/step",
                     "{\"threadIds\":[3,16777216],\"how\":\"continue\",\"until\":{\"path\":"
                     "\"/a/b.py\",\"line\":7},\"skip\":2,\"condition\":\"x\"}",
                     &verb, &err),
        0);
    assert_int_equal(verb.kind, VERB_STEP);
    assert_string_equal(verb.subject, "thread=3,16777216");
    assert_string_equal(verb.how, "continue");
    assert_string_equal(verb.file, "/a/b.py");
    assert_int_equal(verb.line, 7);
    assert_int_equal(verb.skip, 2);
    assert_string_equal(verb.expression, "x");
    verb_clear(&verb);
    assert_int_equal(read_request("raydbg/barrier",
                                  "{\"group\":\"g1\",\"place\":\"b.py:9\",\"timeout\":0.5}", &verb,
                                  &err),
                     0);
    assert_string_equal(verb.file, "b.py");
    assert_int_equal(verb.timeout_ms, 500);
    verb_clear(&verb);
    assert_int_equal(
        read_request("raydbg/group", "{\"name\":\"g\",\"filters\":[\"a*\",\"!b\"]}", &verb, &err),
        0);
    assert_int_equal(verb.word_count, 2);
    verb_clear(&verb);
    assert_int_equal(
        read_request("raydbg/group", "{\"name\":\"g\",\"threadIds\":[4]}", &verb, &err), 0);
    assert_string_equal(verb.words[0], "thread=4");
    verb_clear(&verb);
}

static void test_requests_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *command, *json, *what;
    } rows[] = {
        {"raydbg/step", "{}", "\"how\" is missing"},
        {"raydbg/compare", "{}", "\"expression\" is missing"},
        {"raydbg/compare", "[]", "\"expression\" is missing"},
        {"raydbg/compare", "{\"expression\":7}", "\"expression\" must be an expression"},
        {"raydbg/stacks", "{\"threadIds\":[]}",
         "\"threadIds\" must be an array of the session's thread ids"},
        {"raydbg/stacks", "{\"threadIds\":[-1]}",
         "\"threadIds\" must be an array of the session's thread ids"},
        {"raydbg/stacks", "{\"full\":1}", "\"full\" must be true or false"},
        {"raydbg/barrier", "{\"place\":\"b.py\"}",
         "\"place\" must be \"FILE:LINE\" or {path, line}"},
        {"raydbg/barrier", "{\"place\":{\"path\":\"/b.py\",\"line\":0}}",
         "\"place\" must be \"FILE:LINE\" or {path, line}"},
        {"raydbg/barrier", "{\"timeout\":\"5\"}", "\"timeout\" must be seconds"},
        {"raydbg/barrier", "{\"timeout\":0}", "\"timeout\" must be seconds"},
        {"raydbg/group", "{\"name\":\"g\",\"filters\":[]}",
         "\"filters\" must be an array of filters"},
        {"raydbg/step", "{\"how\":\"next\",\"skip\":-1}", "\"skip\" must be a number of stops"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verb verb;
        struct err err = {0};
        assert_int_equal(read_request(rows[i].command, rows[i].json, &verb, &err), -1);
        assert_string_equal(err.what, rows[i].what);
        verb_clear(&verb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_continue_and_its_conditions),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_compare_knows_where_its_expression_ends),
        cmocka_unit_test(test_groups_stacks_focus),
        cmocka_unit_test(test_errors_name_what_was_wrong),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_requests_that_are_wrong),
    };
    return cmocka_run_group_tests_name("verb", tests, NULL, NULL);
}
