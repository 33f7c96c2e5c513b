/* A server on a loopback port that answers each connection with the same bytes, whatever they are,
 * and a libwebsockets context for the client. */
#ifndef RAYDBG_TESTS_HTTP_SERVER_H
#define RAYDBG_TESTS_HTTP_SERVER_H

#include "cmocka_prelude.h"
#include "waits.h"

#include <libwebsockets.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum http_after {
    HTTP_CLOSE, /* closes when all is sent */
    HTTP_HOLD,  /* waits for the client to close */
    HTTP_DRIP,  /* sends a byte each 20 ms, then closes */
    HTTP_FLOOD, /* sends the same again and again, behind the head, until the client closes */
};

struct http_server {
    const char *head, *body; /* borrowed */
    enum http_after after;
    uint16_t port;
    int listener;
    pthread_t thread;
    atomic_int connections;
    char request[16384]; /* the last one; to be read when its answer is there */
};

static inline bool http_server_send(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static inline void http_server_drip(int fd, const char *bytes)
{
    for (; *bytes; bytes++) {
        if (!http_server_send(fd, bytes, 1))
            return;
        settle_us(20000);
    }
}

static inline void http_server_answer(struct http_server *server, int fd)
{
    char rest[256];
    size_t len = 0;
    while (len < sizeof server->request - 1 && !strstr(server->request, "\r\n\r\n")) {
        ssize_t got = recv(fd, server->request + len, sizeof server->request - 1 - len, 0);
        if (got <= 0)
            return;
        len += (size_t)got;
        server->request[len] = '\0';
    }
    if (server->after == HTTP_DRIP) {
        http_server_drip(fd, server->head);
        http_server_drip(fd, server->body);
        return;
    }
    http_server_send(fd, server->head, strlen(server->head));
    do {
        if (!http_server_send(fd, server->body, strlen(server->body)))
            return;
    } while (server->after == HTTP_FLOOD);
    while (server->after == HTTP_HOLD && recv(fd, rest, sizeof rest, 0) > 0)
        continue;
}

static inline void *http_server_run(void *arg)
{
    struct http_server *server = arg;
    for (;;) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        server->connections++;
        memset(server->request, 0, sizeof server->request);
        http_server_answer(server, fd);
        shutdown(fd, SHUT_WR);
        close(fd);
    }
}

/* Gives a socket that is bound to a free port. */
static inline int http_server_bind(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static inline void http_server_start(struct http_server *server)
{
    server->listener = http_server_bind(&server->port);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, http_server_run, server), 0);
}

/* After the clients are gone. */
static inline void http_server_stop(struct http_server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

static inline struct lws_context *http_client_context(void)
{
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
    };
    lws_set_log_level(0, NULL);
    struct lws_context *context = lws_create_context(&info);
    assert_non_null(context);
    return context;
}

#endif
