/* A client's bytes on the relay's port, from the first one on. An input's first byte says what
 * comes before it (nothing, a request's header, a WebSocket handshake, each with the token), the
 * second how many bytes are sent at once. */
#include "fuzz.h"

#include "base/mem.h"
#include "relay/port/listener.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef"
#define HEADER "Host: localhost\r\nAuthorization: Bearer " TOKEN "\r\n"
#define HANDSHAKE                                                                                  \
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

enum { MAX_BODY = 3000, MAX_STRANGER = 600, PATIENCE_TURNS = 3000 };

static const char *const starts[] = {
    "",
    "GET /dap HTTP/1.1\r\n" HEADER HANDSHAKE,
    "GET /events HTTP/1.1\r\n" HEADER HANDSHAKE,
    "POST /v1/x HTTP/1.1\r\n" HEADER,
    "GET /v1/x?",
    "Content-Length: 4\r\n\r\nauthContent-",
};

static struct loop *loop;
static struct auth *auth;
static struct listener *listener;
static char address[64];
static int opened, closed, asked;

static void *on_open(void *arg, struct conn *conn, enum conn_kind kind, enum auth_role role)
{
    (void)arg, (void)kind, (void)role;
    opened++;
    return conn;
}

static void on_message(void *user, const char *json, size_t len)
{
    if (len > MAX_BODY || json[len] != '\0')
        abort();
    if (len == 4 && memcmp(json, "auth", 4) == 0)
        conn_authenticate(user, AUTH_DRIVER);
    if (len && json[0] == 'c')
        conn_close(user);
    conn_send(user, json, len);
}

static void on_broken(void *user, const char *problem)
{
    if (!problem[0])
        abort();
    if (problem[0] & 1)
        conn_send(user, problem, strlen(problem));
}

static void on_drain(void *user)
{
    if (conn_queued(user))
        abort();
}

static void on_close(void *user)
{
    (void)user;
    closed++;
}

/* Nobody gets here without the token, and never with too much. */
static void on_http(void *arg, struct http_call *call)
{
    (void)arg;
    size_t len;
    http_call_body(call, &len);
    if (http_call_role(call) != AUTH_DRIVER || len > MAX_BODY || http_call_path(call)[0] != '/')
        abort();
    asked++;
    http_call_answer(call, 200, "text/plain", "ok", 2);
}

static void on_refused(void *arg, const char *peer, const char *why)
{
    (void)arg;
    if (!peer[0] || !why[0])
        abort();
}

static const struct listener_ops ops = {.on_open = on_open,
                                        .on_message = on_message,
                                        .on_broken = on_broken,
                                        .on_drain = on_drain,
                                        .on_close = on_close,
                                        .on_http = on_http,
                                        .on_refused = on_refused};

static void stop(void)
{
    listener_destroy(&listener);
    loop_destroy(&loop);
    auth_destroy(&auth);
}

static void start(void)
{
    struct err err = {0};
    const char *const addresses[] = {address};
    setenv("RAYDBG_TOKEN", TOKEN, 1);
    setenv("HOME", "/nonexistent", 1);
    snprintf(address, sizeof address, "unix:/tmp/fuzz-listener-%d.sock", (int)getpid());
    loop = loop_create(false, &err);
    auth = auth_create(&(struct auth_options){0}, &err);
    struct listener_options options = {.loop = loop,
                                       .auth = auth,
                                       .addresses = addresses,
                                       .address_count = 1,
                                       .max_body = MAX_BODY,
                                       .max_unauthenticated = MAX_STRANGER,
                                       .first_ms = 1000};
    listener = loop && auth ? listener_create(&options, &ops, NULL, &err) : NULL;
    if (!listener) {
        fprintf(stderr, "%s: %s\n", err.what, err.why);
        abort();
    }
    atexit(stop);
}

static int dial(void)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    memcpy(local.sun_path, address + 5, strlen(address + 5));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&local, sizeof local) != 0)
        abort();
    return fd;
}

static void turn(int fd)
{
    char bytes[4096];
    loop_run_once(loop, 0);
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
}

static void put(int fd, const uint8_t *bytes, size_t len, size_t step)
{
    while (len) {
        ssize_t sent = send(fd, bytes, len < step ? len : step, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return;
        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        }
        turn(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!listener)
        start();
    if (size < 2)
        return 0;
    const char *first = starts[data[0] % (sizeof starts / sizeof *starts)];
    size_t step = data[1] ? data[1] : SIZE_MAX;
    int fd = dial();
    put(fd, (const uint8_t *)first, strlen(first), SIZE_MAX);
    put(fd, data + 2, size - 2, size > 2000 ? SIZE_MAX : step);
    turn(fd);
    shutdown(fd, SHUT_WR);
    turn(fd);
    close(fd);
    for (int i = 0; i < PATIENCE_TURNS && listener_connections(listener); i++)
        loop_run_once(loop, 1);
    if (listener_connections(listener) || opened != closed)
        abort();
    return 0;
}
