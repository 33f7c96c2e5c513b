/* Bodies in data/debugpy-1.8.22-*.json are what a real debugpy said of a real Ray's references
 * (tests/unit/data/record_debugpy.py). */
#include "annotate_fixture.h"
#include "cmocka_prelude.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_variables),
        cmocka_unit_test(test_recorded_children),
        cmocka_unit_test(test_recorded_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
