/* One HTTP GET against servers of all kinds. */
#include "cmocka_prelude.h"
#include "http_server.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEADLINE_MS = 5000, MAX_BODY = 100000 };

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define LENGTH(n) "Content-Length: " #n "\r\n\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"

/* A copy of a reply. */
struct answer {
    enum http_result result;
    int status, times;
    size_t len;
    char type[64], location[200], why[200];
    char *body;
};

static void on_reply(void *arg, const struct http_reply *reply)
{
    struct answer *answer = arg;
    answer->times++;
    answer->result = reply->result;
    answer->status = reply->status;
    answer->len = reply->len;
    assert_true(text_copy(answer->type, sizeof answer->type, reply->type));
    assert_true(text_copy(answer->location, sizeof answer->location, reply->location));
    assert_true(text_copy(answer->why, sizeof answer->why, reply->why));
    assert_int_equal(reply->body[reply->len], '\0');
    answer->body = mem_string_n(reply->body, reply->len);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct answer ask(const struct http_request *request)
{
    struct answer answer = {.times = 0};
    struct http_request own = *request;
    own.context = http_client_context();
    own.host = own.host ? own.host : "127.0.0.1";
    own.path = own.path ? own.path : "/";
    own.deadline_ms = own.deadline_ms ? own.deadline_ms : DEADLINE_MS;
    own.max_body = own.max_body ? own.max_body : MAX_BODY;
    http_get(&own, on_reply, &answer);
    assert_int_equal(answer.times, 0);
    while (!answer.times)
        lws_service(own.context, 0);
    for (int i = 0; i < 5; i++)
        lws_service(own.context, -1);
    lws_context_destroy(own.context);
    assert_int_equal(answer.times, 1);
    return answer;
}

static void check(const struct answer *answer, enum http_result result, int status)
{
    if (answer->result != result || answer->status != status)
        print_error("result %d, HTTP %d, %zu bytes, '%s'\n", (int)answer->result, answer->status,
                    answer->len, answer->why);
    assert_int_equal(answer->result, result);
    assert_int_equal(answer->status, status);
}

/* What a server that sends `head` and `body` and then does `after` comes to. */
static struct answer ask_server(const char *head, const char *body, enum http_after after,
                                int64_t deadline_ms)
{
    struct http_server server = {.head = head, .body = body, .after = after};
    http_server_start(&server);
    struct answer answer =
        ask(&(struct http_request){.port = server.port, .deadline_ms = deadline_ms});
    http_server_stop(&server);
    assert_int_equal(server.connections, 1);
    return answer;
}

static void expect(const char *head, const char *body, enum http_after after,
                   enum http_result result, int status, const char *content)
{
    struct answer answer = ask_server(head, body, after, DEADLINE_MS);
    check(&answer, result, status);
    if (content)
        assert_string_equal(answer.body, content);
    free(answer.body);
}

/* --- whole answers --- */

static void answers_of_each_framing(void **state)
{
    (void)state;
    expect(OK_HEAD LENGTH(7), "{\"a\":1}", HTTP_HOLD, HTTP_ANSWERED, 200, "{\"a\":1}");
    expect(OK_HEAD LENGTH(7), "{\"a\":1}", HTTP_CLOSE, HTTP_ANSWERED, 200, "{\"a\":1}");
    expect(OK_HEAD LENGTH(0), "", HTTP_HOLD, HTTP_ANSWERED, 200, "");
    expect(OK_HEAD CHUNKED, "3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n", HTTP_HOLD, HTTP_ANSWERED, 200,
           "{\"a\":1}");
    expect(OK_HEAD CHUNKED, "3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n", HTTP_CLOSE, HTTP_ANSWERED, 200,
           "{\"a\":1}");
    expect(OK_HEAD "\r\n", "{\"a\":1}", HTTP_CLOSE, HTTP_ANSWERED, 200, "{\"a\":1}");
    expect("HTTP/1.0 200 OK\r\n\r\n", "x", HTTP_CLOSE, HTTP_ANSWERED, 200, "x");
}

static void an_answer_in_small_pieces(void **state)
{
    (void)state;
    expect("HTTP/1.1 200 OK\r\n" LENGTH(5), "12345", HTTP_DRIP, HTTP_ANSWERED, 200, "12345");
    expect("HTTP/1.1 200 OK\r\n" CHUNKED, "2\r\n12\r\n1\r\n3\r\n0\r\n\r\n", HTTP_DRIP,
           HTTP_ANSWERED, 200, "123");
}

static void what_is_asked(void **state)
{
    (void)state;
    struct http_server server = {.head = OK_HEAD LENGTH(1), .body = "x"};
    http_server_start(&server);
    struct answer answer = ask(&(struct http_request){
        .port = server.port, .path = "/ray/api?x=%3D&y=1", .token = "se.cret-1"});
    check(&answer, HTTP_ANSWERED, 200);
    assert_string_equal(answer.type, "application/json");
    assert_string_equal(answer.location, "");
    free(answer.body);
    http_server_stop(&server);
    char host[40];
    snprintf(host, sizeof host, "127.0.0.1:%d\r\n", server.port);
    assert_true(text_starts(server.request, "GET /ray/api?x=%3D&y=1 HTTP/1.1\r\n"));
    assert_non_null(strcasestr(server.request, host));
    assert_non_null(strcasestr(server.request, "\r\nAuthorization: Bearer se.cret-1\r\n"));
    assert_non_null(strcasestr(server.request, "\r\nAccept: application/json\r\n"));
    assert_null(strcasestr(server.request, "Accept-Encoding"));
}

static void no_token_no_header(void **state)
{
    (void)state;
    struct http_server server = {.head = OK_HEAD LENGTH(1), .body = "x"};
    http_server_start(&server);
    struct answer answer = ask(&(struct http_request){.port = server.port});
    check(&answer, HTTP_ANSWERED, 200);
    free(answer.body);
    http_server_stop(&server);
    assert_null(strcasestr(server.request, "Authorization"));
}

static void other_statuses_are_answers(void **state)
{
    (void)state;
    expect("HTTP/1.1 401 Unauthorized\r\n" LENGTH(4), "no!\n", HTTP_HOLD, HTTP_ANSWERED, 401,
           "no!\n");
    expect("HTTP/1.1 403 Forbidden\r\n" LENGTH(3), "no!", HTTP_HOLD, HTTP_ANSWERED, 403, "no!");
    expect("HTTP/1.1 404 Not Found\r\n" LENGTH(3), "no!", HTTP_HOLD, HTTP_ANSWERED, 404, "no!");
    expect("HTTP/1.1 500 Oops\r\n" LENGTH(3), "no!", HTTP_HOLD, HTTP_ANSWERED, 500, "no!");
}

static void a_web_page(void **state)
{
    (void)state;
    struct answer answer = ask_server("HTTP/1.1 200 OK\r\n"
                                      "Content-Type: Text/HTML; charset=utf-8\r\n" LENGTH(13),
                                      "<html></html>", HTTP_HOLD, DEADLINE_MS);
    check(&answer, HTTP_ANSWERED, 200);
    assert_string_equal(answer.type, "text/html");
    free(answer.body);
}

/* ask_server() checks that there was no second connection. */
static void redirects_are_not_followed(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/x\r\n" LENGTH(0),
        "HTTP/1.1 301 Moved\r\nLocation: /login\r\n" LENGTH(0),
        "HTTP/1.1 307 Temporary\r\nLocation: https://sso.example/?a=b\r\n" LENGTH(0)};
    static const char *const to[] = {"http://127.0.0.1:1/x", "/login", "https://sso.example/?a=b"};
    static const int statuses[] = {302, 301, 307};
    for (size_t i = 0; i < 3; i++) {
        struct answer answer = ask_server(heads[i], "", HTTP_HOLD, DEADLINE_MS);
        check(&answer, HTTP_ANSWERED, statuses[i]);
        assert_string_equal(answer.location, to[i]);
        free(answer.body);
    }
}

/* --- size --- */

static void bodies_up_to_the_limit(void **state)
{
    (void)state;
    char *body = mem_alloc(MAX_BODY + 2);
    memset(body, 'x', MAX_BODY);
    expect(OK_HEAD LENGTH(100000), body, HTTP_HOLD, HTTP_ANSWERED, 200, body);
    expect(OK_HEAD "\r\n", body, HTTP_CLOSE, HTTP_ANSWERED, 200, body);
    body[MAX_BODY] = 'y';
    expect(OK_HEAD LENGTH(100001), body, HTTP_HOLD, HTTP_TOO_LARGE, 200, NULL);
    expect(OK_HEAD "\r\n", body, HTTP_CLOSE, HTTP_TOO_LARGE, 200, NULL);
    free(body);
}

static void a_large_chunk(void **state)
{
    (void)state;
    char *body = mem_alloc(100000);
    memset(body, 'x', 90000);
    char *chunk = mem_format("15F90\r\n%s\r\n0\r\n\r\n", body);
    expect(OK_HEAD CHUNKED, chunk, HTTP_CLOSE, HTTP_ANSWERED, 200, body);
    expect(OK_HEAD CHUNKED, chunk, HTTP_HOLD, HTTP_ANSWERED, 200, body);
    chunk[80000] = '\0';
    expect(OK_HEAD CHUNKED, chunk, HTTP_CLOSE, HTTP_BROKEN, 200, NULL);
    free(chunk);
    free(body);
}

static void endless_bodies(void **state)
{
    (void)state;
    expect(OK_HEAD "\r\n", "all work and no play ", HTTP_FLOOD, HTTP_TOO_LARGE, 200, NULL);
    expect(OK_HEAD CHUNKED, "5\r\nwork \r\n", HTTP_FLOOD, HTTP_TOO_LARGE, 200, NULL);
}

/* --- time --- */

static void check_timeout(const char *head, const char *body, enum http_after after)
{
    int64_t start = now_ms();
    struct answer answer = ask_server(head, body, after, 200);
    int64_t took = now_ms() - start;
    assert_int_equal(answer.result, HTTP_TIMEOUT);
    assert_in_range(took, 190, 15000);
    free(answer.body);
}

static void slow_servers(void **state)
{
    (void)state;
    check_timeout("", "", HTTP_HOLD);
    check_timeout("HTTP/1.1 200 OK\r\n", "", HTTP_HOLD);
    check_timeout(OK_HEAD LENGTH(7), "{\"a", HTTP_HOLD);
    check_timeout(OK_HEAD "\r\n", "{\"a\":1}", HTTP_HOLD);
    check_timeout(OK_HEAD CHUNKED, "3\r\n{\"a\r\n", HTTP_HOLD);
    check_timeout("HTTP/1.1 200 OK\r\n\r\n", "a byte now and then", HTTP_DRIP);
}

/* --- no answer --- */

static void refused_connections(void **state)
{
    (void)state;
    uint16_t port;
    int fd = http_server_bind(&port); /* nobody listens */
    struct answer answer = ask(&(struct http_request){.port = port});
    close(fd);
    check(&answer, HTTP_NO_CONNECT, 0);
    if (!text_equal(answer.why, "connection refused")) /* libwebsockets >= 4.2 */
        assert_non_null(strstr(answer.why, "nothing accepts connections there"));
    free(answer.body);
}

static void unknown_hosts(void **state)
{
    (void)state;
    struct answer answer = ask(&(struct http_request){.host = "nowhere.invalid", .port = 1});
    check(&answer, HTTP_NO_CONNECT, 0);
    free(answer.body);
}

static void what_is_no_http(void **state)
{
    (void)state;
    expect("\x00\x00\x12", "", HTTP_CLOSE, HTTP_BROKEN, 0, NULL);
    expect("SSH-2.0-OpenSSH_9.2\r\n", "", HTTP_CLOSE, HTTP_BROKEN, 0, NULL);
    expect("Content-Length: 2\r\n\r\n{}", "", HTTP_CLOSE, HTTP_BROKEN, 0, NULL);
    expect("HTTP/1.1 xx OK\r\n" CHUNKED, "3\r\nabc\r\n0\r\n\r\n", HTTP_HOLD, HTTP_BROKEN, 0, NULL);
}

/* Half an answer is none: its bytes would be taken for a whole, but odd, reply. */
static void connections_that_close_early(void **state)
{
    (void)state;
    expect("", "", HTTP_CLOSE, HTTP_BROKEN, 0, "");
    expect("HTTP/1.1 200 OK\r\nConte", "", HTTP_CLOSE, HTTP_BROKEN, 0, "");
    expect(OK_HEAD LENGTH(7), "", HTTP_CLOSE, HTTP_BROKEN, 200, NULL);
    expect(OK_HEAD LENGTH(7), "{\"a\":1", HTTP_CLOSE, HTTP_BROKEN, 200, NULL);
    expect(OK_HEAD CHUNKED, "3\r\n{\"a\r\n", HTTP_CLOSE, HTTP_BROKEN, 200, NULL);
    expect(OK_HEAD CHUNKED, "7\r\n{\"a", HTTP_CLOSE, HTTP_BROKEN, 200, NULL);
}

static void expect_unread(const char *head, const char *body, enum http_after after,
                          const char *why)
{
    struct answer answer = ask_server(head, body, after, DEADLINE_MS);
    check(&answer, HTTP_BROKEN, 200);
    if (!strstr(answer.why, why))
        print_error("%s\n", answer.why);
    assert_non_null(strstr(answer.why, why));
    free(answer.body);
}

/* libwebsockets does not read them; the server holds the connection, so it is not to blame. */
static void chunks_that_are_not_read(void **state)
{
    (void)state;
    static const char odd[] = "its chunked body has an extension or a trailer";
    static const char *const bodies[] = {
        "3;a=1\r\nabc\r\n0\r\n\r\n",         "3 \r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0;last\r\n\r\n",
        "3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "x\r\nabc\r\n0\r\n\r\n"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        expect_unread(OK_HEAD CHUNKED, bodies[i], HTTP_HOLD, odd);
        expect_unread(OK_HEAD CHUNKED, bodies[i], HTTP_CLOSE, odd);
    }
    expect_unread("HTTP/1.1 200 OK\r\n" CHUNKED, "3;a\r\nabc", HTTP_DRIP, odd);
}

static void other_transfer_codings(void **state)
{
    (void)state;
    static const char other[] = "a transfer coding other than chunked";
    expect_unread(OK_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n", "3\r\nabc", HTTP_HOLD, other);
    expect_unread(OK_HEAD "Transfer-Encoding: gzip\r\n\r\n", "abc", HTTP_CLOSE, other);
    expect_unread(OK_HEAD "Transfer-Encoding: a-coding-that-nobody-has-heard-of\r\n\r\n", "abc",
                  HTTP_CLOSE, other);
}

static void tokens_that_no_header_holds(void **state)
{
    (void)state;
    char *token = mem_alloc(70001);
    memset(token, 't', 70000);
    struct http_server server = {.head = OK_HEAD LENGTH(1), .body = "x"};
    http_server_start(&server);
    struct answer answer = ask(&(struct http_request){.port = server.port, .token = token});
    check(&answer, HTTP_BROKEN, 0);
    assert_non_null(strstr(answer.why, "token"));
    free(answer.body);
    http_server_stop(&server);
    free(token);
}

/* --- several, and none --- */

static void several_at_once(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    struct http_server server = {.head = OK_HEAD LENGTH(7), .body = "{\"a\":1}"};
    struct answer answers[COUNT] = {{.times = 0}};
    struct lws_context *context = http_client_context();
    http_server_start(&server);
    const struct http_request request = {.context = context,
                                         .host = "127.0.0.1",
                                         .port = server.port,
                                         .path = "/",
                                         .deadline_ms = DEADLINE_MS,
                                         .max_body = MAX_BODY};
    for (size_t i = 0; i < COUNT; i++)
        http_get(&request, on_reply, &answers[i]);
    for (size_t i = 0; i < COUNT; i++) {
        while (!answers[i].times)
            lws_service(context, 0);
        check(&answers[i], HTTP_ANSWERED, 200);
        assert_string_equal(answers[i].body, "{\"a\":1}");
        free(answers[i].body);
    }
    lws_context_destroy(context);
    http_server_stop(&server);
    assert_int_equal(server.connections, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(answers[i].times, 1);
}

static void check_cancel(int64_t after_ms)
{
    struct http_server server = {.head = OK_HEAD LENGTH(7), .body = "{", .after = HTTP_HOLD};
    struct answer answer = {.times = 0};
    struct lws_context *context = http_client_context();
    http_server_start(&server);
    const struct http_request request = {.context = context,
                                         .host = "127.0.0.1",
                                         .port = server.port,
                                         .path = "/",
                                         .deadline_ms = 60000,
                                         .max_body = MAX_BODY};
    struct http_get *get = http_get(&request, on_reply, &answer);
    for (int64_t end = now_ms() + after_ms; now_ms() < end;)
        lws_service(context, -1);
    http_cancel(&get);
    assert_null(get);
    http_cancel(&get);
    for (int64_t end = now_ms() + 100; now_ms() < end;)
        lws_service(context, -1);
    lws_context_destroy(context);
    http_server_stop(&server);
    assert_int_equal(answer.times, 0);
}

static void cancelled_gets_call_nobody(void **state)
{
    (void)state;
    check_cancel(0);
    check_cancel(1);
    check_cancel(30);
}

int main(void)
{
    alarm(120); /* a callback that never comes must not hang the run */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_each_framing),
        cmocka_unit_test(an_answer_in_small_pieces),
        cmocka_unit_test(what_is_asked),
        cmocka_unit_test(no_token_no_header),
        cmocka_unit_test(other_statuses_are_answers),
        cmocka_unit_test(a_web_page),
        cmocka_unit_test(redirects_are_not_followed),
        cmocka_unit_test(bodies_up_to_the_limit),
        cmocka_unit_test(a_large_chunk),
        cmocka_unit_test(endless_bodies),
        cmocka_unit_test(slow_servers),
        cmocka_unit_test(refused_connections),
        cmocka_unit_test(unknown_hosts),
        cmocka_unit_test(what_is_no_http),
        cmocka_unit_test(connections_that_close_early),
        cmocka_unit_test(chunks_that_are_not_read),
        cmocka_unit_test(other_transfer_codings),
        cmocka_unit_test(tokens_that_no_header_holds),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(cancelled_gets_call_nobody),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
