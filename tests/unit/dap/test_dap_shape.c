/* What fits a shape, and what does not. */
#include "cmocka_prelude.h"

#include "dap/shape.h"

#include <string.h>

static const char *const words[] = {"One", "two", NULL};
static const struct shape integer = {.kind = SHAPE_INTEGER};
static const struct shape text = {.kind = SHAPE_TEXT};
static const struct shape text_or_null = {.kind = SHAPE_TEXT, .nullable = true};
static const struct shape_member members[] = {
    {"a", &integer, true}, {"b", &text_or_null, false}, {NULL, NULL, false}};
static const struct shape object = {.kind = SHAPE_OBJECT, .members = members};

static void expect(const struct shape *shape, const char *json, bool fits)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, json, strlen(json));
    assert_true(scan_value(&scan, &value));
    if (shape_fits(shape, json, value) != fits)
        fail_msg("%s", json);
}

static void test_simple_values(void **state)
{
    (void)state;
    /* Which of these values fits which kind. */
    static const char *const values[] = {"null",        "true", "7",       "-7",      "1.5",
                                         "NaN",         "\"\"", "\"one\"", "\"One\"", "\"\\u0000\"",
                                         "\"\\ud800\"", "[]",   "{}"};
    static const struct {
        int kind;
        const char *fits; /* a character for each value */
    } cases[] = {
        {SHAPE_FLAG, ".x..........."},
        {SHAPE_INTEGER, "..xx........."},
        {SHAPE_NUMBER, "..xxxx......."},
        {SHAPE_TEXT, "......xxxxx.."},
        {SHAPE_FILLED, ".......xxxx.."},
        {SHAPE_PATH, ".......xx...."},
        {SHAPE_WORD, ".......xx...."},
        {SHAPE_EXACT_WORD, "........x...."},
        {SHAPE_LIST, "...........x."},
        {SHAPE_OBJECT, "............x"},
        {SHAPE_INTEGER_OR_OBJECT, "..xx........x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            struct shape shape = {.words = words};
            memcpy(&shape.kind, &cases[i].kind, sizeof shape.kind);
            expect(&shape, values[v], cases[i].fits[v] == 'x');
            shape.nullable = true;
            expect(&shape, values[v], v == 0 || cases[i].fits[v] == 'x');
        }
}

static void test_what_is_inside(void **state)
{
    (void)state;
    const struct shape list = {.kind = SHAPE_LIST, .element = &object};
    expect(&object, "{\"a\":1}", true);
    expect(&object, "{\"a\":1,\"b\":null,\"c\":[]}", true);
    expect(&object, "{\"\\u0061\":1}", true);
    expect(&object, "{}", false);
    expect(&object, "{\"a\":null}", false);
    expect(&object, "{\"a\":1,\"b\":7}", false);
    expect(&object, "{\"a\":\"x\",\"a\":1}", false);
    expect(&list, "[]", true);
    expect(&list, "[{\"a\":1},{\"a\":2,\"b\":\"\"}]", true);
    expect(&list, "[{\"a\":1},{}]", false);
    expect(&list, "[null]", false);
    expect(&(struct shape){.kind = SHAPE_LIST, .element = &text}, "[\"a\",7]", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple_values),
        cmocka_unit_test(test_what_is_inside),
    };
    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
