/* A tunnel between two real sockets, and bytes that are checked on their way through it. */
#ifndef RAYDBG_TESTS_TUNNEL_FIXTURE_H
#define RAYDBG_TESTS_TUNNEL_FIXTURE_H

#include "base/buf.h"
#include "base/text.h"
#include "relay/server/tunnel.h"
#include "tcp_peer.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { WAIT_MS = 60000, MIB = 1024 * 1024 };

#define OWN "9007199254740991"

struct fixture {
    struct loop *loop;
    struct tunnels *tunnels;
    int listener; /* the adapter's */
    unsigned short adapter_port, port;
    bool ended;
};

static inline void on_end(void *arg)
{
    struct fixture *it = arg;
    it->ended = true;
}

static inline struct tunnels *create(struct fixture *it, const char *address, bool tune, size_t max,
                                     struct err *err)
{
    const char *const addresses[] = {address};
    struct tunnels_options options = {
        .loop = it->loop,
        .addresses = addresses,
        .address_count = 1,
        .host = "127.0.0.1",
        .port = it->adapter_port,
        .tune = tune,
        .max_connections = max,
    };
    return tunnels_create(&options, on_end, it, err);
}

static inline void set_up(struct fixture *it, bool tune)
{
    char host[64];
    struct err err = {0};
    *it = (struct fixture){0};
    it->loop = loop_create(false, NULL);
    it->listener = tcp_peer_listen(&it->adapter_port);
    fcntl(it->listener, F_SETFL, O_NONBLOCK);
    it->tunnels = create(it, "127.0.0.1:0", tune, 0, &err);
    if (!it->tunnels)
        fail_msg("%s: %s", err.what, err.why);
    assert_true(
        text_split_host_port(tunnels_address(it->tunnels, 0), host, sizeof host, &it->port));
    assert_string_equal(host, "127.0.0.1");
    assert_null(tunnels_address(it->tunnels, 1));
}

static inline void tear_down(struct fixture *it)
{
    tunnels_destroy(&it->tunnels);
    loop_run_once(it->loop, 0);
    loop_destroy(&it->loop);
    if (it->listener >= 0)
        close(it->listener);
}

static inline void turn(struct fixture *it)
{
    loop_run_once(it->loop, 2);
}

/* However busy the machine is, the loop turns as often as on one that is not. */
static inline void run(struct fixture *it, int64_t ms)
{
    int64_t until = loop_now_us() + ms * 1000;
    for (int64_t turns = 0; turns < ms / 2 || loop_now_us() < until; turns++)
        turn(it);
}

/* A client, and its connection at the adapter's; both do not block. */
struct pair {
    int client, adapter;
};

static inline int accept_one(struct fixture *it)
{
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; loop_now_us() < until; turn(it)) {
        int fd = accept4(it->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    fail_msg("nobody dialed the adapter");
    return -1;
}

static inline struct pair connect_pair(struct fixture *it)
{
    struct pair pair = {.client = tcp_peer_connect(it->port)};
    fcntl(pair.client, F_SETFL, O_NONBLOCK);
    pair.adapter = accept_one(it);
    return pair;
}

static inline void close_pair(struct pair *pair)
{
    close(pair->client);
    close(pair->adapter);
}

/* Bytes on their way from one socket to the other. */
struct way {
    int from, to;
    char *bytes;
    size_t len, sent, got;
    unsigned seed;
    bool shut;  /* send no more behind them */
    bool ended; /* the reader has seen the end */
};

static inline void way_init(struct way *way, int from, int to, size_t len, unsigned seed)
{
    *way = (struct way){.from = from, .to = to, .len = len, .seed = seed};
    way->bytes = mem_alloc(len + 1);
    for (size_t i = 0; i < len; i++)
        way->bytes[i] = (char)rand_r(&seed);
}

static inline void way_step(struct way *way)
{
    char in[50000];
    size_t most = (size_t)rand_r(&way->seed) % 70000 + 1, left = way->len - way->sent;
    ssize_t len = send(way->from, way->bytes + way->sent, left < most ? left : most,
                       MSG_NOSIGNAL | MSG_DONTWAIT);
    way->sent += len > 0 ? (size_t)len : 0;
    if (way->sent == way->len && way->shut) {
        shutdown(way->from, SHUT_WR);
        way->shut = false;
    }
    len = recv(way->to, in, (size_t)rand_r(&way->seed) % sizeof in + 1, MSG_DONTWAIT);
    if (len > 0) {
        assert_true(way->got + (size_t)len <= way->len);
        assert_memory_equal(in, way->bytes + way->got, (size_t)len);
        way->got += (size_t)len;
    }
    way->ended = way->ended || len == 0;
}

static inline bool way_done(const struct way *way)
{
    return way->got == way->len;
}

static inline void pass(struct fixture *it, struct way *ways, size_t count)
{
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    for (bool done = false; !done && loop_now_us() < until;) {
        done = true;
        for (size_t i = 0; i < count; i++) {
            way_step(&ways[i]);
            done = done && way_done(&ways[i]);
        }
        loop_run_once(it->loop, 0);
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ways[i].got, ways[i].len);
        free(ways[i].bytes);
        ways[i].bytes = NULL;
    }
}

static inline void assert_end(struct fixture *it, int fd)
{
    char byte;
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; loop_now_us() < until; turn(it))
        if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
            return;
    fail_msg("the end did not come");
}

#endif
