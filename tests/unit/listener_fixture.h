/* A listener on a thread of its own, and clients on plain blocking sockets. What the server does
 * with a message is said in it; see on_message(). */
#ifndef RAYDBG_TESTS_LISTENER_FIXTURE_H
#define RAYDBG_TESTS_LISTENER_FIXTURE_H

#include "cmocka_prelude.h"
#include "waits.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/port/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef-driver"
#define OBSERVER_TOKEN "0123456789abcdef-observer"
#define BEARER "Authorization: Bearer " TOKEN "\r\n"
#define HOST "Host: localhost\r\n"
#define DAP(text, length) "Content-Length: " length "\r\n\r\n" text

/* WAIT_MS: only a hang takes so long. LATER_MS: nothing takes so long, the clock skips it. */
enum { WAIT_MS = 60000, LATE_MS = 200, LATER_MS = 3600000 };

struct server {
    struct loop *loop;
    struct auth *auth;
    struct listener *listener;
    pthread_t thread;
    pthread_mutex_t lock; /* of the texts */
    char broken[200], refused[200], role[20];
    atomic_int opened, closed, drained, messages, late;
    atomic_size_t queued;
    struct conn *halted;
    struct timer *resume;
    bool refuse_all; /* on_open gives NULL */
};

struct client {
    struct server *server;
    struct conn *conn;
};

static inline void note(struct server *server, char *where, size_t size, const char *text)
{
    pthread_mutex_lock(&server->lock);
    text_copy(where, size, text);
    pthread_mutex_unlock(&server->lock);
}

static inline void *on_open(void *arg, struct conn *conn, enum conn_kind kind, enum auth_role role)
{
    struct server *server = arg;
    if (server->refuse_all) {
        conn_send(conn, "no", 2);
        return NULL;
    }
    struct client *client = mem_alloc(sizeof *client);
    *client = (struct client){server, conn};
    note(server, server->role, sizeof server->role, auth_role_name(role));
    if (kind == CONN_EVENTS)
        conn_send(conn, "hello", 5);
    server->opened++;
    return client;
}

static inline void send_big(struct conn *conn, size_t total, bool parts)
{
    enum { PART = 100000 };
    char *text = mem_alloc(total + 1);
    for (size_t i = 0; i < total; i++)
        text[i] = (char)('a' + i % 26);
    if (parts)
        conn_send_begin(conn, total);
    else
        conn_send(conn, text, total);
    for (size_t at = 0; parts && at < total; at += PART)
        conn_send_part(conn, text + at, total - at < PART ? total - at : PART);
    free(text);
}

static inline void resume_reading(void *arg)
{
    struct server *server = arg;
    server->resume = NULL;
    conn_read_enable(server->halted, true);
}

/* "!auth", "!close", "!big N", "!parts N", "!excess", "!halt" (reads on after LATER_MS); all
 * else is sent back. */
static inline void on_message(void *user, const char *json, size_t len)
{
    struct client *client = user;
    struct server *server = client->server;
    if (text_starts(json, "!auth")) {
        conn_authenticate(client->conn, AUTH_DRIVER);
    } else if (text_starts(json, "!big ") || text_starts(json, "!parts ")) {
        send_big(client->conn, strtoul(strchr(json, ' '), NULL, 10), json[1] == 'p');
        server->queued = conn_queued(client->conn);
        server->messages++;
        return;
    } else if (text_starts(json, "!excess")) {
        conn_send_begin(client->conn, 3);
        conn_send_part(client->conn, "abcdef", 6);
        server->messages++;
        return;
    } else if (text_starts(json, "!halt")) {
        conn_read_enable(client->conn, false);
        server->halted = client->conn;
        server->resume = timer_start(server->loop, LATER_MS, resume_reading, server);
    }
    conn_send(client->conn, json, len);
    if (text_starts(json, "!close"))
        conn_close(client->conn);
    server->messages++;
}

static inline void on_broken(void *user, const char *problem)
{
    struct client *client = user;
    note(client->server, client->server->broken, sizeof client->server->broken, problem);
}

static inline void on_drain(void *user)
{
    struct client *client = user;
    assert_int_equal(conn_queued(client->conn), 0);
    client->server->drained++;
}

static inline void on_close(void *user)
{
    struct client *client = user;
    struct server *server = client->server;
    if (server->halted == client->conn) {
        server->halted = NULL;
        timer_cancel(&server->resume);
    }
    free(client);
    server->closed++;
}

static inline void answer_late(void *arg)
{
    http_call_answer(arg, 200, "text/plain", "late", 4);
}

/* "METHOD PATH ROLE BODY"; /late answers after LATE_MS, /later after LATER_MS, /big with 3 MB, and
 * /last ends the loop. */
static inline void on_http(void *arg, struct http_call *call)
{
    struct server *server = arg;
    size_t len;
    const char *body = http_call_body(call, &len);
    struct buf text = {0};
    if (text_starts(http_call_path(call), "/late")) {
        bool later = text_equal(http_call_path(call), "/later");
        timer_start(server->loop, later ? LATER_MS : LATE_MS, answer_late, call);
        server->late++;
        return;
    }
    if (text_equal(http_call_path(call), "/last")) {
        loop_stop(server->loop);
        server->late++;
    }
    buf_printf(&text, "%s %s %s %.*s", http_call_method(call), http_call_path(call),
               auth_role_name(http_call_role(call)), (int)len, body);
    if (text_equal(http_call_path(call), "/big"))
        while (text.len < 3000000)
            buf_add_string(&text, "0123456789");
    http_call_answer(call, 200, "text/plain", text.data, text.len);
    buf_free(&text);
}

static inline void on_refused(void *arg, const char *peer, const char *why)
{
    struct server *server = arg;
    assert_non_null(peer);
    note(server, server->refused, sizeof server->refused, why);
}

static inline void *run_server(void *arg)
{
    loop_run(((struct server *)arg)->loop);
    return NULL;
}

static const struct listener_ops server_ops = {
    .on_open = on_open,
    .on_message = on_message,
    .on_broken = on_broken,
    .on_drain = on_drain,
    .on_close = on_close,
    .on_http = on_http,
    .on_refused = on_refused,
};

static inline struct auth *test_auth(void)
{
    struct err err;
    setenv("RAYDBG_TOKEN", TOKEN, 1);
    setenv("RAYDBG_OBSERVER_TOKEN", OBSERVER_TOKEN, 1);
    struct auth *auth = auth_create(&(struct auth_options){0}, &err);
    assert_non_null(auth);
    return auth;
}

/* `options` has what is not usual; `address` NULL for any free port of 127.0.0.1. */
static inline struct server *server_start(struct listener_options options, const char *address,
                                          bool open)
{
    struct server *server = mem_alloc(sizeof *server);
    struct err err = {0};
    const char *addresses[] = {address ? address : "127.0.0.1:0"};
    pthread_mutex_init(&server->lock, NULL);
    server->loop = loop_create(options.tls_cert != NULL, &err);
    server->auth = open ? auth_create_open() : test_auth();
    options.loop = server->loop;
    options.auth = server->auth;
    options.addresses = addresses;
    options.address_count = 1;
    server->listener = listener_create(&options, &server_ops, server, &err);
    if (!server->listener)
        fail_msg("%s: %s", err.what, err.why);
    assert_int_equal(pthread_create(&server->thread, NULL, run_server, server), 0);
    return server;
}

static inline void stop_loop(void *arg)
{
    loop_stop(arg);
}

static inline void server_stop(struct server *server)
{
    loop_post(server->loop, stop_loop, server->loop);
    pthread_join(server->thread, NULL);
    listener_destroy(&server->listener);
    assert_int_equal(server->opened, server->closed);
    timer_cancel(&server->resume);
    loop_destroy(&server->loop);
    auth_destroy(&server->auth);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

static inline void wait_for(const atomic_int *counter, int value)
{
    WAIT_UNTIL(*counter >= value);
    assert_int_equal(*counter, value);
}

/* A socket is closed before its connection is forgotten. */
static inline void wait_connections(const struct server *server, size_t count)
{
    WAIT_UNTIL(listener_connections(server->listener) == count);
}

struct server_call {
    struct loop *loop;
    int64_t skip_ms;
    sem_t done;
};

static inline void run_call(void *arg)
{
    struct server_call *call = arg;
    if (call->skip_ms)
        loop_skip(call->loop, call->skip_ms);
    sem_post(&call->done);
}

/* Lets the server's clock skip so long; 0: only waits for a turn of its loop. */
static inline void server_skip(struct server *server, int64_t ms)
{
    struct server_call call = {.loop = server->loop, .skip_ms = ms};
    sem_init(&call.done, 0, 0);
    loop_post(server->loop, run_call, &call);
    while (sem_wait(&call.done) != 0)
        continue;
    sem_destroy(&call.done);
}

/* A fence: accepting, reading and handling what came before take a turn of the loop each. */
static inline void server_turns(struct server *server)
{
    for (int i = 0; i < 5; i++)
        server_skip(server, 0);
}

/* --- clients --- */

static inline int dial_to(const char *address)
{
    struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    int fd, rc;
    if (text_starts(address, "unix:")) {
        struct sockaddr_un local = {.sun_family = AF_UNIX};
        text_copy(local.sun_path, sizeof local.sun_path, address + 5);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        rc = connect(fd, (struct sockaddr *)&local, sizeof local);
    } else {
        struct sockaddr_in in = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        fd = socket(AF_INET, SOCK_STREAM, 0);
        rc = connect(fd, (struct sockaddr *)&in, sizeof in);
    }
    assert_int_equal(rc, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return fd;
}

static inline int dial(const struct server *server)
{
    return dial_to(listener_address(server->listener, 0));
}

static inline void put(int fd, const void *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t sent = send(fd, (const char *)bytes + at, len - at, MSG_NOSIGNAL);
        assert_true(sent > 0);
        at += (size_t)sent;
    }
}

static inline void put_text(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

/* The server reads each byte by itself. */
static inline void put_slowly(struct server *server, int fd, const char *text)
{
    for (; *text; text++) {
        put(fd, text, 1);
        server_turns(server);
    }
}

/* Exactly `len` bytes, or fewer if the peer closes; -1 for a reset. */
static inline ssize_t take(int fd, void *out, size_t len)
{
    size_t at = 0;
    while (at < len) {
        ssize_t got = recv(fd, (char *)out + at, len - at, 0);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            fail_msg("nothing came within %d ms", WAIT_MS);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        at += (size_t)got;
    }
    return (ssize_t)at;
}

static inline void expect(int fd, const char *text)
{
    char got[4096];
    size_t len = strlen(text);
    assert_true(len < sizeof got);
    ssize_t n = take(fd, got, len);
    got[n > 0 ? n : 0] = '\0';
    assert_string_equal(got, text);
}

/* All until the peer closes, which must be in order. Closes. */
static inline char *take_all(int fd)
{
    struct buf all = {0};
    for (;;) {
        char *to = buf_reserve(&all, 65536);
        ssize_t got = recv(fd, to, 65536, 0);
        if (got < 0)
            fail_msg("after %zu bytes: %s", all.len, strerror(errno));
        if (got == 0)
            break;
        all.len += (size_t)got;
    }
    close(fd);
    return buf_take(&all);
}

static inline void expect_in(char *all, const char *needle)
{
    const char *text = all ? all : "";
    if (!strstr(text, needle))
        fail_msg("no \"%s\" in \"%.600s\"", needle, text);
    free(all);
}

static inline void expect_end(int fd)
{
    expect_in(take_all(fd), "");
}

#endif
