/* The Content-Length framing, cut wherever TCP may cut it. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "dap/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BODY = 1000 };

/* What a stream gave: the bodies joined by '|', then '!' and the problem if it was lost. */
static void drain(struct frame *frame, const char *bytes, size_t len, struct buf *out)
{
    for (;;) {
        size_t used, body_len;
        enum frame_status status = frame_feed(frame, bytes, len, &used);
        assert_true(used <= len);
        bytes += used;
        len -= used;
        if (status == FRAME_MORE) {
            assert_int_equal(len, 0);
            return;
        }
        if (status == FRAME_ERROR) {
            buf_printf(out, "!%s", frame_problem(frame));
            return;
        }
        const char *body = frame_body(frame, &body_len);
        assert_int_equal(body[body_len], '\0');
        buf_add(out, body, body_len);
        buf_add(out, "|", 1);
    }
}

/* Feeds `first` bytes, then the rest. */
static char *read_cut(const char *bytes, size_t len, size_t first)
{
    struct frame frame;
    struct buf out = {0};
    frame_init(&frame, MAX_BODY);
    drain(&frame, bytes, first, &out);
    if (!out.data || !memchr(out.data, '!', out.len))
        drain(&frame, bytes + first, len - first, &out);
    frame_free(&frame);
    return buf_take(&out);
}

static char *read_bytewise(const char *bytes, size_t len)
{
    struct frame frame;
    struct buf out = {0};
    frame_init(&frame, MAX_BODY);
    for (size_t i = 0; i < len && !(out.data && memchr(out.data, '!', out.len)); i++)
        drain(&frame, bytes + i, 1, &out);
    frame_free(&frame);
    return buf_take(&out);
}

/* However the bytes are cut, the same comes out. */
static void assert_reads(const char *bytes, size_t len, const char *expected)
{
    for (size_t cut = 0; cut <= len; cut++) {
        char *got = read_cut(bytes, len, cut);
        assert_string_equal(got, expected);
        free(got);
    }
    char *got = read_bytewise(bytes, len);
    assert_string_equal(got, expected);
    free(got);
}

static void test_messages_are_found_at_any_cut(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        {"Content-Length: 2\r\n\r\n{}", "{}|"},
        {"Content-Length: 2\r\n\r\n{}Content-Length: 9\r\n\r\n{\"a\":123}Content-Length: 0\r\n\r\n",
         "{}|{\"a\":123}||"},
        {"Content-Length: 3\n\nabcContent-Length: 4\n\ndefg", "abc|defg|"},
        {"content-LENGTH:2\r\n\r\n{}", "{}|"},
        {"Content-Length: \t 007 \t\r\n\r\n\r\n\r\n\r\nx", "\r\n\r\n\r\nx|"},
        {"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n"
         "X-Other: a:b\r\nContent-Lengthy: 7\r\nX:\r\n\r\n{}",
         "{}|"},
        /* What looks like a header in a body is a body. */
        {"Content-Length: 23\r\n\r\nContent-Length: 5\r\n\r\n{}Content-Length: 1\r\n\r\nz",
         "Content-Length: 5\r\n\r\n{}|z|"},
        /* Incomplete: nothing comes out yet. */
        {"Content-Length: 3\r\n\r\n{}", ""},
        {"Content-Length: 3\r\n\r", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_reads(cases[i].bytes, strlen(cases[i].bytes), cases[i].expected);
}

static void test_a_lost_stream_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        {"Content-Length: 1001\r\n",
         "!a Content-Length announces a message of more than 1000 bytes"},
        {"Content-Length: 1073741824\r\n\r\n",
         "!a Content-Length announces a message of more than 1000 bytes"},
        {"Content-Length: 18446744073709551616\r\n\r\n",
         "!a Content-Length announces a message of more than 1000 bytes"},
        {"Content-Length: 18446744073709551618\r\n\r\n{}",
         "!a Content-Length announces a message of more than 1000 bytes"},
        {"Content-Length: 99999999999999999999999999999999999999\r\n\r\n",
         "!a Content-Length announces a message of more than 1000 bytes"},
        {"Content-Length: -1\r\n\r\n", "!a Content-Length is not a number of bytes"},
        {"Content-Length: +2\r\n\r\n{}", "!a Content-Length is not a number of bytes"},
        {"Content-Length: 2.0\r\n\r\n{}", "!a Content-Length is not a number of bytes"},
        {"Content-Length: 0x2\r\n\r\n{}", "!a Content-Length is not a number of bytes"},
        {"Content-Length: 2 2\r\n\r\n{}", "!a Content-Length is not a number of bytes"},
        {"Content-Length:\r\n\r\n", "!a Content-Length has no number"},
        {"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
         "!a header has more than one Content-Length"},
        {"Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}",
         "!a header has more than one Content-Length"},
        {"\r\n", "!a header has no Content-Length"},
        {"\nContent-Length: 2\r\n\r\n{}", "!a header has no Content-Length"},
        {"X: y\r\n\r\n{}", "!a header has no Content-Length"},
        {"Content-Length\r\n\r\n{}", "!a header line is not of the form \"Name: value\""},
        {": 2\r\n\r\n{}", "!a header line is not of the form \"Name: value\""},
        {"{\"seq\":1}", "!a header holds bytes that no DAP header has"},
        {"GET / HTTP/1.1\r\n", "!a header holds bytes that no DAP header has"},
        {"\x16\x03\x01", "!a header holds bytes that no DAP header has"},
        {"X: \x01", "!a header holds bytes that no DAP header has"},
        {"X: a\rb\r\n", "!a header holds bytes that no DAP header has"},
        {"Content-Length: 2\r\r\n\r\n{}", "!a header holds bytes that no DAP header has"},
        {"Content-Length: 2\r\n\r\n{}oops", "{}|"},
        {"Content-Length: 2\r\n\r\n{}oops\n",
         "{}|!a header line is not of the form \"Name: value\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_reads(cases[i].bytes, strlen(cases[i].bytes), cases[i].expected);
}

static void test_a_lost_stream_stays_lost(void **state)
{
    (void)state;
    struct frame frame;
    size_t used = 99;
    frame_init(&frame, MAX_BODY);
    assert_int_equal(frame_feed(&frame, "\r\n", 2, &used), FRAME_ERROR);
    assert_int_equal(frame_feed(&frame, "Content-Length: 0\r\n\r\n", 21, &used), FRAME_ERROR);
    assert_int_equal(used, 0);
    assert_false(frame_idle(&frame));
    frame_free(&frame);
}

/* A header of `len` bytes in all, then a body of two. */
static char *header_of(size_t len)
{
    static const char tail[] = "\r\nContent-Length: 2\r\n\r\n";
    char *bytes = mem_alloc(len + 3);
    memset(bytes, 'x', len);
    memcpy(bytes, "A:", 2);
    memcpy(bytes + len - strlen(tail), tail, strlen(tail));
    memcpy(bytes + len, "{}", 2);
    return bytes;
}

static void test_the_header_has_a_limit(void **state)
{
    (void)state;
    char *bytes = header_of(FRAME_HEADER_LIMIT);
    assert_reads(bytes, FRAME_HEADER_LIMIT + 2, "{}|");
    free(bytes);
    bytes = header_of(FRAME_HEADER_LIMIT + 1);
    assert_reads(bytes, FRAME_HEADER_LIMIT + 3, "!a header is too long for DAP");
    /* The limit is each message's own. */
    free(bytes);
    struct buf two = {0}, out = {0};
    struct frame frame;
    bytes = header_of(FRAME_HEADER_LIMIT);
    for (int i = 0; i < 3; i++)
        buf_add(&two, bytes, FRAME_HEADER_LIMIT + 2);
    frame_init(&frame, MAX_BODY);
    drain(&frame, two.data, two.len, &out);
    assert_string_equal(out.data, "{}|{}|{}|");
    frame_free(&frame);
    buf_free(&two);
    buf_free(&out);
    free(bytes);
}

static void test_the_largest_body_passes(void **state)
{
    (void)state;
    struct frame frame;
    size_t used, len;
    char bytes[FRAME_HEADER_ROOM + MAX_BODY];
    frame_init(&frame, MAX_BODY);
    size_t header = frame_header(bytes, MAX_BODY);
    memset(bytes + header, 'b', MAX_BODY);
    assert_int_equal(frame_feed(&frame, bytes, header + MAX_BODY, &used), FRAME_MESSAGE);
    assert_int_equal(used, header + MAX_BODY);
    frame_body(&frame, &len);
    assert_int_equal(len, MAX_BODY);
    frame_free(&frame);
}

static void test_a_body_keeps_its_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "Content-Length: 8\r\n\r\n\0\xff\r\n\x80\0\n\0Content";
    struct frame frame;
    size_t used, len;
    frame_init(&frame, MAX_BODY);
    assert_int_equal(frame_feed(&frame, bytes, sizeof bytes - 1, &used), FRAME_MESSAGE);
    assert_int_equal(used, 21 + 8);
    assert_memory_equal(frame_body(&frame, &len), bytes + 21, 8);
    assert_int_equal(len, 8);
    frame_free(&frame);
}

static void test_idle_is_between_messages(void **state)
{
    (void)state;
    static const char bytes[] = "Content-Length: 2\r\n\r\n{}";
    struct frame frame;
    size_t used;
    frame_init(&frame, MAX_BODY);
    assert_true(frame_idle(&frame));
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
        frame_feed(&frame, bytes + i, 1, &used);
        assert_int_equal(frame_idle(&frame), i == sizeof bytes - 2);
    }
    assert_int_equal(frame_feed(&frame, "", 0, &used), FRAME_MORE);
    assert_true(frame_idle(&frame));
    frame_free(&frame);
}

static void test_a_promised_body_costs_no_memory(void **state)
{
    (void)state;
    struct frame frame;
    size_t used;
    frame_init(&frame, (size_t)1 << 40);
    static const char bytes[] = "Content-Length: 1073741824\r\n\r\n{";
    assert_int_equal(frame_feed(&frame, bytes, sizeof bytes - 1, &used), FRAME_MORE);
    assert_true(frame.body.cap < 65536);
    frame_free(&frame);
}

static void test_a_20_mb_body_in_pieces(void **state)
{
    (void)state;
    enum { SIZE = 20 * 1024 * 1024, PIECE = 65521 };
    struct frame frame;
    size_t used, len;
    char header[FRAME_HEADER_ROOM];
    char *body = mem_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)(i * 31 + i / 4096);
    frame_init(&frame, SIZE);
    assert_int_equal(frame_feed(&frame, header, frame_header(header, SIZE), &used), FRAME_MORE);
    enum frame_status status = FRAME_MORE;
    for (size_t at = 0; at < SIZE; at += PIECE) {
        assert_int_equal(status, FRAME_MORE);
        status = frame_feed(&frame, body + at, SIZE - at < PIECE ? SIZE - at : PIECE, &used);
    }
    assert_int_equal(status, FRAME_MESSAGE);
    const char *got = frame_body(&frame, &len);
    assert_int_equal(len, SIZE);
    assert_true(memcmp(got, body, SIZE) == 0);
    /* The memory goes with the message. */
    frame_feed(&frame, "C", 1, &used);
    assert_true(frame.body.cap <= 65536);
    frame_free(&frame);
    free(body);
}

static void test_header(void **state)
{
    (void)state;
    char out[FRAME_HEADER_ROOM];
    assert_int_equal(frame_header(out, 0), 21);
    assert_string_equal(out, "Content-Length: 0\r\n\r\n");
    assert_int_equal(frame_header(out, SIZE_MAX), 40);
    assert_string_equal(out, "Content-Length: 18446744073709551615\r\n\r\n");
}

/* --- a stream that starts anywhere --- */

/* Three messages; each body holds what looks most like a header that JSON can hold. */
static const char three[] =
    "Content-Length: 42\r\n\r\n{\"a\":\"Content-Length: 5\\r\\n\\r\\n{\\\"b\\\":1}\"}"
    "Content-Length: 53\r\n\r\n{\"a\":\"Content-Length: 7\\r\\n\\r\\nContent-Content-Leng\"}"
    "content-length:12\r\n\r\n{\"third\":12}";

static char *read_from(size_t from, size_t piece)
{
    struct frame frame;
    struct buf out = {0};
    frame_init(&frame, MAX_BODY);
    frame_resync(&frame);
    for (size_t at = from; at < sizeof three - 1; at += piece) {
        size_t left = sizeof three - 1 - at;
        drain(&frame, three + at, left < piece ? left : piece, &out);
    }
    frame_free(&frame);
    return buf_take(&out);
}

static void test_a_stream_can_start_anywhere(void **state)
{
    (void)state;
    static const char first[] = "{\"a\":\"Content-Length: 5\\r\\n\\r\\n{\\\"b\\\":1}\"}|";
    static const char second[] = "{\"a\":\"Content-Length: 7\\r\\n\\r\\nContent-Content-Leng\"}|";
    static const char third[] = "{\"third\":12}|";
    size_t one = strlen("Content-Length: 42\r\n\r\n") + sizeof first - 2;
    size_t two = one + strlen("Content-Length: 53\r\n\r\n") + sizeof second - 2;
    for (size_t from = 0; from < sizeof three - 1; from++) {
        for (size_t piece = 1; piece < 90; piece += from % 3 + 1) {
            char expected[sizeof three + 8], *got;
            snprintf(expected, sizeof expected, "%s%s%s", from == 0 ? first : "",
                     from <= one ? second : "", from <= two ? third : "");
            got = read_from(from, piece);
            assert_string_equal(got, expected);
            free(got);
        }
    }
}

static void test_a_stream_may_start_inside_a_header(void **state)
{
    (void)state;
    static const char *const starts[] = {
        "Length: 2\r\n\r\n{}",
        "4\r\n\r\n{\"\"}",
        "\r\n\r\n{}",
        "Content-Length: Content-Length: 2\r\n",
        "Content-Length: 2\r\n\r\n \r\n\r\n",
        "Content-Length: 2\r\r\n\n{}",
        "Content-Length: 12 3\r\n\r\n{}",
        "Content-Length:                                                              2\r\n\r\n{}",
        "CCCContent-Length: \r\n\r\n{}",
        "C",
        "Content-Length: 12",
        "Content-Length: 2\r\n\r",
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct frame frame;
        struct buf out = {0};
        frame_init(&frame, MAX_BODY);
        frame_resync(&frame);
        drain(&frame, starts[i], strlen(starts[i]), &out);
        assert_int_equal(out.len, 0);
        drain(&frame, "Content-Length: 9\r\n\r\n{\"at\": 1}", 30, &out);
        buf_add(&out, "", 0);
        assert_string_equal(out.data, "{\"at\": 1}|");
        frame_free(&frame);
        buf_free(&out);
    }
}

/* --- large bodies --- */

enum { LARGE = 20000 };

/* What came of a stream: 'M' and the length of a message, 'L' the length of a head, 'P' the sum of
 * the parts behind it; `body` is all of it. */
struct large_log {
    struct buf shape, body;
    size_t passing;
};

static void feed_large(struct frame *frame, const char *bytes, size_t len, bool pass,
                       struct large_log *log)
{
    while (len) {
        size_t used, body_len;
        enum frame_status status = frame_feed(frame, bytes, len, &used);
        const char *body = frame_body(frame, &body_len);
        if (status == FRAME_MESSAGE || status == FRAME_LARGE) {
            buf_printf(&log->shape, "%c%zu ", status == FRAME_LARGE ? 'L' : 'M', body_len);
            if (status == FRAME_MESSAGE || pass)
                buf_add(&log->body, body, body_len);
        }
        if (status == FRAME_LARGE && pass)
            frame_pass(frame);
        if (status == FRAME_PART) {
            buf_add(&log->body, bytes, used);
            log->passing += used;
        }
        if (log->passing && !frame_left(frame)) {
            buf_printf(&log->shape, "P%zu ", log->passing);
            log->passing = 0;
        }
        assert_int_not_equal(status, FRAME_ERROR);
        bytes += used;
        len -= used;
    }
}

static void add_message(struct buf *stream, struct buf *bodies, size_t len)
{
    char header[FRAME_HEADER_ROOM];
    char *body = mem_alloc(len + 1);
    for (size_t i = 0; i < len; i++)
        body[i] = (char)('a' + (i * 7 + len) % 26);
    buf_add(stream, header, frame_header(header, len));
    buf_add(stream, body, len);
    buf_add(bodies, body, len);
    free(body);
}

static void test_a_large_body_passes_in_parts(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 2, 7, 4096, 16383, 16384, 16385, 16406, 20000, 1000000};
    struct buf stream = {0}, bodies = {0};
    add_message(&stream, &bodies, 5);
    add_message(&stream, &bodies, LARGE);     /* the largest that is not large */
    add_message(&stream, &bodies, LARGE + 1); /* above max_body, too */
    add_message(&stream, &bodies, 0);
    add_message(&stream, &bodies, 70000);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct frame frame;
        struct large_log log = {0};
        frame_init(&frame, LARGE);
        frame_set_large(&frame, LARGE);
        for (size_t at = 0; at < stream.len; at += pieces[i]) {
            size_t left = stream.len - at;
            feed_large(&frame, stream.data + at, left < pieces[i] ? left : pieces[i], true, &log);
            frame_trim(&frame); /* does no harm at any point */
        }
        assert_string_equal(log.shape.data, "M5 M20000 L16384 P3617 M0 L16384 P53616 ");
        assert_int_equal(log.body.len, bodies.len);
        assert_memory_equal(log.body.data, bodies.data, bodies.len);
        assert_true(frame_idle(&frame));
        assert_null(frame.header.data);
        assert_null(frame.body.data);
        frame_free(&frame);
        buf_free(&log.shape);
        buf_free(&log.body);
    }
    buf_free(&stream);
    buf_free(&bodies);
}

static void test_a_large_body_can_be_collected(void **state)
{
    (void)state;
    struct buf stream = {0}, bodies = {0};
    struct frame frame;
    struct large_log log = {0};
    add_message(&stream, &bodies, 70000);
    frame_init(&frame, 70000);
    frame_set_large(&frame, LARGE);
    feed_large(&frame, stream.data, stream.len, false, &log);
    assert_string_equal(log.shape.data, "L16384 M70000 ");
    assert_memory_equal(log.body.data, bodies.data, bodies.len);
    frame_free(&frame);

    size_t used;
    frame_init(&frame, 69999);
    frame_set_large(&frame, LARGE);
    assert_int_equal(frame_feed(&frame, stream.data, stream.len, &used), FRAME_LARGE);
    assert_int_equal(frame_feed(&frame, stream.data + used, stream.len - used, &used), FRAME_ERROR);
    assert_non_null(strstr(frame_problem(&frame), "more than 69999 bytes"));
    frame_free(&frame);
    buf_free(&stream);
    buf_free(&bodies);
    buf_free(&log.shape);
    buf_free(&log.body);
}

static void test_a_large_length_must_be_a_number(void **state)
{
    (void)state;
    struct frame frame;
    size_t used;
    static const char header[] = "Content-Length: 99999999999999999999999\r\n\r\n";
    frame_init(&frame, MAX_BODY);
    frame_set_large(&frame, LARGE);
    assert_int_equal(frame_feed(&frame, header, sizeof header - 1, &used), FRAME_ERROR);
    frame_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_are_found_at_any_cut),
        cmocka_unit_test(test_a_lost_stream_says_why),
        cmocka_unit_test(test_a_lost_stream_stays_lost),
        cmocka_unit_test(test_the_header_has_a_limit),
        cmocka_unit_test(test_the_largest_body_passes),
        cmocka_unit_test(test_a_body_keeps_its_bytes),
        cmocka_unit_test(test_idle_is_between_messages),
        cmocka_unit_test(test_a_promised_body_costs_no_memory),
        cmocka_unit_test(test_a_20_mb_body_in_pieces),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_a_stream_can_start_anywhere),
        cmocka_unit_test(test_a_stream_may_start_inside_a_header),
        cmocka_unit_test(test_a_large_body_passes_in_parts),
        cmocka_unit_test(test_a_large_body_can_be_collected),
        cmocka_unit_test(test_a_large_length_must_be_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
