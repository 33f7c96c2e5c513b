/* Where something connects to: a loop, a listening socket, the one connection, and a log. */
#ifndef RAYDBG_TESTS_TCP_PLACE_H
#define RAYDBG_TESTS_TCP_PLACE_H

#include "base/buf.h"
#include "relay/io/loop.h"
#include "tcp_peer.h"

struct tcp_place {
    struct loop *loop;
    int listener; /* -1: closed by the test */
    unsigned short port;
    int fd; /* -1: none */
    struct buf log;
};

static inline void tcp_place_set_up(struct tcp_place *place)
{
    *place = (struct tcp_place){.fd = -1};
    place->listener = tcp_peer_listen(&place->port);
    place->loop = loop_create(false, NULL);
    assert_non_null(place->loop);
    buf_add_string(&place->log, "");
}

/* What uses the loop is cancelled, or destroyed, before. */
static inline void tcp_place_tear_down(struct tcp_place *place)
{
    loop_run_once(place->loop, 0);
    loop_destroy(&place->loop);
    if (place->fd >= 0)
        close(place->fd);
    if (place->listener >= 0)
        close(place->listener);
    buf_free(&place->log);
}

#endif
