/* WebSockets on the relay's port: the handshake, messages of all sizes, and what breaks one. */
#include "websocket_client.h"

static void messages_come_back(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = dial(server);
    put_slowly(server, fd, UPGRADE("/dap") BEARER "Sec-WebSocket-Protocol: x, dap\r\n\r\n");
    char *answer = take_http_header(fd);
    assert_non_null(strstr(answer, "Sec-WebSocket-Protocol: dap\r\n"));
    free(answer);
    wait_for(&server->opened, 1);
    assert_string_equal(server->role, "driver");
    put_message(fd, "hello");
    expect_message(fd, "hello");
    put_frame(fd, TEXT, "in ", 3);
    put_frame(fd, CONTINUATION, "three ", 6);
    put_frame(fd, FIN | PING, "ping", 4);
    put_frame(fd, FIN | CONTINUATION, "frames", 6);
    int head;
    char pong[4];
    size_t len = take_header(fd, &head);
    if (head == (FIN | PONG)) { /* it and the answer may overtake each other */
        assert_int_equal(take(fd, pong, len), 4);
        assert_memory_equal(pong, "ping", 4);
        expect_message(fd, "in three frames");
    } else {
        assert_int_equal(len, 15);
    }
    close(fd);
    wait_for(&server->closed, 1);
    server_stop(server);
}

/* One that has closed takes no slot of a limit. */
static void those_that_have_closed_are_not_counted(void **state)
{
    (void)state;
    struct server *server =
        server_start((struct listener_options){.max_connections = 2}, NULL, false);
    for (int i = 0; i < 6; i++) {
        int fd = open_websocket(server, i % 2 ? UPGRADE("/dap") BEARER "\r\n"
                                              : UPGRADE("/events") BEARER "\r\n");
        wait_for(&server->opened, i + 1);
        if (i < 3) {
            put_frame(fd, FIN | CLOSE, "\x03\xe8", 2);
            drain_to_end(fd);
        } else {
            close(fd);
        }
        wait_for(&server->closed, i + 1);
    }
    wait_connections(server, 0);
    server_stop(server);
}

static void invalid_text_passes(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n");
    put_frame(fd, FIN | TEXT, "\xff\xfe\x80", 3);
    expect_message(fd, "\xff\xfe\x80");
    put_frame(fd, FIN | TEXT, "", 0);
    expect_message(fd, "");
    put_frame(fd, FIN | CLOSE, "\x03\xe8", 2);
    expect_close(fd, 1000);
    wait_for(&server->closed, 1);
    server_stop(server);
}

static void large_messages(void **state)
{
    (void)state;
    static const char *const asks[] = {"!big 1000000", "!parts 1000000"};
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n");
    char *text = mem_alloc(1000001);
    for (size_t i = 0; i < 1000000; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < 3; i++) {
        size_t len;
        int frames;
        if (i < 2)
            put_message(fd, asks[i]);
        else
            put_frame(fd, FIN | TEXT, text, 1000000);
        char *got = take_message(fd, &len, &frames);
        assert_int_equal(len, 1000000);
        assert_memory_equal(got, text, len);
        assert_true(frames >= 16);
        free(got);
    }
    put_message(fd, "!parts 0");
    expect_message(fd, "");
    put_message(fd, "!excess");
    expect_message(fd, "abc");
    close(fd);
    free(text);
    server_stop(server);
}

static void a_reader_stalls(void **state)
{
    (void)state;
    enum { SIZE = 20000000 };
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n"), frames;
    size_t len;
    put_message(fd, "!parts 20000000");
    wait_for(&server->messages, 1);
    assert_true(server->queued > SIZE / 2);
    assert_int_equal(server->drained, 0);
    put_message(fd, "after"); /* read, though what is before it has not left */
    wait_for(&server->messages, 2);
    char *got = take_message(fd, &len, &frames);
    assert_int_equal(len, SIZE);
    free(got);
    expect_message(fd, "after");
    wait_for(&server->drained, 1);
    put_message(fd, "!close");
    expect_message(fd, "!close");
    expect_close(fd, 1000);
    server_stop(server);
}

static void reading_stops(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n");
    put_message(fd, "!halt");
    expect_message(fd, "!halt");
    put_message(fd, "a");
    put_message(fd, "b");
    server_turns(server);
    assert_int_equal(server->messages, 1);
    server_skip(server, LATER_MS);
    expect_message(fd, "a");
    expect_message(fd, "b");
    close(fd);
    server_stop(server);
}

static void expect_broken(struct server *server, int fd, const char *problem)
{
    size_t len;
    int frames;
    char *got = take_message(fd, &len, &frames);
    expect_in(got, problem);
    expect_close(fd, 1000);
    assert_non_null(strstr(server->broken, problem));
}

static void limits_and_nonsense(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){.max_body = 1000}, NULL, false);
    int fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n");
    put_frame(fd, FIN | BINARY, "x", 1);
    expect_broken(server, fd, "is binary");
    char text[1001] = {0};
    memset(text, 'x', 1000);
    fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n");
    put_frame(fd, TEXT, text, 1000);
    put_frame(fd, FIN | CONTINUATION, text, 1);
    expect_broken(server, fd, "more than 1000 bytes");
    fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n");
    put_frame(fd, FIN | TEXT, text, 1000);
    expect_message(fd, text);
    put_frame(fd, FIN | CONTINUATION, text, 1); /* of nothing */
    shutdown(fd, SHUT_WR);
    expect_end(fd);
    fd = open_websocket(server, UPGRADE("/dap") BEARER "\r\n");
    put_text(fd, "Content-Length: 5\r\n\r\nhello\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    shutdown(fd, SHUT_WR);
    expect_end(fd);
    server_stop(server);
}

static void events_are_followed(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = open_websocket(server, UPGRADE("/events") "Authorization: Bearer " OBSERVER_TOKEN
                                                       "\r\nSec-WebSocket-Protocol: "
                                                       "raydbg.events\r\n\r\n");
    expect_message(fd, "hello");
    assert_string_equal(server->role, "observer");
    put_message(fd, "nobody listens");
    put_frame(fd, FIN | PING, "", 0);
    int head;
    assert_int_equal(take_header(fd, &head), 0);
    assert_int_equal(head, FIN | PONG);
    assert_int_equal(server->messages, 0);
    close(fd);
    wait_for(&server->closed, 1);
    server_stop(server);
}

static void handshakes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {UPGRADE("/dap") "\r\n", "401 Unauthorized"},
        {UPGRADE("/dap") "Authorization: Bearer nonsense\r\n\r\n", "the token is wrong"},
        {UPGRADE("/dap?token=" TOKEN) "\r\n", "400 Bad"},
        {UPGRADE("/dap") BEARER "Origin: http://evil\r\n\r\n", "403 Forbidden"},
        {UPGRADE("/dapper") BEARER "\r\n", "404 Not Found"},
        {"GET /dap HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 12\r\n" BEARER
         "\r\n",
         "426 Upgrade Required"},
        {UPGRADE("/dap") BEARER "Sec-WebSocket-Protocol: raydbg.events\r\n\r\n", "400 Bad"},
        {UPGRADE("/dap") BEARER "Sec-WebSocket-Protocol: dap, raydbg.events\r\n\r\n", "400 Bad"},
        {UPGRADE("/events") BEARER "Sec-WebSocket-Protocol: other\r\n\r\n", "400 Bad"},
        {"GET /dap HTTP/1.1\r\n" HOST BEARER "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n",
         "426 Upgrade Required"},
        {"GET /dap HTTP/1.1\r\n" HOST BEARER "Connection: upgrade\r\nUpgrade: h2c\r\n"
         "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
         "426 Upgrade Required"},
        {"GET /dap HTTP/1.1\r\n" HOST BEARER "Connection: upgrade\r\nUpgrade: other\r\n\r\n", ""},
    };
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = dial(server);
        put_text(fd, cases[i].text);
        expect_in(take_all(fd), cases[i].want);
    }
    assert_int_equal(server->opened, 0);
    server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_back),
        cmocka_unit_test(those_that_have_closed_are_not_counted),
        cmocka_unit_test(invalid_text_passes),
        cmocka_unit_test(large_messages),
        cmocka_unit_test(a_reader_stalls),
        cmocka_unit_test(reading_stops),
        cmocka_unit_test(limits_and_nonsense),
        cmocka_unit_test(events_are_followed),
        cmocka_unit_test(handshakes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
