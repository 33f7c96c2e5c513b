/* Answers that come in parts: what is noted of their requests is dropped with each. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "base/mem.h"
#include "relay/session/session_state.h"
#include "relay/variables/variables_state.h"

#include <stdlib.h>
#include <string.h>

/* A client's request, and an answer that is annotated, or too large for that. */
enum { SEQ = 7, OTHER = 8, SMALL = 100000, LARGE = 3 << 20 };

struct fixture {
    struct loop *loop;
    struct session *session;
    struct variables *variables;
    struct pending pending;
    struct buf log;
};

static void on_message(void *arg, const char *json, size_t len)
{
    static const char failure[] = "\"success\":false";
    struct fixture *it = arg;
    bool refused = memmem(json, len, failure, sizeof failure - 1);
    buf_add_string(&it->log, refused ? "refused " : "message ");
}

static void on_end(void *arg)
{
    (void)arg;
}

static void on_large(void *arg, size_t total)
{
    struct fixture *it = arg;
    assert_true(total >= LARGE);
    buf_add_string(&it->log, "large ");
}

static void on_part(void *arg, const char *bytes, size_t len)
{
    (void)arg, (void)bytes, (void)len;
}

static const struct session_ops ops = {
    .on_message = on_message, .on_end = on_end, .on_large = on_large, .on_part = on_part};

static void note_request(struct fixture *it, int64_t seq)
{
    struct awaited *awaited = mem_alloc(sizeof *awaited);
    *awaited = (struct awaited){.next = it->variables->awaited, .seq = seq};
    it->variables->awaited = awaited;
}

static void set_up(struct fixture *it)
{
    *it = (struct fixture){.loop = loop_create(false, NULL)};
    struct session_options options = {.loop = it->loop};
    it->session = session_create(&options, &ops, it);
    it->variables = mem_alloc(sizeof *it->variables);
    variables_set_magic(it->variables);
    it->variables->context = session_variables(it->session);
    it->variables->context->objects = it->variables;
    it->pending = (struct pending){.client = {SEQ}, .command = "variables"};
    buf_add_string(&it->log, "");
    note_request(it, OTHER);
    note_request(it, SEQ);
}

/* Only the other request is still awaited. */
static void tear_down(struct fixture *it, const char *expected)
{
    const struct awaited *awaited = it->variables->awaited;
    assert_non_null(awaited);
    assert_int_equal(awaited->seq, OTHER);
    assert_null(awaited->next);
    assert_string_equal(it->log.data, expected);
    session_destroy(&it->session);
    loop_destroy(&it->loop);
    buf_free(&it->log);
}

/* The debuggee's answer begins. */
static void begin(struct fixture *it, size_t total)
{
    static const char head[] =
        "{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":true,"
        "\"command\":\"variables\",\"body\":{\"variables\":[";
    struct envelope envelope;
    assert_true(envelope_read_head(&envelope, head, sizeof head - 1));
    assert_true(session_member_ops.large_begin(it->session, &it->pending, head, sizeof head - 1,
                                               total, &envelope));
}

static void end(struct fixture *it, const char *rest)
{
    session_member_ops.large_part(it->session, rest, strlen(rest));
    session_member_ops.large_end(it->session, true);
}

static void one_that_passes_is_not_awaited(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    begin(&it, LARGE);
    end(&it, "]}}");
    tear_down(&it, "large ");
}

static void one_that_is_gathered_is_awaited_to_its_end(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    begin(&it, SMALL);
    assert_int_equal(it.variables->awaited->seq, SEQ);
    end(&it, "]}}");
    tear_down(&it, "message ");
}

static void a_malformed_one_is_not_awaited(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    begin(&it, SMALL);
    end(&it, "{\"value\":\"ObjectRef(00112233445566778899aabbccddeeff00112233445566778899aabb)\","
             "\"type\":\"ObjectRef\"}]}");
    tear_down(&it, "refused ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_passes_is_not_awaited),
        cmocka_unit_test(one_that_is_gathered_is_awaited_to_its_end),
        cmocka_unit_test(a_malformed_one_is_not_awaited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
