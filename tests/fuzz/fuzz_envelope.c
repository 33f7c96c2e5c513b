/* What is taken for a message is spliced and read again: everything but its numbers must be as it
 * was, byte for byte. */
#include "fuzz.h"

#include "dap/capabilities.h"
#include "dap/envelope.h"
#include "dap/message.h"
#include "dap/splice.h"

#include <inttypes.h>

static void check_within(struct span span, size_t len)
{
    check(span.at <= len && span.len <= len - span.at);
}

static void check_same(const char *a, struct span in_a, const char *b, struct span in_b)
{
    check(in_a.len == in_b.len && memcmp(a + in_a.at, b + in_b.at, in_a.len) == 0);
}

static void check_spans(const struct envelope *envelope, size_t len)
{
    check_within(envelope->whole, len);
    check_within(envelope->seq_at, len);
    check_within(envelope->request_seq_at, len);
    check_within(envelope->arguments, len);
    check_within(envelope->body, len);
    check_within(envelope->message, len);
    check_within(envelope->nested_id_at, len);
    check(strlen(envelope->name) < DAP_NAME_MAX);
}

/* The value of every span is one value, and may be iterated whatever it is. */
static void check_value(const char *text, struct span span)
{
    struct scan scan;
    struct span key, value;
    size_t cursor = 0;
    if (!span.len)
        return;
    scan_init(&scan, text, span.at + span.len);
    scan.at = span.at;
    check(scan_value(&scan, &value) && value.at == span.at && value.len == span.len);
    while (scan_member(text, span, &cursor, &key, &value)) {
        check(value.at + value.len <= span.at + span.len);
        char *name = scan_string(text, key);
        check(name);
        /* A raw NUL has no C string to compare with. */
        if (!memchr(text + key.at, '\0', key.len))
            check(scan_key_is(text, key, name) && scan_find(text, span, name, &key));
        free(name);
    }
    for (cursor = 0; scan_element(text, span, &cursor, &value);)
        check(value.at + value.len <= span.at + span.len);
}

/* True if the number is written as the relay writes it: not -0, not 7.0, not 7e0. */
static bool is_plain(const char *text, struct span span, int64_t number)
{
    char plain[24];
    int len = snprintf(plain, sizeof plain, "%" PRId64, number);
    return span.len == (size_t)len && memcmp(text + span.at, plain, span.len) == 0;
}

static void check_spliced(const char *text, size_t len, const struct envelope *envelope)
{
    struct buf out = {0}, back = {0};
    struct envelope again;
    const char *problem, *strict_problem;
    splice_seq(text, len, envelope, INT64_C(-4611686018427387905), 77, &out);
    check(envelope_read(&again, out.data, out.len, &problem) == 0);
    check(again.seq == INT64_C(-4611686018427387905));
    check(again.kind == envelope->kind && strcmp(again.name, envelope->name) == 0);
    check(again.kind != DAP_RESPONSE || again.request_seq == 77);
    check(again.success == envelope->success && again.nested_id == envelope->nested_id);
    check_same(text, envelope->arguments, out.data, again.arguments);
    check_same(text, envelope->body, out.data, again.body);
    check_same(text, envelope->message, out.data, again.message);
    check(scan_strict(text, len, &strict_problem) ==
          scan_strict(out.data, out.len, &strict_problem));
    /* With its own numbers put back the message is what it was, if they were written plainly. */
    splice_seq(out.data, out.len, &again, envelope->seq, envelope->request_seq, &back);
    if (is_plain(text, envelope->seq_at, envelope->seq) &&
        (envelope->kind != DAP_RESPONSE ||
         is_plain(text, envelope->request_seq_at, envelope->request_seq)))
        check(back.len == len && memcmp(back.data, text, len) == 0);
    buf_free(&out);
    buf_free(&back);
}

static void check_quoted(const char *text, size_t len)
{
    struct buf copy = {0}, out = {0};
    const char *problem;
    buf_add(&copy, text, len);
    message_quote(&out, copy.data);
    check(scan_strict(out.data, out.len, &problem));
    buf_free(&copy);
    buf_free(&out);
}

static void check_filtered(const char *text, struct span span)
{
    struct buf once = {0}, twice = {0};
    capabilities_filter(text, span, &once);
    capabilities_filter(once.data, (struct span){0, once.len}, &twice);
    check(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    check_value(once.data, (struct span){0, once.len});
    buf_free(&once);
    buf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct envelope envelope;
    const char *problem = NULL, *strict_problem;
    /* A copy of the exact size, with no byte behind it. */
    char *text = malloc(size ? size : 1);
    check(text);
    if (size)
        memcpy(text, data, size);
    check_quoted(text, size);
    struct scan scan;
    struct span value;
    scan_init(&scan, text, size);
    bool lenient = scan_value(&scan, &value) && scan_end(&scan);
    if (scan_strict(text, size, &strict_problem))
        check(lenient);
    if (envelope_read(&envelope, text, size, &problem) == 0) {
        check(lenient);
        check_spans(&envelope, size);
        check_value(text, envelope.whole);
        check_value(text, envelope.arguments);
        check_value(text, envelope.body);
        check_spliced(text, size, &envelope);
        check_filtered(text, envelope.body);
    } else {
        check(problem && *problem);
    }
    free(text);
    return 0;
}
