/* What the relay does not change leaves as it came. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

static void assert_bytes(const struct buf *got, const char *expected, size_t len)
{
    if (got->len != len || memcmp(got->data, expected, len) != 0)
        fail_msg("got      %s\nexpected %s", got->data, expected);
}

static void test_edits(void **state)
{
    (void)state;
    struct buf out = {0};
    const struct edit edits[] = {
        {{0, 0}, "<", 1}, {{1, 2}, "", 0}, {{3, 1}, "long", 4}, {{4, 0}, "+", 1}, {{6, 0}, ">", 1},
    };
    splice_apply("abcdef", 6, edits, 5, &out);
    assert_string_equal(out.data, "<along+ef>");
    splice_apply("same", 4, NULL, 0, &out);
    assert_string_equal(out.data, "<along+ef>same");
    buf_clear(&out, 0);
    splice_apply("abc", 3, (struct edit[]){{{0, 3}, "x", 1}}, 1, &out);
    assert_string_equal(out.data, "x");
    buf_free(&out);
}

/* Pieces of every length, in the middle of others: each byte is where it belongs, and no other is
 * written. */
static void test_pieces_of_each_length(void **state)
{
    (void)state;
    enum { MOST = 300 };
    char text[MOST], expected[2 * MOST];
    for (size_t i = 0; i < MOST; i++)
        text[i] = (char)('!' + i % 89);
    for (size_t first = 0; first <= MOST / 2; first++)
        for (size_t with = 0; with <= 96; with++) {
            struct buf out = {0};
            const struct edit edit = {{first, 1}, text + 7, with};
            size_t len = first + 1 + with / 2;
            splice_apply(text, len, &edit, 1, &out);
            char *end = mempcpy(mempcpy(expected, text, first), text + 7, with);
            end = mempcpy(end, text + first + 1, len - first - 1);
            *end = '\0';
            assert_bytes(&out, expected, (size_t)(end - expected));
            buf_free(&out);
        }
}

static void test_seq(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"{\"seq\":1,\"type\":\"request\",\"command\":\"x\"}",
         "{\"seq\":501,\"type\":\"request\",\"command\":\"x\"}"},
        {"{\"seq\":12345,\"type\":\"event\",\"event\":\"x\",\"body\":{\"seq\":1}}",
         "{\"seq\":501,\"type\":\"event\",\"event\":\"x\",\"body\":{\"seq\":1}}"},
        /* request_seq is a response's alone. */
        {"{\"type\":\"request\",\"command\":\"x\",\"request_seq\":8,\"seq\":9}",
         "{\"type\":\"request\",\"command\":\"x\",\"request_seq\":8,\"seq\":501}"},
        {"{\"seq\":1,\"request_seq\":2,\"type\":\"response\",\"command\":\"x\"}",
         "{\"seq\":501,\"request_seq\":602,\"type\":\"response\",\"command\":\"x\"}"},
        {"{\"request_seq\":2,\"type\":\"response\",\"command\":\"x\",\"seq\":1}",
         "{\"request_seq\":602,\"type\":\"response\",\"command\":\"x\",\"seq\":501}"},
        /* A missing one is put in front. */
        {"{\"type\":\"event\",\"event\":\"x\"}",
         "{\"seq\":501,\"type\":\"event\",\"event\":\"x\"}"},
        {" { \"type\":\"response\",\"command\":\"x\",\"request_seq\":2 } ",
         " {\"seq\":501, \"type\":\"response\",\"command\":\"x\",\"request_seq\":602 } "},
        {"{\"type\":\"response\",\"seq\":1,\"command\":\"x\"}",
         "{\"request_seq\":602,\"type\":\"response\",\"seq\":501,\"command\":\"x\"}"},
        {"{\"type\":\"response\",\"command\":\"x\"}",
         "{\"seq\":501,\"request_seq\":602,\"type\":\"response\",\"command\":\"x\"}"},
        /* Of duplicates, the one that counts. */
        {"{\"seq\":1,\"seq\":2,\"type\":\"request\",\"command\":\"x\"}",
         "{\"seq\":1,\"seq\":501,\"type\":\"request\",\"command\":\"x\"}"},
        /* The key's spelling and all white space stay. */
        {"\n{\t\"\\u0073eq\" :\r\n-7\t, \"type\" : \"request\",\"command\":\"x\" }\n",
         "\n{\t\"\\u0073eq\" :\r\n501\t, \"type\" : \"request\",\"command\":\"x\" }\n"},
        /* The bytes that a JSON library would change. */
        {"{\"type\":\"event\",\"event\":\"x\",\"body\":[9007199254740993,1e400,1.10,-0,NaN,"
         "Infinity,"
         "\"\\ud800\",\"\\u0000\",\"\\/"
         "\",\"\xff\x80\",\"\t\",{\"b\":1,\"a\":2,\"b\":3}],\"seq\":1}",
         "{\"type\":\"event\",\"event\":\"x\",\"body\":[9007199254740993,1e400,1.10,-0,NaN,"
         "Infinity,"
         "\"\\ud800\",\"\\u0000\",\"\\/"
         "\",\"\xff\x80\",\"\t\",{\"b\":1,\"a\":2,\"b\":3}],\"seq\":501}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct envelope envelope;
        const char *problem;
        struct buf out = {0};
        size_t len = strlen(cases[i].before);
        assert_int_equal(envelope_read(&envelope, cases[i].before, len, &problem), 0);
        splice_seq(cases[i].before, len, &envelope, 501, 602, &out);
        assert_bytes(&out, cases[i].after, strlen(cases[i].after));
        buf_free(&out);
    }
}

static void test_extreme_numbers(void **state)
{
    (void)state;
    static const char text[] = "{\"type\":\"response\",\"command\":\"x\"}";
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    assert_int_equal(envelope_read(&envelope, text, sizeof text - 1, &problem), 0);
    splice_seq(text, sizeof text - 1, &envelope, INT64_MIN, INT64_MAX, &out);
    assert_string_equal(out.data,
                        "{\"seq\":-9223372036854775808,\"request_seq\":9223372036854775807,"
                        "\"type\":\"response\",\"command\":\"x\"}");
    buf_free(&out);
}

static void test_nul_bytes_and_what_was_there_stay(void **state)
{
    (void)state;
    static const char text[] = "{\"type\":\"event\",\"event\":\"x\",\"seq\":3,\"body\":\"a\0b\"}";
    static const char expected[] =
        "before{\"type\":\"event\",\"event\":\"x\",\"seq\":4,\"body\":\"a\0b\"}";
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    assert_int_equal(envelope_read(&envelope, text, sizeof text - 1, &problem), 0);
    buf_add_string(&out, "before");
    splice_seq(text, sizeof text - 1, &envelope, 4, 0, &out);
    assert_bytes(&out, expected, sizeof expected - 1);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_pieces_of_each_length),
        cmocka_unit_test(test_seq),
        cmocka_unit_test(test_extreme_numbers),
        cmocka_unit_test(test_nul_bytes_and_what_was_there_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
