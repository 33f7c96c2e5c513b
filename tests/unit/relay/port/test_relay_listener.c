/* The relay's port: who is let in, in which protocol, and what is told to who is not. */
#include "listener_fixture.h"

#include <fcntl.h>

#define AUTH DAP("!auth", "5")

static void dap_comes_back(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    int fd = dial(server);
    put_text(fd, DAP("hello", "5") DAP("{}", "2"));
    expect(fd, DAP("hello", "5") DAP("{}", "2"));
    assert_string_equal(server->role, "driver");
    close(fd);
    fd = dial(server);
    put_slowly(server, fd, "content-TYPE: x\r\ncontent-length: 5\r\n\r\nhello");
    expect(fd, DAP("hello", "5"));
    put_text(fd, DAP("!excess", "7"));
    expect(fd, DAP("abc", "3"));
    put_text(fd, DAP("!close", "6"));
    expect_in(take_all(fd), "!close");
    wait_for(&server->closed, 2);
    server_stop(server);
}

static void a_token_is_to_come(void **state)
{
    (void)state;
    struct server *server = server_start(
        (struct listener_options){.max_unauthenticated = 100, .max_body = 1000}, NULL, false);
    char big[501] = {0}, text[600];
    memset(big, 'y', 500);
    int fd = dial(server);
    put_text(fd, DAP("0123456789", "10") AUTH);
    expect(fd, DAP("0123456789", "10") AUTH);
    assert_string_equal(server->role, "none");
    snprintf(text, sizeof text, DAP("%s", "500"), big);
    put_text(fd, text);
    expect(fd, text);
    close(fd);
    fd = dial(server);
    put_text(fd, "Content-Length: 101\r\n\r\n"); /* none of the body has been sent */
    expect_in(take_all(fd), "announces a message of more than 100 bytes");
    assert_non_null(strstr(server->broken, "more than 100 bytes"));
    assert_string_equal(server->refused, ""); /* one line in the audit log is enough */
    fd = dial(server);
    for (int i = 0; i < 3; i++)
        put_text(fd, DAP("0123456789012345678901234567", "28"));
    char *all = take_all(fd);
    assert_non_null(strstr(all, "\"request_seq\":0"));
    expect_in(all, "more than 100 bytes came, and no token");
    fd = dial(server);
    put_text(fd, AUTH "Content-Length: 1001\r\n\r\n");
    expect_in(take_all(fd), "announces a message of more than 1000 bytes");
    server_stop(server);
}

static void nonsense_ends(void **state)
{
    (void)state;
    static const char *const pieces[] = {"\x16\x03\x01\x02", "hello\r\n",
                                         "CONNECT x HTTP/1.1\r\n\r\n", "{\"seq\":1}", "\r\n\r\n"};
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        int fd = dial(server);
        put_text(fd, pieces[i]);
        char *all = take_all(fd);
        assert_non_null(strstr(all, "HTTP/1.1 400 "));
        expect_in(all, "neither HTTP nor DAP");
    }
    int fd = dial(server);
    put_text(fd, "Content-Length: x\r\n\r\n");
    expect_in(take_all(fd), "not a number");
    assert_string_equal(server->broken, "a Content-Length is not a number of bytes");
    server_stop(server);
}

static void half_closed(void **state)
{
    (void)state;
    static const char *const starts[] = {"", "Cont", "Content-Length: 5\r\n", "GET / HT"};
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    int fd = dial(server);
    put_text(fd, DAP("hello", "5"));
    shutdown(fd, SHUT_WR); /* what was asked before is answered */
    expect(fd, DAP("hello", "5"));
    expect_end(fd);
    wait_for(&server->closed, 1);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        fd = dial(server);
        put_text(fd, starts[i]);
        shutdown(fd, SHUT_WR);
        char byte; /* bytes that nobody has read make it a reset */
        assert_true(take(fd, &byte, 1) <= 0);
        close(fd);
    }
    server_stop(server);
}

static char *request(const struct server *server, const char *text)
{
    int fd = dial(server);
    put_text(fd, text);
    return take_all(fd);
}

static void only_its_own_names_are_hosts(void **state)
{
    static const char *const hosts[] = {"relay.example:1", "named.example.", "[::2]:4713",
                                        "[::3].x"};
    static const struct {
        const char *host;
        bool good;
    } cases[] = {
        {"localhost", true},
        {"LOCALHOST:80", true},
        {"127.0.0.1:65535", true},
        {"localhost:", true},
        {"[::1]", true},
        {"[::1]:80", true},
        {"::1", true},
        {"relay.example:9", true},
        {"[::2]", true},
        {"[::1].evil", false},
        {"[::1]evil", false},
        {"[::1]:evil", false},
        {"[::1]:80.evil", false},
        {"[::1", false},
        {"[::1]]", false},
        {"[localhost]", false},
        {"[127.0.0.1]:80", false},
        {"[::3]", false},
        {"[::3].x", false},
        {"localhost:evil", false},
        {"localhost:-1", false},
        {"localhost:65536", false},
        {"localhost:80:80", false},
        {"localhost.", true},
        {"LocalHost.:80", true},
        {"relay.example.", true},
        {"named.example", true},
        {"localhost..", false},
        {".", false},
        {"127.0.0.1:1@evil", false},
        {"evil@localhost", false},
        {"localhost.evil", false},
        {"localhost, evil", false},
        {":80", false},
        {"[]", false},
        {"127.0.0.1.evil", false},
        {"0177.0.0.1", false},
        {"[::1%lo]", false},
    };
    (void)state;
    struct server *server =
        server_start((struct listener_options){.hosts = hosts, .host_count = 3}, NULL, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = mem_format("GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", cases[i].host);
        char *answer = request(server, text);
        if (!strstr(answer, cases[i].good ? "200 OK" : "403 Forbidden"))
            fail_msg("%s: %s", cases[i].host, answer);
        free(answer);
        free(text);
    }
    server_stop(server);
}

#define ZEROS "0000000000000000000000000000000000000000" /* more than libwebsockets reads */

static void http_is_answered(void **state)
{
    (void)state;
    static const char *const origins[] = {"http://mine"}, *const hosts[] = {"relay.example:1"};
    struct server *server = server_start(
        (struct listener_options){
            .origins = origins, .origin_count = 1, .hosts = hosts, .host_count = 1},
        NULL, false);
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\n" HOST "\r\n", "200 OK\r\n"},
        {"GET /a%20b?x=y HTTP/1.1\r\n" HOST BEARER "\r\n", "\r\n\r\nGET /a b driver "},
        {"DELETE /x HTTP/1.1\r\n" HOST BEARER "\r\n", "DELETE /x driver "},
        {"GET /x HTTP/1.1\r\n" HOST "authorization: bearer  " OBSERVER_TOKEN "\r\n\r\n",
         "GET /x observer "},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: 4\r\n\r\nbody", "POST /x driver body"},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: 0\r\n\r\n", "POST /x driver "},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "\r\n", "POST /x driver "},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: 00000000000000000004\r\n\r\nbody",
         "POST /x driver body"},
        {"GET /x HTTP/1.1\nHost: localhost:80\n" BEARER "\n", "GET /x driver "},
        {"GET /x HTTP/1.1\r\nHost: [::1]:80\r\n" BEARER "\r\n", "GET /x driver "},
        {"GET /x HTTP/1.1\r\nHost: relay.example\r\n" BEARER "\r\n", "GET /x driver "},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "Origin: http://mine\r\n\r\n", "GET /x driver "},
        {"GET /late HTTP/1.1\r\n" HOST BEARER "\r\nand more", "late"},
        {"GET /x HTTP/1.1\r\n" HOST "\r\n", "401 Unauthorized\r\n"},
        {"GET /x HTTP/1.1\r\n" HOST "\r\n", "{\"error\":{\"what\":\"a token is needed\",\"why\":"},
        {"GET /x HTTP/1.1\r\n" HOST "\r\n", "WWW-Authenticate: Bearer\r\n"},
        {"GET /x HTTP/1.1\r\n" HOST "Authorization: Bearer x\r\n\r\n", "the token is wrong"},
        {"GET /x HTTP/1.1\r\n" HOST "Authorization: Basic " TOKEN "\r\n\r\n", "401 "},
        {"GET /x HTTP/1.1\r\n" HOST "Authorization: Bearer " TOKEN "x\r\n\r\n", "401 "},
        {"GET /x HTTP/1.1\r\nHost: evil.example\r\n" BEARER "\r\n", "403 Forbidden"},
        {"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403 Forbidden"},
        {"GET /x HTTP/1.1\r\n" BEARER "\r\n", "403 Forbidden"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "Origin: http://mine.evil\r\n\r\n", "403 Forbidden"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "Origin: null\r\n\r\n", "403 Forbidden"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "Origin:\r\n\r\n", "403 Forbidden"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "origin: \t\r\n\r\n", "403 Forbidden"},
        {"GET /x HTTP/1.1\n" BEARER "Host: localhost\nOrigin: http://evil\n\n", "403 Forbidden"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "X-Long: a\r\n b\r\n\r\n", "400 Bad"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "Origin:\r\n http://mine\r\n\r\n", "400 Bad"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "Origin : http://evil\r\n\r\n", "400 Bad"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "nothing\r\n\r\n", "the request's header is malformed"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "X-None:\r\n\r\n", "400 Bad"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "X: a\x01\r\n\r\n", "400 Bad"},
        {"GET /x?a=b&token=" TOKEN " HTTP/1.1\r\n" HOST "\r\n", "400 Bad"},
        {"GET /x?access_token=" TOKEN " HTTP/1.1\r\n" HOST "\r\n", "400 Bad"},
        {"GET /dap HTTP/1.1\r\n" HOST BEARER "\r\n", "426 Upgrade"},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411 "},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: -4\r\n\r\n", "400 Bad"},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: " ZEROS "4\r\n\r\nbody", "400 Bad"},
        {"GET /x HTTP/1.1\r\n" HOST BEARER "Content-Length: " ZEROS "4\r\n\r\nbody", "400 Bad"},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: " ZEROS "\r\n\r\n", "400 Bad"},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: 5000000\r\n\r\nabc", "413 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_in(request(server, cases[i].text), cases[i].want);
    int fd = dial(server);
    put_slowly(server, fd, "POST /slow HTTP/1.1\r\n" HOST BEARER "Content-Length: 4\r\n\r\nbody");
    expect_in(take_all(fd), "POST /slow driver body");
    char *all = request(server, "GET /big HTTP/1.1\r\n" HOST BEARER "\r\n");
    assert_true(strlen(all) > 3000000);
    free(all);
    all = request(server, "HEAD /x HTTP/1.1\r\n" HOST BEARER "\r\n");
    assert_true(text_ends(all, "\r\n\r\n"));
    free(all);
    server_stop(server);
}

static void an_answer_is_sent_at_the_end(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = dial(server);
    put_text(fd, "GET /last HTTP/1.1\r\n" HOST BEARER "\r\n");
    wait_for(&server->late, 1);
    server_stop(server);
    expect_in(take_all(fd), "GET /last driver ");
}

/* The answer arrives, and the client can send all of what nobody wants. */
static void a_body_is_too_long(void **state)
{
    (void)state;
    static const struct {
        const char *header, *want;
    } cases[] = {
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: 5000000\r\n\r\n",
         "413 Content Too Large"},
        {"POST /x HTTP/1.1\r\n" HOST "Content-Length: 5000000\r\n\r\n", "401 Unauthorized"},
        {"Content-Length: 5000000\r\n\r\n", "more than 1000 bytes"},
    };
    struct server *server = server_start((struct listener_options){.max_body = 1000}, NULL, false);
    char *text = mem_alloc(5000200);
    int fd;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].header);
        memcpy(text, cases[i].header, len);
        memset(text + len, 'b', 5000000);
        fd = dial(server);
        put(fd, text, len + 5000000);
        expect_in(take_all(fd), cases[i].want);
    }
    free(text);
    fd = dial(server);
    char *header = mem_alloc(10001);
    memset(header, 'h', 10000);
    put_text(fd, "GET /x HTTP/1.1\r\n" HOST "X-Long: ");
    put_text(fd, header);
    expect_in(take_all(fd), "431 Request Header");
    free(header);
    server_stop(server);
}

static void the_client_leaves_first(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    int fd = dial(server);
    put_text(fd, "GET /later HTTP/1.1\r\n" HOST BEARER "\r\n");
    wait_for(&server->late, 1);
    struct linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd); /* a reset */
    server_turns(server);
    server_skip(server, LATER_MS);
    expect_in(request(server, "GET /x HTTP/1.1\r\n" HOST BEARER "\r\n"), "GET /x driver");
    server_stop(server);
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The CPU time of the server's thread, as a share of the time that passes: a loop that spins has
 * what share it is given, beside others on a busy machine. */
static void waiting_costs_nothing(void **state)
{
    (void)state;
    clockid_t cpu;
    struct server *server = server_start((struct listener_options){0}, NULL, false);
    assert_int_equal(pthread_getcpuclockid(server->thread, &cpu), 0);
    int64_t used_us = clock_us(cpu), passed_us = clock_us(CLOCK_MONOTONIC);
    for (int i = 0; i < 2; i++) { /* each LATE_MS or more */
        int fd = dial(server);
        put_text(fd, "GET /late HTTP/1.1\r\n" HOST BEARER "\r\n");
        wait_for(&server->late, i + 1);
        if (i)
            put_text(fd, "and more");
        else
            shutdown(fd, SHUT_WR);
        expect_in(take_all(fd), "late");
    }
    used_us = clock_us(cpu) - used_us;
    passed_us = clock_us(CLOCK_MONOTONIC) - passed_us;
    assert_true(used_us * 4 < passed_us);
    server_stop(server);
}

static void limits_are_told(void **state)
{
    (void)state;
    struct server *server =
        server_start((struct listener_options){.max_connections = 2}, NULL, true);
    int first = dial(server), second = dial(server);
    put_text(first, DAP("a", "1"));
    put_text(second, DAP("b", "1"));
    expect(first, DAP("a", "1"));
    expect(second, DAP("b", "1"));
    int fd = dial(server);
    put_text(fd, DAP("c", "1"));
    expect_in(take_all(fd), "--max-sessions");
    expect_in(request(server, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"), "503 Service Unavailable");
    assert_string_equal(server->refused, "the relay has as many connections as it may");
    assert_int_equal(server->opened, 2);
    close(first);
    wait_for(&server->closed, 1);
    expect_in(request(server, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"), "200 OK");
    close(second);
    server_stop(server);
}

static void strangers_are_few(void **state)
{
    (void)state;
    struct server *server =
        server_start((struct listener_options){.max_per_address = 2}, NULL, false);
    int known = dial(server), stranger = dial(server), other;
    put_text(known, AUTH);
    expect(known, AUTH);
    put_text(stranger, DAP("a", "1"));
    expect(stranger, DAP("a", "1"));
    other = dial(server);
    put_text(other, DAP("b", "1"));
    expect(other, DAP("b", "1"));
    expect_in(request(server, "GET /x HTTP/1.1\r\n" HOST BEARER "\r\n"), "429 Too Many");
    int fd = dial(server);
    put_text(fd, AUTH);
    expect_in(take_all(fd), "--max-per-address");
    put_text(stranger, AUTH);
    expect(stranger, AUTH);
    expect_in(request(server, "GET /x HTTP/1.1\r\n" HOST BEARER "\r\n"), "GET /x driver");
    close(known);
    close(stranger);
    close(other);
    server_stop(server);
}

/* Its client has not closed yet: it takes no other's slot. */
static void who_was_refused_takes_no_slot(void **state)
{
    (void)state;
    struct server *server =
        server_start((struct listener_options){.max_per_address = 2}, NULL, false);
    int refused[2], other;
    for (size_t i = 0; i < 2; i++) {
        refused[i] = dial(server);
        put_text(refused[i], "hello\r\n\r\n");
        for (char bytes[256]; recv(refused[i], bytes, sizeof bytes, 0) > 0;)
            continue; /* to the end of what it is told */
    }
    other = dial(server);
    put_text(other, DAP("b", "1"));
    expect(other, DAP("b", "1"));
    for (size_t i = 0; i < 2; i++)
        close(refused[i]);
    close(other);
    server_stop(server);
}

static void strangers_have_little_time(void **state)
{
    (void)state;
    static const struct {
        const char *sent, *got;
    } cases[] = {
        {"", "408 Request Timeout"},
        {"GET / HT", "408 Request Timeout"},
        {"Conte", "408 Request Timeout"},
        {DAP("x", "1"), "the request took too long"},
        {"Content-Length: 5\r\n", "the request took too long"},
        {"POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: 4\r\n\r\nbo", ""},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    struct server *server =
        server_start((struct listener_options){.first_ms = LATER_MS}, NULL, false);
    int fds[CASES], known = dial(server);
    put_text(known, AUTH);
    expect(known, AUTH);
    for (size_t i = 0; i < CASES; i++) {
        fds[i] = dial(server);
        put_text(fds[i], cases[i].sent);
    }
    wait_connections(server, CASES + 1);
    server_turns(server);
    server_skip(server, LATER_MS / 2);
    server_turns(server);
    for (size_t i = 0; i < CASES; i++) {
        char sent_back[64] = "";
        assert_int_not_equal(recv(fds[i], sent_back, sizeof sent_back - 1, MSG_DONTWAIT), 0);
        assert_null(strstr(sent_back, "Timeout"));
        assert_null(strstr(sent_back, "too long"));
    }
    server_skip(server, LATER_MS / 2);
    for (size_t i = 0; i + 1 < CASES; i++)
        expect_in(take_all(fds[i]), cases[i].got);
    close(fds[CASES - 1]); /* its token was right: the time for strangers is not its */
    put_text(known, DAP("still here", "10"));
    expect(known, DAP("still here", "10"));
    close(known);
    server_stop(server);
}

static void the_owner_refuses(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    server->refuse_all = true;
    int fd = dial(server);
    put_text(fd, DAP("x", "1"));
    expect_in(take_all(fd), DAP("no", "2"));
    server_stop(server);
}

static void many_at_once(void **state)
{
    (void)state;
    enum { MANY = 200 };
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    int fds[MANY];
    char text[64];
    for (int i = 0; i < MANY; i++)
        fds[i] = dial(server);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, i % 2 ? DAP("%05d", "5") : "GET /%d HTTP/1.0\r\n" HOST "\r\n",
                 i);
        put_text(fds[i], text);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, i % 2 ? DAP("%05d", "5") : "GET /%d driver", i);
        if (i % 2)
            expect(fds[i], text);
        else
            expect_in(take_all(fds[i]), text);
    }
    wait_connections(server, MANY / 2);
    for (int i = 1; i < MANY; i += 2)
        close(fds[i]);
    wait_for(&server->closed, MANY / 2);
    server_stop(server);
}

static void a_reader_stalls(void **state)
{
    (void)state;
    enum { SIZE = 20000000, HEADER = sizeof "Content-Length: 20000000\r\n\r\n" - 1 };
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    for (int parts = 0; parts < 2; parts++) {
        int fd = dial(server);
        put_text(fd, parts ? DAP("!parts 20000000", "15") : DAP("!big 20000000", "13"));
        wait_for(&server->messages, parts + 1);
        server_turns(server);
        assert_true(server->queued > SIZE / 2);
        assert_int_equal(server->drained, parts);
        expect(fd, "Content-Length: 20000000\r\n\r\n");
        char *text = mem_alloc(SIZE);
        assert_int_equal(take(fd, text, SIZE), SIZE);
        for (size_t i = 0; i < SIZE; i++)
            if (text[i] != (char)('a' + i % 26))
                fail_msg("byte %zu is not what was sent", i);
        free(text);
        wait_for(&server->drained, parts + 1);
        close(fd);
    }
    server_stop(server);
}

static void a_closing_conn_waits_two_seconds(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    int fd = dial(server);
    put_text(fd, DAP("!big 20000000", "13") DAP("!close", "6"));
    wait_for(&server->messages, 2);
    assert_int_equal(server->closed, 0);
    wait_for(&server->closed, 1); /* though nobody has read */
    close(fd);
    server_stop(server);
}

static void reading_stops(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    int fd = dial(server);
    put_text(fd, DAP("!halt", "5") DAP("a", "1") DAP("b", "1"));
    expect(fd, DAP("!halt", "5"));
    put_text(fd, DAP("c", "1"));
    server_turns(server);
    assert_int_equal(server->messages, 1);
    server_skip(server, LATER_MS);
    expect(fd, DAP("a", "1") DAP("b", "1") DAP("c", "1"));
    close(fd);
    server_stop(server);
}

static void a_unix_socket(void **state)
{
    (void)state;
    char address[80], path[64];
    struct stat info;
    struct err err = {0};
    snprintf(path, sizeof path, "/tmp/test-listener-%d.sock", (int)getpid());
    snprintf(address, sizeof address, "unix:%s", path);
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    text_copy(local.sun_path, sizeof local.sun_path, path);
    int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(stale, (struct sockaddr *)&local, sizeof local), 0);
    close(stale); /* as one that was killed leaves it */
    struct server *server = server_start((struct listener_options){0}, address, false);
    assert_string_equal(listener_address(server->listener, 0), address);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    int fd = dial(server);
    put_text(fd, AUTH);
    expect(fd, AUTH);
    close(fd);
    expect_in(request(server, "GET /x HTTP/1.1\r\nHost: whatever\r\n" BEARER "\r\n"),
              "GET /x driver");
    const char *const again[] = {address};
    struct listener_options options = {
        .loop = server->loop, .auth = server->auth, .addresses = again, .address_count = 1};
    assert_null(listener_create(&options, &server_ops, NULL, &err));
    assert_string_equal(err.why, strerror(EADDRINUSE));
    server_stop(server);
    assert_int_equal(stat(path, &info), -1);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    struct loop *loop = loop_create(false, &err);
    struct auth *auth = auth_create_open();
    options.loop = loop;
    options.auth = auth;
    assert_null(listener_create(&options, &server_ops, NULL, &err));
    assert_non_null(strstr(err.hint, "is not a socket"));
    assert_int_equal(unlink(path), 0);
    auth_destroy(&auth);
    loop_destroy(&loop);
}

static void addresses_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *address, *what;
    } cases[] = {{"0.0.0.0:0", "0.0.0.0:"},
                 {"nowhere", "\"nowhere\" is no address to listen on"},
                 {":1", "\":1\" is no address to listen on"},
                 {"unix:", "the relay cannot listen on unix:"},
                 {"unix:/nonexistent/x", "the relay cannot listen on unix:/nonexistent/x"}};
    struct err err = {0};
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    struct listener_options options = {
        .loop = server->loop, .auth = server->auth, .address_count = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options.addresses = &cases[i].address;
        assert_null(listener_create(&options, &server_ops, NULL, &err));
        assert_true(text_starts(err.what, cases[i].what));
    }
    const char *taken = listener_address(server->listener, 0);
    options.addresses = &taken;
    assert_null(listener_create(&options, &server_ops, NULL, &err));
    assert_string_equal(err.why, strerror(EADDRINUSE));
    assert_non_null(strstr(err.hint, "ss -ltnp"));
    server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dap_comes_back),
        cmocka_unit_test(a_token_is_to_come),
        cmocka_unit_test(nonsense_ends),
        cmocka_unit_test(half_closed),
        cmocka_unit_test(only_its_own_names_are_hosts),
        cmocka_unit_test(http_is_answered),
        cmocka_unit_test(an_answer_is_sent_at_the_end),
        cmocka_unit_test(a_body_is_too_long),
        cmocka_unit_test(the_client_leaves_first),
        cmocka_unit_test(waiting_costs_nothing),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(strangers_are_few),
        cmocka_unit_test(who_was_refused_takes_no_slot),
        cmocka_unit_test(strangers_have_little_time),
        cmocka_unit_test(the_owner_refuses),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(a_reader_stalls),
        cmocka_unit_test(a_closing_conn_waits_two_seconds),
        cmocka_unit_test(reading_stops),
        cmocka_unit_test(a_unix_socket),
        cmocka_unit_test(addresses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
