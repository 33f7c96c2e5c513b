/* The editor's end of what is prefetched: once, to just that request, and never when something
 * may have changed. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "cli/dap/dap_prefetch.h"

#include <stdio.h>
#include <string.h>

static struct {
    struct loop *loop;
    struct dap_prefetch *prefetch;
    struct buf said; /* a line for each callback */
} it;

static void on_answer(void *arg, const char *json, size_t len, int64_t request_seq)
{
    (void)arg;
    buf_printf(&it.said, "answer %d %.*s\n", (int)request_seq, (int)len, json);
}

static void on_release(void *arg, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    (void)arg;
    assert_int_equal(envelope_read(&envelope, json, len, &problem), 0);
    buf_printf(&it.said, "release %d\n", (int)envelope.seq);
}

static void on_tell(void *arg, const char *json, size_t len)
{
    (void)arg;
    const char *used = memmem(json, len, "\"used\":", 7);
    assert_non_null(used);
    buf_printf(&it.said, "used %.*s\n", (int)(strchr(used, ']') - used - 6), used + 7);
}

/* Only a clock that is skipped reaches them. */
enum { FRESH_MS = 1000000, PATIENCE_MS = 2000000 };

static const struct dap_prefetch_ops ops = {FRESH_MS, PATIENCE_MS, on_answer, on_release, on_tell};

static int begin(void **state)
{
    struct err err;
    (void)state;
    it.loop = loop_create(false, &err);
    it.prefetch = dap_prefetch_create(it.loop, &ops, NULL);
    return it.loop ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    dap_prefetch_destroy(&it.prefetch);
    loop_destroy(&it.loop);
    buf_free(&it.said);
    return 0;
}

/* What was called since the last time. */
static void expect(const char *lines)
{
    assert_string_equal(it.said.data && it.said.len ? it.said.data : "", lines);
    buf_clear(&it.said, 0);
}

static bool event(const char *name, const char *body)
{
    char json[2048];
    struct envelope envelope;
    const char *problem;
    snprintf(json, sizeof json, "{\"seq\":0,\"type\":\"event\",\"event\":\"%s\"%s%s}", name,
             body ? ",\"body\":" : "", body ? body : "");
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    return dap_prefetch_event(it.prefetch, json, &envelope);
}

static void word(const char *body)
{
    assert_true(event("raydbg/prefetch", body));
}

/* True: it does not go to the relay. */
static bool request(int seq, const char *command, const char *arguments)
{
    char json[2048];
    struct envelope envelope;
    const char *problem;
    snprintf(json, sizeof json, "{\"seq\":%d,\"type\":\"request\",\"command\":\"%s\"%s%s}", seq,
             command, arguments ? ",\"arguments\":" : "", arguments ? arguments : "");
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    if (dap_prefetch_takes(it.prefetch, json, strlen(json), &envelope))
        return true;
    dap_prefetch_sent(it.prefetch, &envelope);
    return false;
}

static void announce(int batch, int heard)
{
    char body[512];
    snprintf(
        body, sizeof body,
        "{\"batch\":%d,\"heard\":%d,\"asks\":[{\"id\":%d1,\"command\":\"threads\"},{\"id\":%d2,"
        "\"command\":\"stackTrace\",\"arguments\":{\"threadId\":1,\"levels\":20}}]}",
        batch, heard, batch, batch);
    word(body);
}

/* A stop, of which both answers are there. */
static void stop(int batch, int heard)
{
    char body[128];
    announce(batch, heard);
    assert_false(event("stopped", "{\"threadId\":1}"));
    for (int id = 1; id <= 2; id++) {
        snprintf(body, sizeof body, "{\"batch\":%d,\"id\":%d%d,\"response\":{\"n\":%d}}", batch,
                 batch, id, id);
        word(body);
    }
}

#define STACK "{ \"levels\": 20, \"threadId\": 1 }"

static void test_an_answer_is_given_once(void **state)
{
    (void)state;
    stop(1, 0);
    assert_true(request(7, "stackTrace", STACK));
    expect("answer 7 {\"n\":2}\n");
    assert_false(request(8, "stackTrace", STACK));
    assert_true(request(9, "threads", NULL));
    expect("answer 9 {\"n\":1}\n");
    assert_false(request(10, "threads", NULL));
    assert_false(request(11, "next", NULL));
    expect("used [12,11]\n"); /* before the relay hears of `next` */
    assert_false(request(12, "next", NULL));
    expect("");
}

static void test_only_to_that_request(void **state)
{
    (void)state;
    stop(1, 0);
    assert_false(request(1, "threads", "{}"));
    assert_false(request(2, "modules", NULL));
    assert_false(request(3, "stackTrace", "{\"threadId\":2,\"levels\":20}"));
    assert_false(request(4, "stackTrace", "{\"threadId\":1,\"levels\":20,\"more\":null}"));
    assert_false(request(5, "stackTrace", "{\"threadId\":1}"));
    assert_false(request(6, "stackTrace", NULL));
    expect("");
    assert_true(request(7, "stackTrace", STACK)); /* the others have dropped nothing */
    expect("answer 7 {\"n\":2}\n");
}

static void test_a_request_waits_for_what_is_on_its_way(void **state)
{
    (void)state;
    announce(1, 0);
    event("stopped", NULL);
    assert_true(request(5, "threads", NULL));
    assert_false(request(6, "threads", NULL)); /* one answer, one request */
    assert_true(request(7, "stackTrace", STACK));
    expect("");
    word("{\"batch\":1,\"id\":11,\"response\":{\"a\":1}}");
    expect("answer 5 {\"a\":1}\n");
    word("{\"batch\":1,\"id\":11,\"response\":{\"a\":2}}");
    word("{\"batch\":1,\"id\":12}"); /* it failed */
    expect("release 7\n");
    word("{\"batch\":1,\"heard\":0,\"asks\":[{\"id\":13,\"command\":\"scopes\",\"arguments\":{"
         "\"frameId\":3}}]}"); /* more of the same */
    assert_true(request(8, "scopes", "{\"frameId\":3}"));
    word("{\"batch\":1,\"id\":13,\"response\":{}}");
    expect("answer 8 {}\n");
}

static void test_what_the_client_does_drops_all(void **state)
{
    (void)state;
    static const char *const acts[] = {"next",        "continue",   "evaluate",      "setVariable",
                                       "completions", "disconnect", "setBreakpoints"};
    for (int i = 0; i < (int)(sizeof acts / sizeof *acts); i++) {
        stop(i + 1, i);
        assert_false(request(1, acts[i], NULL));
        assert_false(request(2, "stackTrace", STACK));
        expect("");
    }
}

static void test_events_drop_all(void **state)
{
    (void)state;
    static const char *const events[] = {"stopped", "continued",  "invalidated",
                                         "thread",  "terminated", "exited"};
    for (int i = 0; i < (int)(sizeof events / sizeof *events); i++) {
        stop(i + 1, 0);
        assert_false(event("output", NULL));
        assert_true(request(1, "threads", NULL));
        assert_false(event(events[i], NULL));
        assert_false(request(2, "stackTrace", STACK));
    }
}

/* Between its announcement and its stop nothing comes. */
static void test_a_stop_that_is_not_the_one(void **state)
{
    (void)state;
    announce(1, 0);
    event("output", NULL);
    event("stopped", NULL);
    assert_false(request(1, "threads", NULL));
    stop(2, 0);
    event("stopped", NULL);
    assert_false(request(2, "threads", NULL));
    expect("");
}

static void test_the_relay_says_drop(void **state)
{
    (void)state;
    announce(1, 0);
    event("stopped", NULL);
    word("{\"batch\":1,\"id\":11,\"response\":{}}");
    assert_true(request(1, "stackTrace", STACK));
    word("{\"batch\":2,\"drop\":true}"); /* of another stop */
    expect("");
    word("{\"batch\":1,\"drop\":true}");
    expect("release 1\n");
    assert_false(request(2, "threads", NULL));
    word("{\"batch\":1,\"id\":12,\"response\":{}}"); /* from before */
    assert_false(request(3, "stackTrace", STACK));
    expect("");
}

/* The relay did not know of a request that was under way to it. */
static void test_answers_that_are_older_than_what_was_said(void **state)
{
    (void)state;
    assert_false(request(1, "evaluate", NULL));
    stop(1, 0);
    assert_false(request(2, "stackTrace", STACK));
    stop(2, 1);
    assert_true(request(3, "stackTrace", STACK));
    expect("answer 3 {\"n\":2}\n");
    assert_false(request(4, "next", NULL));
    expect("used [22]\n");
    word("{\"batch\":2,\"heard\":1,\"asks\":[{\"id\":23,\"command\":\"modules\"}]}");
    word("{\"batch\":2,\"id\":23,\"response\":{}}");
    assert_false(request(5, "modules", NULL));
    word("{\"batch\":2,\"heard\":2,\"asks\":[{\"id\":23,\"command\":\"modules\"}]}"); /* is over */
    word("{\"batch\":2,\"id\":23,\"response\":{}}");
    assert_false(request(6, "modules", NULL));
    expect("");
}

static void test_a_request_that_waits_goes_before_what_drops(void **state)
{
    (void)state;
    announce(1, 0);
    event("stopped", NULL);
    assert_true(request(1, "threads", NULL));
    assert_false(request(2, "setVariable", NULL));
    expect("release 1\n");
}

static void test_another_relay(void **state)
{
    (void)state;
    assert_false(request(1, "initialize", NULL));
    stop(3, 1);
    assert_true(request(2, "threads", NULL));
    expect("answer 2 {\"n\":1}\n");
    dap_prefetch_restart(it.prefetch);
    expect(""); /* nobody is there to hear what was used */
    assert_false(request(3, "stackTrace", STACK));
    assert_false(request(4, "initialize", NULL));
    stop(1, 1); /* it counts anew */
    assert_true(request(5, "threads", NULL));
    expect("answer 5 {\"n\":1}\n");
}

static void test_what_is_old_is_not_used(void **state)
{
    (void)state;
    stop(1, 0);
    loop_skip(it.loop, FRESH_MS + 1);
    assert_false(request(1, "threads", NULL));
    word("{\"batch\":1,\"heard\":0,\"asks\":[{\"id\":13,\"command\":\"modules\"}]}");
    assert_true(request(2, "modules", NULL)); /* this was asked just now */
    loop_skip(it.loop, FRESH_MS + 1);
    word("{\"batch\":1,\"id\":13,\"response\":{}}"); /* the request is not old */
    expect("answer 2 {}\n");
}

static void test_nothing_waits_for_ever(void **state)
{
    (void)state;
    announce(1, 0);
    event("stopped", NULL);
    assert_true(request(1, "stackTrace", STACK));
    loop_skip(it.loop, PATIENCE_MS / 2);
    expect("");
    loop_skip(it.loop, PATIENCE_MS / 2);
    expect("release 1\n");
    word("{\"batch\":1,\"id\":12,\"response\":{}}");
    word("{\"batch\":1,\"heard\":0,\"asks\":[{\"id\":13,\"command\":\"modules\"}]}");
    assert_false(request(3, "modules", NULL)); /* the batch does not begin again */
    expect("");
}

static void test_nonsense_and_bounds(void **state)
{
    (void)state;
    static const char *const odd[] = {"1",
                                      "[]",
                                      "{}",
                                      "{\"batch\":\"1\"}",
                                      "{\"batch\":1,\"asks\":[{}]}",
                                      "{\"batch\":1,\"heard\":0,\"asks\":[1,{},{\"id\":1}]}",
                                      "{\"batch\":1,\"id\":99,\"response\":{}}",
                                      "{\"batch\":1,\"id\":null}"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        word(odd[i]);
    word("{\"batch\":2,\"heard\":0,\"asks\":[]}");
    for (int i = 0; i < 100; i++) {
        char body[160];
        snprintf(
            body, sizeof body,
            "{\"batch\":2,\"heard\":0,\"asks\":[{\"id\":%d,\"command\":\"scopes\",\"arguments\":{"
            "\"frameId\":%d}}]}",
            i, i);
        word(body);
        snprintf(body, sizeof body, "{\"frameId\":%d}", i);
        assert_int_equal(request(i, "scopes", body), i < 64);
    }
    expect("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_answer_is_given_once, begin, end),
        cmocka_unit_test_setup_teardown(test_only_to_that_request, begin, end),
        cmocka_unit_test_setup_teardown(test_a_request_waits_for_what_is_on_its_way, begin, end),
        cmocka_unit_test_setup_teardown(test_what_the_client_does_drops_all, begin, end),
        cmocka_unit_test_setup_teardown(test_events_drop_all, begin, end),
        cmocka_unit_test_setup_teardown(test_a_stop_that_is_not_the_one, begin, end),
        cmocka_unit_test_setup_teardown(test_the_relay_says_drop, begin, end),
        cmocka_unit_test_setup_teardown(test_answers_that_are_older_than_what_was_said, begin, end),
        cmocka_unit_test_setup_teardown(test_a_request_that_waits_goes_before_what_drops, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_another_relay, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_old_is_not_used, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_waits_for_ever, begin, end),
        cmocka_unit_test_setup_teardown(test_nonsense_and_bounds, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
