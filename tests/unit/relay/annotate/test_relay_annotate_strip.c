/* An edit box starts from the annotated text: what is taken away of it. */
#include "annotate_fixture.h"
#include "cmocka_prelude.h"

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
        cmocka_unit_test(test_strip),
        cmocka_unit_test(test_strip_what_was_annotated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
