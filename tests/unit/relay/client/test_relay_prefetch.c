/* The relay's end: what is asked for the client when a thread stops, and what it is told. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "base/mem.h"
#include "dap/envelope.h"
#include "relay/client/prefetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN (INT64_C(1) << 60)

static struct {
    struct loop *loop;
    struct prefetch *ahead;
    struct buf asked; /* "command arguments\n" of each request for the session */
    struct buf told;  /* each body for the editor's end, a line each */
    size_t queued;
    bool drives;
} it;

static void add_line(struct buf *out, const char *json, struct span span)
{
    buf_add(out, json + span.at, span.len);
    buf_add_string(out, "\n");
}

static void on_ask(void *arg, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    (void)arg;
    assert_int_equal(envelope_read(&envelope, json, len, &problem), 0);
    assert_true(prefetch_is_own(envelope.seq));
    buf_printf(&it.asked, "%s ", envelope.name);
    add_line(&it.asked, json, envelope.arguments);
}

static void on_send(void *arg, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    (void)arg;
    assert_int_equal(envelope_read(&envelope, json, len, &problem), 0);
    assert_string_equal(envelope.name, "raydbg/prefetch");
    add_line(&it.told, json, envelope.body);
}

static size_t on_queued(void *arg)
{
    (void)arg;
    return it.queued;
}

static bool on_drives(void *arg)
{
    (void)arg;
    return it.drives;
}

static const struct prefetch_ops ops = {on_ask, on_send, on_queued, on_drives};

static int begin(void **state)
{
    struct err err;
    (void)state;
    it.loop = loop_create(false, &err);
    it.ahead = prefetch_create(it.loop, &ops, NULL);
    it.queued = 0;
    it.drives = true;
    return it.loop ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    prefetch_destroy(&it.ahead);
    loop_destroy(&it.loop);
    buf_free(&it.asked);
    buf_free(&it.told);
    return 0;
}

static void expect(struct buf *said, const char *lines)
{
    for (int i = 0; i < 3; i++)
        loop_run_once(it.loop, 5);
    assert_string_equal(said->len ? said->data : "", lines);
    buf_clear(said, 0);
}

/* From the client; false if it is for the session. */
static bool client(int seq, const char *type, const char *name, const char *with)
{
    char json[1024];
    bool request = strcmp(type, "request") == 0;
    snprintf(json, sizeof json, "{\"seq\":%d,\"type\":\"%s\",\"%s\":\"%s\",\"%s\":%s}", seq, type,
             request ? "command" : "event", name, request ? "arguments" : "body", with);
    return prefetch_from_client(it.ahead, json, strlen(json));
}

static bool event(const char *name, const char *body)
{
    char json[512];
    snprintf(json, sizeof json, "{\"seq\":3,\"type\":\"event\",\"event\":\"%s\",\"body\":%s}", name,
             body);
    return prefetch_to_client(it.ahead, json, strlen(json));
}

/* The session's answer; true: the client does not get it. */
static bool answer(int64_t seq, const char *command, const char *body)
{
    char *json = mem_format("{\"seq\":4,\"type\":\"response\",\"request_seq\":%lld,\"success\":%s,"
                            "\"command\":\"%s\",\"body\":%s}",
                            (long long)seq, body ? "true" : "false", command, body ? body : "{}");
    bool own = prefetch_to_client(it.ahead, json, strlen(json));
    free(json);
    return own;
}

static bool told(const char *part)
{
    bool found = it.told.len && strstr(it.told.data, part);
    buf_clear(&it.told, 0);
    return found;
}

#define STOP "{\"reason\":\"step\",\"threadId\":5}"
#define GUESS "threads \nstackTrace {\"threadId\":5,\"startFrame\":0,\"levels\":1}\n"
#define FRAMES "{\"stackFrames\":[{\"id\":30}]}"

static void test_the_offer(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool offered;
    } cases[] = {
        {"{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{"
         "\"supportsRaydbgAhead\":true}}",
         true},
        {"{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{"
         "\"supportsRaydbgAhead\":false}}",
         false},
        {"{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{}}", false},
        {"{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\"}", false},
        {"{\"seq\":1,\"type\":\"request\",\"command\":\"attach\",\"arguments\":{"
         "\"supportsRaydbgAhead\":true}}",
         false},
        {"nonsense", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(prefetch_is_offered(cases[i].json, strlen(cases[i].json)),
                         cases[i].offered);
}

static void test_a_stop_is_looked_at_for_the_client(void **state)
{
    (void)state;
    assert_false(client(1, "request", "initialize", "{}"));
    assert_false(event("stopped", STOP));
    assert_string_equal(it.asked.len ? "asked" : "", ""); /* not from within */
    expect(&it.told, "{\"batch\":1,\"heard\":1,\"asks\":[{\"id\":1152921504606846976,\"command\":"
                     "\"threads\"},{\"id\":1152921504606846977,\"command\":\"stackTrace\","
                     "\"arguments\":{\"threadId\":5,\"startFrame\":0,\"levels\":1}}]}\n");
    expect(&it.asked, GUESS);
    assert_true(prefetch_waits(it.ahead));
    assert_true(answer(OWN + 1, "stackTrace", FRAMES));
    const char *asks = strstr(it.told.data, "\"scopes\",\"arguments\":{\"frameId\":30}");
    const char *response = strstr(it.told.data, "\"id\":1152921504606846977,\"response\":{\"seq\"");
    assert_true(asks && response && asks < response); /* before the client can ask for it */
    expect(&it.asked, "scopes {\"frameId\":30}\n");
    buf_clear(&it.told, 0);
    assert_true(answer(OWN, "threads", "{\"threads\":[]}"));
    assert_true(answer(OWN + 2, "scopes", NULL)); /* refused */
    assert_non_null(strstr(it.told.data, "{\"batch\":1,\"id\":1152921504606846978}"));
    assert_false(prefetch_waits(it.ahead));
    assert_false(answer(OWN + 2, "scopes", "{}")); /* not asked */
    assert_false(answer(7, "scopes", "{}"));
}

static void test_what_ends_it(void **state)
{
    (void)state;
    event("stopped", STOP);
    expect(&it.asked, GUESS);
    assert_false(client(2, "request", "next", "{\"threadId\":5}"));
    buf_clear(&it.told, 0);
    assert_true(answer(OWN, "threads", "{}")); /* withheld all the same */
    assert_true(answer(OWN + 1, "stackTrace", FRAMES));
    expect(&it.told, "");
    expect(&it.asked, "");

    event("stopped", STOP); /* the guess was not used: nothing is asked any more */
    expect(&it.asked, "");
    assert_false(client(3, "request", "threads", "{}"));
    assert_false(answer(3, "threads", "{}"));
    assert_false(client(4, "request", "next", "{}"));
    event("stopped", STOP);
    expect(&it.asked, "threads {}\n");
    assert_true(told("\"batch\":3,\"heard\":2,"));

    event("thread", "{\"threadId\":9,\"reason\":\"started\"}");
    assert_true(answer(OWN + 2, "threads", "{}"));
    expect(&it.told, "");
}

static void test_what_was_used_is_asked_again(void **state)
{
    (void)state;
    event("stopped", STOP);
    expect(&it.asked, GUESS);
    assert_true(answer(OWN, "threads", "{}"));
    assert_true(
        client(0, "event", "raydbg/prefetch", "{\"batch\":9,\"used\":[1152921504606846977]}"));
    assert_true(
        client(0, "event", "raydbg/prefetch", "{\"batch\":1,\"used\":[1152921504606846976]}"));
    assert_true(client(0, "event", "raydbg/prefetch", "{\"used\":1}"));
    assert_false(client(4, "request", "next", "{}"));
    event("stopped", STOP);
    expect(&it.asked, "threads \n");
}

static void test_somebody_else(void **state)
{
    (void)state;
    prefetch_disturb(it.ahead);
    prefetch_disturb(NULL);
    expect(&it.told, "");
    event("stopped", STOP);
    buf_clear(&it.told, 0);
    prefetch_disturb(it.ahead);
    prefetch_disturb(it.ahead);
    expect(&it.told, "{\"batch\":1,\"drop\":true}\n"); /* once */
    expect(&it.asked, "");                             /* the session has not heard of it yet */
    assert_false(prefetch_waits(it.ahead));
    assert_false(client(4, "request", "next", "{}"));
    event("stopped", STOP); /* it was not the client's fault: all is asked again */
    expect(&it.asked, GUESS);
    buf_clear(&it.told, 0);
    prefetch_disturb(it.ahead);
    buf_clear(&it.told, 0);
    assert_true(answer(OWN + 2, "threads", "{}")); /* from before */
    expect(&it.told, "");
}

static void test_stops_that_are_not_looked_at(void **state)
{
    (void)state;
    event("stopped", "{\"threadId\":5,\"preserveFocusHint\":true}");
    event("stopped", "{\"reason\":\"pause\",\"allThreadsStopped\":true}");
    it.queued = 100000; /* it does not read */
    event("stopped", STOP);
    expect(&it.told, "");
    expect(&it.asked, "");
}

static void test_an_observer_gets_what_it_asks_for(void **state)
{
    (void)state;
    it.drives = false;
    event("stopped", STOP);
    expect(&it.asked, "");
    client(1, "request", "stackTrace", "{\"threadId\":5}");
    assert_false(answer(1, "stackTrace", FRAMES));
    client(2, "request", "completions", "{}");
    event("stopped", STOP);
    expect(&it.asked, "stackTrace {\"threadId\":5}\n");
}

static void test_too_much_is_not_passed(void **state)
{
    (void)state;
    enum { HALF = 140000 }; /* and a bit more */
    char *text = mem_array(1, HALF);
    memset(text, 'x', HALF - 1);
    char *body = mem_format("{\"text\":\"%s\"}", text);
    event("stopped", STOP);
    expect(&it.asked, GUESS);
    buf_clear(&it.told, 0);
    assert_true(answer(OWN, "threads", body));
    assert_true(told("\"response\""));
    assert_true(answer(OWN + 1, "stackTrace", body)); /* 256 KiB a stop */
    expect(&it.told, "{\"batch\":1,\"id\":1152921504606846977}\n");
    free(text);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_offer),
        cmocka_unit_test_setup_teardown(test_a_stop_is_looked_at_for_the_client, begin, end),
        cmocka_unit_test_setup_teardown(test_what_ends_it, begin, end),
        cmocka_unit_test_setup_teardown(test_what_was_used_is_asked_again, begin, end),
        cmocka_unit_test_setup_teardown(test_somebody_else, begin, end),
        cmocka_unit_test_setup_teardown(test_stops_that_are_not_looked_at, begin, end),
        cmocka_unit_test_setup_teardown(test_an_observer_gets_what_it_asks_for, begin, end),
        cmocka_unit_test_setup_teardown(test_too_much_is_not_passed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
