/* gRPC calls to servers that are not there, are no gRPC servers, or say nothing; and what the user
 * reads of it. */
#include "cmocka_prelude.h"
#include "post_queue.h"
#include "waits.h"

#include "base/text.h"
#include "proto/rpc.h"
#include "proto/rpc_error.h"
#include "proto/rpc_target.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DEADLINE_EXCEEDED = 4, UNAVAILABLE = 14 };

static const char method[] = "/ray.rpc.NodeInfoGcsService/GetAllNodeInfo";

/* --- a server that answers every connection with the same bytes, and then closes or waits --- */

struct server {
    pthread_t thread;
    int listener;
    char address[32];
    const char *bytes; /* NULL: none, and the connection stays open */
    bool once;         /* only the first connection gets the bytes */
    int connections;
};

static void *serve(void *arg)
{
    struct server *server = arg;
    int open[16];
    int count = 0;
    for (;;) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            break;
        char preface[256];
        bool speaks = server->bytes && (count == 0 || !server->once);
        if (speaks && recv(fd, preface, sizeof preface, 0) >= 0 &&
            send(fd, server->bytes, strlen(server->bytes), MSG_NOSIGNAL) >= 0)
            shutdown(fd, SHUT_WR);
        __atomic_add_fetch(&server->connections, 1, __ATOMIC_RELAXED);
        if (count < 16)
            open[count++] = fd;
        else
            close(fd);
    }
    while (count)
        close(open[--count]);
    return NULL;
}

static void server_start(struct server *server, const char *bytes)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    *server = (struct server){.bytes = bytes};
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&name, size), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&name, &size), 0);
    snprintf(server->address, sizeof server->address, "127.0.0.1:%d", ntohs(name.sin_port));
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server)
{
    shutdown(server->listener, SHUT_RDWR); /* ends accept() */
    pthread_join(server->thread, NULL);
    close(server->listener);
}

/* --- calls --- */

static struct post_queue queue = POST_QUEUE_INIT;
static struct rpc *rpc;
static int answers;
static int last_status;
static struct err last;

static int set_up(void **state)
{
    (void)state;
    struct rpc_options options = {.post = post_queue_add, .post_context = &queue};
    rpc = rpc_create(&options);
    answers = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rpc_destroy(&rpc);
    post_queue_drain(&queue);
    return 0;
}

static void on_reply(void *arg, const struct rpc_reply *reply)
{
    assert_ptr_equal(arg, &answers);
    assert_non_null(reply->err);
    assert_null(reply->bytes);
    last = *reply->err;
    last_status = reply->status;
    answers++;
}

static void call_and_wait(const char *address, int64_t deadline_ms)
{
    int before = answers;
    rpc_call(rpc_channel(rpc, address), method, NULL, 0, deadline_ms, on_reply, &answers);
    assert_int_equal(answers, before); /* never from within the call */
    assert_true(post_queue_run_until(&queue, &answers, before + 1));
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void expect_words(const char *line, const char *words)
{
    if (!strstr(line, words))
        fail_msg("\"%s\" is not in \"%s\"", words, line);
}

static void nothing_listens(void **state)
{
    (void)state;
    static const char address[] = "127.0.0.1:1";
    for (int i = 0; i < 3; i++)
        call_and_wait(address, 60000);
    assert_int_equal(last_status, UNAVAILABLE);
    assert_int_equal(last.code, ERR_UNREACHABLE);
    expect_words(last.what, address);
    assert_string_equal(last.why, "connection refused");
}

static void a_name_is_resolved(void **state)
{
    (void)state;
    struct server server;
    char address[64];
    server_start(&server, NULL);
    server_stop(&server);
    snprintf(address, sizeof address, "localhost%s", strchr(server.address, ':'));
    call_and_wait(address, 5000);
    expect_words(last.what, address);
    assert_string_equal(last.why, "connection refused");
}

static void garbage(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, "garbage garbage garbage garbage garbage garbage");
    call_and_wait(server.address, 5000);
    assert_int_equal(last.code, ERR_UNREACHABLE);
    expect_words(last.what, "does not speak gRPC");
    expect_words(last.what, server.address);
    server_stop(&server);
}

static void an_http_server(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    call_and_wait(server.address, 5000);
    expect_words(last.what, "HTTP server");
    expect_words(last.hint, "http://");
    server_stop(&server);
}

static void closed_at_once(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, "");
    call_and_wait(server.address, 5000);
    expect_words(last.what, "closed the connection at once");
    expect_words(last.hint, "RAY_USE_TLS=1");
    server_stop(&server);
}

/* A late connection is given up, so that a peer that vanished is reached again when it is back. */
static void silence_ends_at_the_deadline(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, NULL);
    double start = now_ms();
    call_and_wait(server.address, 200);
    WAIT_UNTIL(__atomic_load_n(&server.connections, __ATOMIC_RELAXED) == 1);
    for (int i = 0; i < 2; i++)
        call_and_wait(server.address, 200);
    assert_true(now_ms() - start >= 500);
    assert_int_equal(last.code, ERR_UNREACHABLE);
    expect_words(last.what, "no answer");
    expect_words(last.what, "0.2 s");
    WAIT_UNTIL(__atomic_load_n(&server.connections, __ATOMIC_RELAXED) == 2);
    server_stop(&server);
}

static int late, rest;

static void on_ended(void *arg, const struct rpc_reply *reply)
{
    on_reply(arg, reply);
    if (reply->status == DEADLINE_EXCEEDED)
        late++;
    else
        rest++;
}

/* Makes one call more than the bulk calls that are sent at once, and waits for their ends. The last
 * call has a short deadline. */
static void bulk_calls_and_wait(const struct server *server, int64_t deadline_ms)
{
    struct rpc_channel *channel = rpc_channel(rpc, server->address);
    late = rest = 0;
    for (int i = 0; i < RPC_BULK_CALLS + 1; i++)
        rpc_bulk_call(channel, method, NULL, 0, i < RPC_BULK_CALLS ? deadline_ms : 300, on_ended,
                      &answers);
    assert_true(post_queue_run_until(&queue, &answers, RPC_BULK_CALLS + 1));
}

/* All calls of one stall miss one deadline: the last call, sent after the first miss, gets its own
 * time. */
static void one_stall_is_one_missed_deadline(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, NULL);
    bulk_calls_and_wait(&server, 300);
    assert_int_equal(late, RPC_BULK_CALLS + 1);
    assert_true(__atomic_load_n(&server.connections, __ATOMIC_RELAXED) <= 1);
    server_stop(&server);
}

/* The last call is sent on a second connection while the other calls of the first still come back;
 * and a peer that never answered is not called busy. */
static void a_failed_connection_does_not_end_the_next(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, "");
    server.once = true;
    bulk_calls_and_wait(&server, 60000);
    assert_int_equal(rest, RPC_BULK_CALLS);
    assert_int_equal(late, 1);
    assert_string_equal(last.why, "");
    server_stop(&server);
}

static void what_is_no_address(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "foo", "foo:", "foo:0", "foo:99999", ":6379", "::1:6379"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        call_and_wait(bad[i], 1000);
        assert_int_equal(last.code, ERR_USAGE);
    }
}

static void channels_are_reused(void **state)
{
    (void)state;
    struct rpc_channel *first = rpc_channel(rpc, "127.0.0.1:1");
    assert_ptr_not_equal(rpc_channel(rpc, "127.0.0.1:2"), first);
    assert_ptr_equal(rpc_channel(rpc, "127.0.0.1:1"), first);
}

static void a_refusal_comes_later(void **state)
{
    (void)state;
    struct err err;
    err_set(&err, ERR_USAGE, "no");
    rpc_refuse(rpc, &err, on_reply, &answers);
    assert_int_equal(answers, 0);
    assert_true(post_queue_run_until(&queue, &answers, 1));
    assert_string_equal(last.what, "no");
}

/* --- the end --- */

static void destroying_answers_what_is_in_flight(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, NULL);
    for (int i = 0; i < 5; i++)
        rpc_call(rpc_channel(rpc, server.address), method, NULL, 0, 60000, on_reply, &answers);
    double start = now_ms();
    rpc_destroy(&rpc);
    assert_true(now_ms() - start < 30000); /* they had 60 s */
    assert_null(rpc);
    assert_int_equal(answers, 5);
    post_queue_drain(&queue); /* what was posted finds nothing to do */
    assert_int_equal(answers, 5);
    server_stop(&server);
}

static void call_again(void *arg, const struct rpc_reply *reply)
{
    on_reply(&answers, reply);
    if (answers < 3)
        rpc_call(arg, method, NULL, 0, 60000, call_again, arg);
}

static void a_callback_may_call_while_it_ends(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, NULL);
    struct rpc_channel *channel = rpc_channel(rpc, server.address);
    rpc_call(channel, method, NULL, 0, 60000, call_again, channel);
    rpc_destroy(&rpc);
    assert_int_equal(answers, 3);
    server_stop(&server);
}

static void destroy_now(void *arg, const struct rpc_reply *reply)
{
    on_reply(arg, reply);
    rpc_destroy(&rpc);
}

static void a_callback_may_destroy(void **state)
{
    (void)state;
    struct err err;
    err_set(&err, ERR_USAGE, "no");
    rpc_refuse(rpc, &err, destroy_now, &answers);
    rpc_refuse(rpc, &err, on_reply, &answers);
    assert_true(post_queue_run_until(&queue, &answers, 2));
    assert_null(rpc);
}

/* --- words --- */

static void addresses_become_targets(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"10.0.0.7:6379", "ipv4:10.0.0.7:6379"},
        {"[::1]:6379", "ipv6:%5B::1%5D:6379"},
        {"head:6379", "dns:///head:6379"},
        {"ray.example.org:80", "dns:///ray.example.org:80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *target = rpc_target(cases[i][0]);
        assert_non_null(target);
        assert_string_equal(target, cases[i][1]);
        free(target);
    }
    assert_null(rpc_target("head"));
    assert_null(rpc_target(""));
}

static struct err explain(int status, const char *details, bool tls, bool answered,
                          const char *token)
{
    struct credentials credentials = {.token = (char *)(uintptr_t)token,
                                      .token_source = "/home/x/.ray/auth_token",
                                      .use_tls = tls};
    struct rpc_failure failure = {.status = status,
                                  .details = details,
                                  .address = "10.0.0.7:6379",
                                  .answered = answered,
                                  .deadline_ms = 5000,
                                  .max_reply = 256 << 20,
                                  .credentials = &credentials};
    struct err err = {0};
    rpc_error(&failure, &err);
    return err;
}

/* The details are those of grpc 1.51 and Ray 2.60. */
static void explains_what_servers_say(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *details;
        bool tls, answered;
        enum err_code code;
        const char *words; /* somewhere in the three lines */
    } cases[] = {
        {14,
         "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:6379: Failed to "
         "connect to remote host: Connection refused",
         false, true, ERR_UNREACHABLE, "cannot reach 10.0.0.7:6379: connection refused"},
        {14,
         "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:6379: No route "
         "to host",
         false, false, ERR_UNREACHABLE, "cannot reach 10.0.0.7:6379: no route to host"},
        {14, "DNS resolution failed for 10.0.0.7:6379: UNKNOWN: Name or service not known", false,
         false, ERR_UNREACHABLE, "name or service not known"},
        {14,
         "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:10.0.0.7:6379: "
         "Socket closed",
         true, false, ERR_UNREACHABLE, "unset RAY_USE_TLS"},
        {14, "Socket closed", false, true, ERR_UNREACHABLE, "may have ended"},
        {14,
         "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:6379: Ssl "
         "handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify "
         "failed",
         true, false, ERR_DENIED, "RAY_TLS_CA_CERT"},
        {14, "Tls handshake failed (TSI_PROTOCOL_FAILURE): CERTIFICATE_VERIFY_FAILED", true, false,
         ERR_DENIED, "RAY_TLS_CA_CERT"},
        {14,
         "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:6379: Ssl "
         "handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number",
         true, false, ERR_UNREACHABLE, "does not speak TLS"},
        {14, "empty address list: ", true, false, ERR_DENIED, "no valid PEM"},
        /* Seen with either status, when another call of the channel has failed first. */
        {14, "Channel Destroyed", false, false, ERR_UNREACHABLE, "cannot reach 10.0.0.7:6379"},
        {2, "Channel Destroyed", false, false, ERR_UNREACHABLE, "cannot reach 10.0.0.7:6379"},
        {8, "Received message larger than max (300 vs. 200)", false, true, ERR_FAILED, "256 MiB"},
        {4, "Deadline Exceeded", false, true, ERR_UNREACHABLE, "within 5.0 s"},
        {12, "Received http2 header with status: 404", false, false, ERR_UNREACHABLE,
         "does not speak gRPC"},
        {12, "", false, true, ERR_FAILED, "does not know this call"},
        {13, "Unable to parse request", false, true, ERR_FAILED, "unable to parse request"},
        {2, "a\x1b[2Jb", false, true, ERR_FAILED, "a?[2Jb"},
        {0, "", false, true, ERR_FAILED, "answered with an error"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[2048];
        struct err err =
            explain(cases[i].status, cases[i].details, cases[i].tls, cases[i].answered, NULL);
        err_line(&err, line, sizeof line);
        assert_int_equal(err.code, cases[i].code);
        expect_words(line, cases[i].words);
    }
}

static void explains_tokens(void **state)
{
    (void)state;
    static const char details[] = "InvalidAuthToken: Authentication token is missing or incorrect";
    struct err err = explain(16, details, false, false, NULL);
    assert_int_equal(err.code, ERR_DENIED);
    expect_words(err.why, "none was found");
    expect_words(err.why, "RAY_AUTH_TOKEN_PATH");
    err = explain(16, details, false, false, "s3cret");
    assert_int_equal(err.code, ERR_DENIED);
    expect_words(err.why, "/home/x/.ray/auth_token");
    char line[2048];
    err_line(&err, line, sizeof line);
    assert_null(strstr(line, "s3cret"));
}

#define WITH_RPC(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RPC(nothing_listens),
        WITH_RPC(a_name_is_resolved),
        WITH_RPC(garbage),
        WITH_RPC(an_http_server),
        WITH_RPC(closed_at_once),
        WITH_RPC(silence_ends_at_the_deadline),
        WITH_RPC(one_stall_is_one_missed_deadline),
        WITH_RPC(a_failed_connection_does_not_end_the_next),
        WITH_RPC(what_is_no_address),
        WITH_RPC(channels_are_reused),
        WITH_RPC(a_refusal_comes_later),
        WITH_RPC(destroying_answers_what_is_in_flight),
        WITH_RPC(a_callback_may_call_while_it_ends),
        WITH_RPC(a_callback_may_destroy),
        cmocka_unit_test(addresses_become_targets),
        cmocka_unit_test(explains_what_servers_say),
        cmocka_unit_test(explains_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
