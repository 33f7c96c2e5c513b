/* What the router reads of a message, and what it refuses to take for one. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct envelope read_good(const char *text)
{
    struct envelope envelope;
    const char *problem = "none given";
    if (envelope_read(&envelope, text, strlen(text), &problem) != 0)
        fail_msg("%s: %s", problem, text);
    return envelope;
}

static void assert_span(const char *text, struct span span, const char *expected)
{
    assert_int_equal(span.len, strlen(expected));
    assert_memory_equal(text + span.at, expected, span.len);
}

static void test_request(void **state)
{
    (void)state;
    static const char text[] = "{\"seq\": 12, \"type\": \"request\", \"command\": \"next\", "
                               "\"arguments\": {\"threadId\": 1},"
                               " \"body\": 1, \"request_seq\": \"no\", \"event\": 5}";
    struct envelope envelope = read_good(text);
    assert_int_equal(envelope.kind, DAP_REQUEST);
    assert_string_equal(envelope.name, "next");
    assert_int_equal(envelope.seq, 12);
    assert_span(text, envelope.seq_at, "12");
    assert_span(text, envelope.arguments, "{\"threadId\": 1}");
    assert_span(text, envelope.whole, text);
    assert_int_equal(envelope.body.len, 0);
    assert_int_equal(envelope.request_seq_at.len, 0);
}

static void test_response(void **state)
{
    (void)state;
    static const char text[] =
        "\n{\"body\":[1],\"message\":\"why\",\"success\":true,\"request_seq\":-3,"
        "\"command\":\"x\",\"type\":\"response\",\"seq\":7,\"arguments\":{}} \n";
    struct envelope envelope = read_good(text);
    assert_int_equal(envelope.kind, DAP_RESPONSE);
    assert_int_equal(envelope.seq, 7);
    assert_int_equal(envelope.request_seq, -3);
    assert_true(envelope.success);
    assert_span(text, envelope.request_seq_at, "-3");
    assert_span(text, envelope.body, "[1]");
    assert_span(text, envelope.message, "\"why\"");
    assert_int_equal(envelope.arguments.len, 0);
    assert_int_equal(envelope.whole.at, 1);
    assert_int_equal(envelope.whole.len, strlen(text) - 3);
}

static void test_event(void **state)
{
    (void)state;
    static const char text[] = "{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"seq\":5},"
                               "\"command\":\"next\",\"message\":1}";
    struct envelope envelope = read_good(text);
    assert_int_equal(envelope.kind, DAP_EVENT);
    assert_string_equal(envelope.name, "stopped");
    assert_int_equal(envelope.seq, 0);
    assert_int_equal(envelope.seq_at.len, 0);
    assert_span(text, envelope.body, "{\"seq\":5}");
    assert_int_equal(envelope.message.len, 0);
}

static void test_success_is_false_unless_true(void **state)
{
    (void)state;
#define RESPONSE(more) "{\"type\":\"response\",\"command\":\"c\"" more "}"
    assert_true(read_good(RESPONSE(",\"success\":true")).success);
    assert_false(read_good(RESPONSE(",\"success\":false")).success);
    assert_false(read_good(RESPONSE(",\"success\":\"true\"")).success);
    assert_false(read_good(RESPONSE(",\"success\":true,\"success\":false")).success);
    assert_false(read_good(RESPONSE("")).success);
}

static void test_only_the_top_level_counts(void **state)
{
    (void)state;
    static const char text[] =
        "{\"arguments\":{\"seq\":99,\"type\":\"event\",\"command\":\"evil\",\"request_seq\":98},"
        "\"x\":[{\"seq\":97}],\"y\":\"\\\"seq\\\":96\",\"type\":\"request\",\"command\":\"next\","
        "\"seq\":1,\"z\":{\"seq\":95,\"type\":\"response\",\"command\":\"evil\"}}";
    struct envelope envelope = read_good(text);
    assert_int_equal(envelope.kind, DAP_REQUEST);
    assert_string_equal(envelope.name, "next");
    assert_int_equal(envelope.seq, 1);
    assert_span(text, envelope.seq_at, "1");
    assert_true(text[envelope.seq_at.at - 2] == '"');
}

/* Python's json takes the last of several: so must the relay, or both see different commands. */
static void test_the_last_duplicate_counts(void **state)
{
    (void)state;
    static const char text[] =
        "{\"seq\":1,\"type\":\"event\",\"command\":\"next\",\"s\\u0065q\":22,"
        "\"type\":\"request\",\"\\u0063ommand\":\"restart\"}";
    struct envelope envelope = read_good(text);
    assert_int_equal(envelope.kind, DAP_REQUEST);
    assert_string_equal(envelope.name, "restart");
    assert_int_equal(envelope.seq, 22);
    assert_span(text, envelope.seq_at, "22");
}

static void test_escaped_keys_and_names(void **state)
{
    (void)state;
    static const char text[] = "{\"\\u0073eq\":5,\"typ\\u0065\":\"r\\u0065quest\","
                               "\"command\":\"\\u0063ancel\",\"arguments\":{}}";
    struct envelope envelope = read_good(text);
    assert_string_equal(envelope.name, "cancel");
    assert_int_equal(envelope.seq, 5);
    /* A NUL must not hide the rest of a name. */
    envelope = read_good("{\"type\":\"request\",\"command\":\"next\\u0000x\"}");
    assert_string_equal(envelope.name, "next\xEF\xBF\xBDx");
}

static void test_big_integers(void **state)
{
    (void)state;
    struct envelope envelope = read_good("{\"seq\":9223372036854775807,\"type\":\"response\","
                                         "\"request_seq\":9007199254740993,\"command\":\"x\"}");
    assert_true(envelope.seq == INT64_MAX);
    assert_true(envelope.request_seq == INT64_C(9007199254740993));
}

static void test_nested_ids(void **state)
{
    (void)state;
    static const char cancel[] = "{\"type\":\"request\",\"command\":\"cancel\",\"arguments\":"
                                 "{\"x\":{\"requestId\":1},\"requestId\":7,\"progressId\":\"p\"}}";
    struct envelope envelope = read_good(cancel);
    assert_int_equal(envelope.nested_id, 7);
    assert_span(cancel, envelope.nested_id_at, "7");
    static const char progress[] =
        "{\"type\":\"event\",\"event\":\"progressStart\",\"body\":"
        "{\"requestId\":8,\"title\":\"t\"},\"arguments\":{\"requestId\":9}}";
    envelope = read_good(progress);
    assert_int_equal(envelope.nested_id, 8);
    assert_span(progress, envelope.nested_id_at, "8");
    static const char *const none[] = {
        "{\"type\":\"request\",\"command\":\"next\",\"arguments\":{\"requestId\":7}}",
        "{\"type\":\"request\",\"command\":\"progressStart\",\"arguments\":{\"requestId\":7}}",
        "{\"type\":\"event\",\"event\":\"cancel\",\"body\":{\"requestId\":7}}",
        "{\"type\":\"event\",\"event\":\"progressEnd\",\"body\":{\"requestId\":7}}",
        "{\"type\":\"response\",\"command\":\"cancel\",\"body\":{\"requestId\":7}}",
        "{\"type\":\"request\",\"command\":\"cancel\",\"requestId\":7}",
        "{\"type\":\"request\",\"command\":\"cancel\",\"arguments\":{\"requestId\":\"7\"}}",
        "{\"type\":\"request\",\"command\":\"cancel\",\"arguments\":[\"requestId\",7]}",
        "{\"type\":\"request\",\"command\":\"cancel\",\"arguments\":{\"progressId\":\"7\"}}",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        envelope = read_good(none[i]);
        assert_int_equal(envelope.nested_id_at.len, 0);
        assert_int_equal(envelope.nested_id, 0);
    }
}

#define NAME_63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

static void test_name_length(void **state)
{
    (void)state;
    assert_string_equal(read_good("{\"type\":\"event\",\"event\":\"" NAME_63 "\"}").name, NAME_63);
    struct envelope envelope;
    const char *problem = NULL;
    static const char text[] = "{\"type\":\"request\",\"command\":\"" NAME_63 "l\"}";
    assert_int_equal(envelope_read(&envelope, text, sizeof text - 1, &problem), -1);
    assert_non_null(strstr(problem, "too long"));
}

/* The seq of an event or a response is replaced, a response is found by its request_seq, and no
 * event with a long name is one that the relay knows: none of them may cost the message. */
static void test_only_what_is_needed_is_judged(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "18446744073709551617", "\"5\"", "5.5", "1e-3", "null", "NaN", "{}", "[1]"};
    static const char *const messages[] = {
        "{\"seq\":%s,\"type\":\"event\",\"event\":\"stopped\",\"body\":{}}",
        "{\"seq\":%s,\"type\":\"response\",\"command\":\"next\",\"request_seq\":3,"
        "\"success\":true}",
    };
    for (size_t m = 0; m < sizeof messages / sizeof *messages; m++) {
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
            char text[256];
            snprintf(text, sizeof text, messages[m], odd[i]);
            struct envelope envelope = read_good(text), head;
            assert_int_equal(envelope.seq, 0);
            assert_span(text, envelope.seq_at, odd[i]);
            if (m == 0)
                assert_true(envelope_read_head(&head, text, strlen(text)));
        }
    }
    struct envelope envelope = read_good("{\"type\":\"event\",\"event\":\"" NAME_63 "l\"}");
    assert_string_equal(envelope.name, "");
    static const char *const unnamed[] = {
        "{\"type\":\"response\",\"request_seq\":7}",
        "{\"type\":\"response\",\"request_seq\":7,\"command\":null}",
        "{\"type\":\"response\",\"request_seq\":7,\"command\":\"" NAME_63 "l\"}",
    };
    for (size_t i = 0; i < sizeof unnamed / sizeof *unnamed; i++) {
        envelope = read_good(unnamed[i]);
        assert_int_equal(envelope.request_seq, 7);
        assert_string_equal(envelope.name, "");
    }
}

static void test_what_is_no_message(void **state)
{
    (void)state;
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"", "object"},
        {"nonsense", "object"},
        {"[]", "object"},
        {"1", "object"},
        {"null", "object"},
        {"\"{}\"", "object"},
        {"{}", "no \"type\""},
        {"{\"seq\":1,\"command\":\"next\"}", "no \"type\""},
        {"{\"x\":{\"type\":\"request\"},\"command\":\"next\"}", "no \"type\""},
        {"{\"type\":\"request\"}", "no \"command\""},
        {"{\"type\":\"request\",\"event\":\"next\"}", "no \"command\""},
        {"{\"type\":\"event\",\"command\":\"next\"}", "no \"event\""},
        {"{\"type\":\"Request\",\"command\":\"next\"}", "neither"},
        {"{\"type\":1,\"command\":\"next\"}", "neither"},
        {"{\"type\":\"request\",\"command\":null}", "\"command\" is not a string"},
        {"{\"type\":\"event\",\"event\":[\"x\"]}", "\"event\" is not a string"},
        {"{\"type\":\"request\",\"command\":\"x\",\"seq\":\"1\"}", "\"seq\" is not"},
        {"{\"type\":\"request\",\"command\":\"x\",\"seq\":1.5}", "\"seq\" is not"},
        {"{\"type\":\"request\",\"command\":\"x\",\"seq\":1e-3}", "\"seq\" is not"},
        {"{\"type\":\"request\",\"command\":\"x\",\"seq\":null}", "\"seq\" is not"},
        {"{\"type\":\"request\",\"command\":\"x\",\"seq\":NaN}", "\"seq\" is not"},
        {"{\"type\":\"request\",\"command\":\"x\",\"seq\":9223372036854775808}", "\"seq\" is not"},
        {"{\"type\":\"request\",\"command\":\"x\",\"seq\":1,\"seq\":{}}", "\"seq\" is not"},
        {"{\"type\":\"response\",\"command\":\"x\",\"request_seq\":true}",
         "\"request_seq\" is not"},
        {"{\"type\":\"response\",\"command\":\"x\",\"request_seq\":2.5}", "\"request_seq\" is not"},
        {"{\"type\":\"request\",\"command\":\"x\"", "missing"},
        {"{\"type\":\"request\",\"command\":\"x\"}}", "follows"},
        {"{\"type\":\"request\",\"command\":\"x\"}{}", "follows"},
        {"{\"type\":\"request\",\"command\":\"x\",}", "string is missing"},
        {"{\"type\":\"request\",\"command\":\"x\",\"arguments\":{\"a\":[1,}}}", ""},
        {"{\"type\":\"request\",\"command\":\"x\",\"arguments\":\"\\x\"}", "escape"},
        {"\xef\xbb\xbf{\"type\":\"request\",\"command\":\"x\"}", "object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct envelope envelope;
        const char *problem = NULL;
        if (envelope_read(&envelope, cases[i].text, strlen(cases[i].text), &problem) != -1)
            fail_msg("taken for a message: %s", cases[i].text);
        assert_non_null(problem);
        if (!strstr(problem, cases[i].problem))
            fail_msg("%s: %s", cases[i].text, problem);
    }
}

static void test_nesting_is_limited(void **state)
{
    (void)state;
    struct buf text = {0};
    struct envelope envelope;
    const char *problem = NULL;
    buf_add_string(&text, "{\"type\":\"request\",\"command\":\"x\",\"arguments\":");
    for (int i = 0; i < 100000; i++)
        buf_add_string(&text, "[");
    assert_int_equal(envelope_read(&envelope, text.data, text.len, &problem), -1);
    assert_non_null(strstr(problem, "deep"));
    buf_free(&text);
}

static void test_lenient_bodies_pass(void **state)
{
    (void)state;
    static const char text[] = "{\"type\":\"event\",\"event\":\"output\",\"body\":{\"output\":"
                               "\"\xff\xfe \\ud800 \t\",\"data\":[NaN,-Infinity,1e999]},\"seq\":3}";
    assert_int_equal(read_good(text).seq, 3);
}

static void test_a_20_mb_body(void **state)
{
    (void)state;
    struct buf text = {0};
    struct envelope envelope;
    const char *problem;
    buf_add_string(&text,
                   "{\"seq\":1,\"type\":\"response\",\"command\":\"variables\",\"body\":[\"");
    while (text.len < 20 * 1024 * 1024)
        buf_add_string(&text, "\\\"seq\\\":2,\",{\"seq\":3},\"");
    buf_add_string(&text, "\"],\"request_seq\":44}");
    assert_int_equal(envelope_read(&envelope, text.data, text.len, &problem), 0);
    assert_int_equal(envelope.seq, 1);
    assert_int_equal(envelope.request_seq, 44);
    assert_int_equal(envelope.whole.len, text.len);
    buf_free(&text);
}

/* --- the start of a message --- */

static const char large_response[] =
    "{\"seq\": 812, \"type\": \"response\", \"request_seq\": 34, \"success\": true, "
    "\"command\": \"variables\", \"body\": {\"seq\": 5, \"x\": [1, 2, 3]}}";

/* Wherever it is cut, either nothing is said or the truth. */
static void test_a_head_is_never_misread(void **state)
{
    (void)state;
    static const char *const texts[] = {
        large_response,
        "{\"event\":\"output\",\"type\":\"event\",\"seq\":1234567,\"body\":{\"seq\":1}}",
        "{\"custom\":{\"seq\":9,\"body\":{\"type\":\"event\"}},\"type\":\"event\",\"seq\":77,"
        "\"event\":\"module\",\"body\":0}",
        " {\"seq\" : 1 , \"seq\" : 21 , \"type\":\"response\",\"request_seq\":-12,"
        "\"command\":\"\\u0065valuate\",\"success\":false , \"message\":\"long\"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct envelope whole = read_good(texts[i]), head;
        size_t late = strlen(texts[i]);
        if (i == 0)
            late = (size_t)(strstr(texts[i], "\"body\"") - texts[i]) + strlen("\"body\"");
        for (size_t cut = 0; cut <= strlen(texts[i]); cut++) {
            char *exact = malloc(cut + 1); /* a sanitizer sees what is read behind its end */
            memcpy(exact, texts[i], cut);
            bool read = envelope_read_head(&head, exact, cut);
            free(exact);
            if (i == 0)
                assert_int_equal(read, cut >= late);
            else if (cut == late)
                assert_true(read);
            if (!read)
                continue;
            assert_int_equal(head.kind, whole.kind);
            assert_string_equal(head.name, whole.name);
            assert_true(head.seq == whole.seq && head.request_seq == whole.request_seq);
            assert_int_equal(head.success, whole.success);
            assert_memory_equal(&head.seq_at, &whole.seq_at, sizeof whole.seq_at);
            assert_memory_equal(&head.request_seq_at, &whole.request_seq_at, sizeof(struct span));
            assert_int_equal(head.whole.at, whole.whole.at);
            assert_int_equal(head.body.at, cut > whole.body.at ? whole.body.at : 0);
            assert_int_equal(head.body.len + head.message.len + head.whole.len, 0);
        }
    }
}

static void test_heads_that_do_not_fit(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* a key behind the body */
        "{\"body\":{},\"type\":\"event\",\"seq\":1,\"event\":\"output\"}",
        "{\"type\":\"event\",\"event\":\"output\",\"body\":{},\"seq\":1}",
        "{\"type\":\"response\",\"seq\":1,\"request_seq\":2,\"command\":\"x\",\"body\":{},"
        "\"success\":true}",
        "{\"type\":\"response\",\"seq\":1,\"success\":true,\"command\":\"x\",\"body\":{\"request_"
        "seq\":2}}",
        "{\"seq\":1,\"event\":\"output\",\"body\":{\"type\":\"event\"}}",
        /* none at all */
        "{\"type\":\"event\",\"seq\":1,\"event\":\"output\"}",
        "{\"type\":\"event\",\"seq\":1,\"event\":\"output\",\"x\":{\"body\":1},",
        /* of the wrong kind */
        "{\"type\":\"request\",\"seq\":1,\"command\":\"runInTerminal\",\"body\":{",
        "{\"type\":\"event\",\"seq\":1,\"event\":\"progressStart\",\"body\":{",
        "{\"type\":\"event\",\"seq\":1,\"event\":5,\"body\":{",
        "{\"type\":\"response\",\"seq\":1,\"request_seq\":2,\"command\":\"x\",\"success\":1,"
        "\"body\":{",
        /* malformed in front of the body */
        "{\"type\":\"event\" \"seq\":1,\"event\":\"output\",\"body\":{",
        "{\"type\":\"event\",\"seq\":1,\"x\":[},\"event\":\"output\",\"body\":{",
        "[\"type\",\"event\"]",
        "",
    };
    struct envelope head;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (envelope_read_head(&head, texts[i], strlen(texts[i])))
            fail_msg("was read: %s", texts[i]);
}

static void assert_result(const char *text, const char *expected)
{
    struct envelope envelope = read_good(text);
    char *result = envelope_result(text, &envelope);
    assert_true((result == NULL) == (expected == NULL));
    if (expected)
        assert_string_equal(result, expected);
    free(result);
}

static void test_results(void **state)
{
    (void)state;
    struct envelope none = {0};
    assert_null(envelope_result(NULL, &none));
#define ANSWER "{\"type\":\"response\",\"request_seq\":1,\"command\":\"evaluate\""
    assert_result(ANSWER ",\"success\":true,\"body\":{\"result\":\"4\\n2\"}}", "4\n2");
    assert_result(ANSWER ",\"success\":true,\"body\":{\"result\":42}}", NULL);
    assert_result(ANSWER ",\"success\":true,\"body\":{}}", NULL);
    assert_result(ANSWER ",\"success\":true}", NULL);
    assert_result(ANSWER ",\"success\":false,\"body\":{\"result\":\"42\"}}", NULL);
#undef ANSWER
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_response),
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_success_is_false_unless_true),
        cmocka_unit_test(test_only_the_top_level_counts),
        cmocka_unit_test(test_the_last_duplicate_counts),
        cmocka_unit_test(test_escaped_keys_and_names),
        cmocka_unit_test(test_big_integers),
        cmocka_unit_test(test_nested_ids),
        cmocka_unit_test(test_name_length),
        cmocka_unit_test(test_only_what_is_needed_is_judged),
        cmocka_unit_test(test_what_is_no_message),
        cmocka_unit_test(test_nesting_is_limited),
        cmocka_unit_test(test_lenient_bodies_pass),
        cmocka_unit_test(test_a_20_mb_body),
        cmocka_unit_test(test_a_head_is_never_misread),
        cmocka_unit_test(test_heads_that_do_not_fit),
        cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
