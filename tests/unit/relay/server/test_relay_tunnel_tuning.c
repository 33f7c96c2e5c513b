/* What a tunnel adds to a debugpy's conversation, wherever TCP cuts it, and that it adds nothing to
 * any other. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "dap/envelope.h"
#include "dap/frame.h"
#include "relay/server/tunnel_tuning.h"

#include <stdlib.h>
#include <string.h>

#define OWN "9007199254740991"
#define EVENT_START(name) "{\"seq\": 1, \"type\": \"event\", \"event\": \"" name "\""
#define EVENT(name) EVENT_START(name) "}"
#define NAMED                                                                                      \
    EVENT_START("output") ", \"body\": {\"category\": \"telemetry\", \"output\": \"debugpy\"}}"
#define RESPONSE_START(seq)                                                                        \
    "{\"seq\": 5, \"type\": \"response\", \"request_seq\": " seq                                   \
    ", \"success\": true, \"command\": \"evaluate\", \"body\": {\"result\": \""
#define ANSWER RESPONSE_START(OWN) "3.9/1.8 nodelay\"}}"

struct sides {
    struct buf client, adapter; /* what has reached them */
};

static void to_client(void *arg, const char *bytes, size_t len)
{
    struct sides *sides = arg;
    buf_add(&sides->client, bytes, len);
}

static void to_adapter(void *arg, const char *bytes, size_t len)
{
    struct sides *sides = arg;
    buf_add(&sides->adapter, bytes, len);
}

static const struct tunnel_tuning_ops ops = {to_client, to_adapter};

/* With a header that frame_header() would not write: it must pass as it came. */
static void add(struct buf *out, const char *json)
{
    buf_printf(out, "Content-Type: x\r\ncontent-length:  %zu\r\n\r\n%s", strlen(json), json);
}

/* `start` and a string of `len` bytes more. */
static void add_large(struct buf *out, const char *start, size_t len)
{
    buf_printf(out, "Content-Length: %zu\r\n\r\n%s", strlen(start) + len + 3, start);
    for (size_t i = 0; i < len; i++)
        buf_add(out, &"abcdefg"[i % 7], 1);
    buf_add_string(out, "\"}}");
}

enum from { ADAPTER, CLIENT };

/* What is not taken any more goes straight, as it does in a tunnel. */
static void feed(struct tunnel_tuning **tuning, struct sides *sides, enum from from,
                 const char *bytes, size_t len, size_t piece)
{
    for (size_t at = 0; at < len; at += piece) {
        size_t now = len - at < piece ? len - at : piece;
        bool more = false;
        if (!*tuning)
            buf_add(from == CLIENT ? &sides->adapter : &sides->client, bytes + at, now);
        else if (from == CLIENT)
            more = tunnel_tuning_from_client(*tuning, bytes + at, now);
        else
            more = tunnel_tuning_from_adapter(*tuning, bytes + at, now);
        if (!more)
            tunnel_tuning_free(tuning);
    }
}

static void clear(struct sides *sides)
{
    buf_free(&sides->client);
    buf_free(&sides->adapter);
}

static void assert_bytes(const struct buf *got, const char *bytes, size_t len)
{
    assert_int_equal(got->len, len);
    if (len)
        assert_memory_equal(got->data, bytes, len);
}

/* Takes the relay's request out of what the adapter got; what is left must be `expected`. */
static void assert_request(struct buf *got, const char *expected, size_t at)
{
    struct frame frame;
    struct envelope envelope;
    const char *problem;
    size_t used, len;
    assert_true(got->len > at);
    frame_init(&frame, 100000);
    assert_int_equal(frame_feed(&frame, got->data + at, got->len - at, &used), FRAME_MESSAGE);
    const char *body = frame_body(&frame, &len);
    assert_int_equal(envelope_read(&envelope, body, len, &problem), 0);
    assert_string_equal(envelope.name, "evaluate");
    assert_true(envelope.seq == INT64_C(9007199254740991));
    assert_non_null(strstr(body, "TCP_NODELAY"));
    assert_null(strstr(body, "ray.util"));
    frame_free(&frame);
    memmove(got->data + at, got->data + at + used, got->len - at - used);
    got->len -= used;
    assert_bytes(got, expected, strlen(expected));
}

/* The adapter's side of a session, whole and as the client must see it. */
static void script(struct buf *whole, struct buf *seen, size_t large)
{
    static const char *const before[] = {
        NAMED,
        "{\"seq\":2,\"type\":\"response\",\"request_seq\":1,\"success\":true,"
        "\"command\":\"initialize\",\"body\":{}}",
        EVENT("initialized"),
        EVENT_START("nested") ",\"body\":{\"request_seq\":" OWN "}}",
    };
    static const char *const after[] = {EVENT("stopped"), ANSWER /* a second one is not ours */};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        add(whole, before[i]);
    add_large(whole, EVENT_START("module") ",\"body\":{\"x\":\"", large);
    buf_add(seen, whole->data, whole->len);
    add(whole, ANSWER);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        add(whole, after[i]);
        add(seen, after[i]);
    }
}

static void test_the_answer_is_taken_out_at_any_cut(void **state)
{
    (void)state;
    static const size_t larges[] = {3, 30000};
    for (size_t l = 0; l < 2; l++) {
        struct buf whole = {0}, seen = {0};
        script(&whole, &seen, larges[l]);
        for (size_t piece = 1; piece <= whole.len; piece += piece < 2500 ? 1 : 997) {
            struct sides sides = {0};
            struct tunnel_tuning *tuning = tunnel_tuning_create(&ops, &sides);
            feed(&tuning, &sides, ADAPTER, whole.data, whole.len, piece);
            assert_null(tuning); /* done */
            assert_bytes(&sides.client, seen.data, seen.len);
            assert_request(&sides.adapter, "", 0);
            clear(&sides);
            if (l == 1 && piece > 64)
                piece += 300;
        }
        buf_free(&whole);
        buf_free(&seen);
    }
}

static void test_a_large_answer_is_taken_out_too(void **state)
{
    (void)state;
    struct buf whole = {0}, seen = {0};
    add(&whole, NAMED);
    add(&whole, EVENT("initialized"));
    buf_add(&seen, whole.data, whole.len);
    add_large(&whole, RESPONSE_START(OWN), 50000);
    add_large(&whole, RESPONSE_START("7"), 50000);
    add_large(&seen, RESPONSE_START("7"), 50000);
    for (size_t piece = 1; piece < whole.len * 2; piece = piece * 2 + 1) {
        struct sides sides = {0};
        struct tunnel_tuning *tuning = tunnel_tuning_create(&ops, &sides);
        feed(&tuning, &sides, ADAPTER, whole.data, whole.len, piece);
        assert_null(tuning);
        assert_bytes(&sides.client, seen.data, seen.len);
        clear(&sides);
    }
    buf_free(&whole);
    buf_free(&seen);
}

/* The request must not go into the middle of a message of the client's. */
static void test_the_request_waits_for_the_clients_message(void **state)
{
    (void)state;
    struct buf requests = {0}, adapter = {0};
    add(&requests, "{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\"}");
    size_t first = requests.len;
    add(&requests, "{\"seq\":2,\"type\":\"request\",\"command\":\"attach\",\"arguments\":{}}");
    size_t second = requests.len;
    add_large(&requests,
              "{\"seq\":3,\"type\":\"request\",\"command\":\"x\",\"arguments\":{\"y\":\"", 20000);
    size_t third = requests.len;
    add(&requests, "{\"seq\":4,\"type\":\"request\",\"command\":\"threads\"}");
    add(&adapter, NAMED);
    add(&adapter, EVENT("initialized"));
    for (size_t cut = 0; cut < requests.len; cut += cut < second + 200 ? 1 : 991) {
        struct sides sides = {0};
        struct tunnel_tuning *tuning = tunnel_tuning_create(&ops, &sides);
        feed(&tuning, &sides, CLIENT, requests.data, cut, requests.len);
        feed(&tuning, &sides, ADAPTER, adapter.data, adapter.len, adapter.len);
        feed(&tuning, &sides, CLIENT, requests.data + cut, requests.len - cut, requests.len);
        size_t at = cut == 0        ? 0
                    : cut <= first  ? first
                    : cut <= second ? second
                    : cut <= third  ? third
                                    : requests.len;
        assert_request(&sides.adapter, requests.data, at);
        assert_bytes(&sides.client, adapter.data, adapter.len);
        assert_non_null(tuning); /* the answer is to come */
        tunnel_tuning_free(&tuning);
        clear(&sides);
    }
    buf_free(&requests);
    buf_free(&adapter);
}

/* Nothing is added or held back. */
static void assert_passes(enum from from, const char *bytes, size_t len, size_t piece, bool over)
{
    struct sides sides = {0};
    struct tunnel_tuning *tuning = tunnel_tuning_create(&ops, &sides);
    feed(&tuning, &sides, from, bytes, len, piece);
    assert_bytes(from == CLIENT ? &sides.adapter : &sides.client, bytes, len);
    assert_bytes(from == CLIENT ? &sides.client : &sides.adapter, "", 0);
    assert_int_equal(tuning == NULL, over);
    tunnel_tuning_free(&tuning);
    clear(&sides);
}

static void test_only_debugpy_is_tuned(void **state)
{
    (void)state;
    static const char *const firsts[] = {
        EVENT("initialized"),
        EVENT_START("output") ", \"body\": {\"category\": \"console\", \"output\": \"lldb\"}}",
        EVENT_START("output") "}",
        "[1,2]",
    };
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        struct buf whole = {0};
        add(&whole, firsts[i]);
        add(&whole, NAMED);
        add(&whole, EVENT("initialized"));
        for (size_t piece = 1; piece <= whole.len; piece++)
            assert_passes(ADAPTER, whole.data, whole.len, piece, true);
        buf_free(&whole);
    }
}

static void test_what_is_no_dap_passes_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        bool over;
    } cases[] = {{"login", false},
                 {"login: ", false},
                 {"SSH-2.0-OpenSSH_9.2\r\n", true},
                 {"\x16\x03\x01\x02", true},
                 {"Content-Length: 10\r\n\r\n{\"seq", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (enum from from = ADAPTER; from <= CLIENT; from++)
            for (size_t piece = 1; piece < 30; piece++)
                assert_passes(from, cases[i].bytes, strlen(cases[i].bytes), piece, cases[i].over);
}

static void test_a_client_with_such_a_seq_is_left_alone(void **state)
{
    (void)state;
    struct sides sides = {0};
    struct tunnel_tuning *tuning = tunnel_tuning_create(&ops, &sides);
    struct buf request = {0}, adapter = {0};
    add(&request, "{\"seq\":" OWN ",\"type\":\"request\",\"command\":\"initialize\"}");
    add(&adapter, NAMED);
    add(&adapter, EVENT("initialized"));
    feed(&tuning, &sides, CLIENT, request.data, request.len, request.len);
    feed(&tuning, &sides, ADAPTER, adapter.data, adapter.len, adapter.len);
    assert_null(tuning);
    assert_bytes(&sides.adapter, request.data, request.len);
    buf_free(&request);
    buf_free(&adapter);
    clear(&sides);
}

static void test_what_is_held_is_not_lost(void **state)
{
    (void)state;
    struct sides sides = {0};
    struct tunnel_tuning *tuning = tunnel_tuning_create(&ops, &sides);
    struct buf adapter = {0};
    add(&adapter, NAMED);
    add(&adapter, EVENT("initialized"));
    size_t sure = adapter.len;
    add(&adapter, EVENT("stopped"));
    feed(&tuning, &sides, ADAPTER, adapter.data, adapter.len - 1, 7);
    assert_non_null(tuning);
    assert_bytes(&sides.client, adapter.data, sure);
    tunnel_tuning_end(tuning);
    assert_bytes(&sides.client, adapter.data, adapter.len - 1);
    tunnel_tuning_free(&tuning);
    buf_free(&adapter);
    clear(&sides);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_answer_is_taken_out_at_any_cut),
        cmocka_unit_test(test_a_large_answer_is_taken_out_too),
        cmocka_unit_test(test_the_request_waits_for_the_clients_message),
        cmocka_unit_test(test_only_debugpy_is_tuned),
        cmocka_unit_test(test_what_is_no_dap_passes_at_once),
        cmocka_unit_test(test_a_client_with_such_a_seq_is_left_alone),
        cmocka_unit_test(test_what_is_held_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
