/* What the relay itself says must be JSON, whatever it is told to say. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "dap/message.h"
#include "dap/scan.h"

#include <stdlib.h>
#include <string.h>

static void assert_quotes(const char *text, const char *expected)
{
    struct buf out = {0};
    message_quote(&out, text);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void test_quote(void **state)
{
    (void)state;
    assert_quotes("", "\"\"");
    assert_quotes("plain /text~", "\"plain /text~\"");
    assert_quotes("\"\\\b\f\n\r\t", "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
    assert_quotes("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
    assert_quotes("8.0 MB · \xF0\x9F\x98\x80", "\"8.0 MB · \xF0\x9F\x98\x80\"");
    assert_quotes("\xC2\x9B"
                  "31m\xE2\x80\xAE\xF3\xA0\x81\xA1\xC2\xA0",
                  "\"\\u009b31m\\u202e\\udb40\\udc61\xC2\xA0\"");
    assert_quotes("\xff", "\"\xEF\xBF\xBD\"");
    assert_quotes("a\xC3", "\"a\xEF\xBF\xBD\"");
    assert_quotes("\xC3\"", "\"\xEF\xBF\xBD\\\"\"");
    assert_quotes("\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    assert_quotes("\xE2\x82\xAC\xE2\x82", "\"\xE2\x82\xAC\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

static bool is_utf8(const char *text)
{
    for (size_t left = strlen(text); left;) {
        size_t step = text_utf8(text, left);
        if (!step)
            return false;
        text += step;
        left -= step;
    }
    return true;
}

static void test_any_bytes_give_json(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 100000; round++) {
        char text[9] = {0};
        struct buf out = {0};
        const char *problem;
        for (size_t i = 0; i < (size_t)(round % 9); i++)
            text[i] = (char)(rand_r(&seed) % 4 ? 1 + rand_r(&seed) % 255 : "\"\\\xE2\x82"[i % 4]);
        message_quote(&out, text);
        assert_true(scan_strict(out.data, out.len, &problem));
        if (is_utf8(text))
            assert_true(scan_string_is(out.data, (struct span){0, out.len}, text));
        buf_free(&out);
    }
}

/* The message that a builder wrote must be one that Python and the relay read. */
static struct envelope read_back(const struct buf *out)
{
    struct envelope envelope;
    const char *problem;
    assert_true(scan_strict(out->data, out->len, &problem));
    assert_int_equal(envelope_read(&envelope, out->data, out->len, &problem), 0);
    return envelope;
}

static void assert_member(const struct buf *out, const char *path, const char *expected)
{
    struct span value;
    assert_true(scan_path(out->data, (struct span){0, out->len}, path, &value));
    assert_int_equal(value.len, strlen(expected));
    assert_memory_equal(out->data + value.at, expected, value.len);
}

static void test_request(void **state)
{
    (void)state;
    struct buf out = {0};
    message_request(&out, 3, "evaluate", "{\"expression\":\"1\"}");
    struct envelope envelope = read_back(&out);
    assert_int_equal(envelope.kind, DAP_REQUEST);
    assert_int_equal(envelope.seq, 3);
    assert_string_equal(envelope.name, "evaluate");
    assert_member(&out, "arguments", "{\"expression\":\"1\"}");
    buf_clear(&out, 0);
    message_request(&out, 4, "threads", NULL);
    envelope = read_back(&out);
    assert_int_equal(envelope.arguments.len, 0);
    buf_free(&out);
}

static void test_event(void **state)
{
    (void)state;
    struct buf out = {0};
    message_event(&out, 5, "initialized", NULL);
    struct envelope envelope = read_back(&out);
    assert_int_equal(envelope.kind, DAP_EVENT);
    assert_string_equal(envelope.name, "initialized");
    assert_int_equal(envelope.body.len, 0);
    buf_clear(&out, 0);
    message_event(&out, 6, "stopped", "{\"reason\":\"step\"}");
    envelope = read_back(&out);
    assert_int_equal(envelope.seq, 6);
    assert_member(&out, "body/reason", "\"step\"");
    buf_free(&out);
}

static void test_response(void **state)
{
    (void)state;
    struct buf out = {0};
    message_response(&out, INT64_MAX, INT64_MIN, "th\"reads", "{\"threads\":[]}");
    struct envelope envelope = read_back(&out);
    assert_int_equal(envelope.kind, DAP_RESPONSE);
    assert_true(envelope.seq == INT64_MAX);
    assert_true(envelope.request_seq == INT64_MIN);
    assert_true(envelope.success);
    assert_string_equal(envelope.name, "th\"reads");
    assert_member(&out, "body", "{\"threads\":[]}");
    buf_clear(&out, 0);
    message_response(&out, 1, 2, "cancel", NULL);
    envelope = read_back(&out);
    assert_int_equal(envelope.body.len, 0);
    buf_free(&out);
}

static void test_failure(void **state)
{
    (void)state;
    struct buf out = {0};
    message_failure(&out, 8, 9, "restart", "it \"fails\"\n", 1, true);
    struct envelope envelope = read_back(&out);
    assert_int_equal(envelope.kind, DAP_RESPONSE);
    assert_int_equal(envelope.request_seq, 9);
    assert_false(envelope.success);
    assert_member(&out, "success", "false");
    assert_member(&out, "message", "\"it \\\"fails\\\"\\n\"");
    assert_member(&out, "body/error/format", "\"it \\\"fails\\\"\\n\"");
    assert_member(&out, "body/error/showUser", "true");
    assert_member(&out, "body/error/id", "1");
    buf_clear(&out, 0);
    message_failure(&out, 8, 9, "restart", "\xff", 1, false);
    read_back(&out);
    assert_member(&out, "body/error/showUser", "false");
    buf_free(&out);
}

static void test_output(void **state)
{
    (void)state;
    struct buf out = {0};
    message_output(&out, 2, "console", "raydbg: \x1b[31m\n");
    struct envelope envelope = read_back(&out);
    assert_int_equal(envelope.kind, DAP_EVENT);
    assert_string_equal(envelope.name, "output");
    assert_member(&out, "body/category", "\"console\"");
    assert_member(&out, "body/output", "\"raydbg: \\u001b[31m\\n\"");
    buf_free(&out);
}

static void test_builders_append(void **state)
{
    (void)state;
    struct buf out = {0};
    buf_add_string(&out, "before ");
    message_event(&out, 1, "x", NULL);
    assert_string_equal(out.data, "before {\"seq\":1,\"type\":\"event\",\"event\":\"x\"}");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quote),    cmocka_unit_test(test_any_bytes_give_json),
        cmocka_unit_test(test_request),  cmocka_unit_test(test_event),
        cmocka_unit_test(test_response), cmocka_unit_test(test_failure),
        cmocka_unit_test(test_output),   cmocka_unit_test(test_builders_append),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
