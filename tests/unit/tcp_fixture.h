/* Where something connects to: a loop, a listening socket, the one connection, and a log. */
#ifndef RAYDBG_TESTS_TCP_FIXTURE_H
#define RAYDBG_TESTS_TCP_FIXTURE_H

#include "base/buf.h"
#include "relay/io/loop.h"
#include "tcp_peer.h"

struct tcp_fixture {
    struct loop *loop;
    int listener; /* -1: closed by the test */
    unsigned short port;
    int fd; /* -1: none */
    struct buf log;
};

static inline void tcp_fixture_set_up(struct tcp_fixture *fixture)
{
    *fixture = (struct tcp_fixture){.fd = -1};
    fixture->listener = tcp_peer_listen(&fixture->port);
    fixture->loop = loop_create(false, NULL);
    assert_non_null(fixture->loop);
    buf_add_string(&fixture->log, "");
}

/* The loop's users are cancelled, or destroyed, before. */
static inline void tcp_fixture_tear_down(struct tcp_fixture *fixture)
{
    loop_run_once(fixture->loop, 0);
    loop_destroy(&fixture->loop);
    if (fixture->fd >= 0)
        close(fixture->fd);
    if (fixture->listener >= 0)
        close(fixture->listener);
    buf_free(&fixture->log);
}

#endif
