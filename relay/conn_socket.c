/* A connection's socket that libwebsockets does not have: DAP over TCP, and what is refused before
 * it says what it is. */
#include "relay/conn.h"

#include "relay/wire.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { READ_SIZE = 65536, CLOSE_MS = 2000 };

static struct poller *poller_of(const struct conn *conn)
{
    return loop_poller(conn->listener->options.loop);
}

/* What is to be reported of it as it is now: of one that closes also that it has room, which is
 * when it is looked whether all has left. */
static uint32_t wanted(const struct conn *conn)
{
    bool out = !conn->lingering && (conn->waits || conn->closing);
    return (conn->deaf ? 0 : EPOLLIN) | (out ? EPOLLOUT : 0);
}

void conn_socket_poll(struct conn *conn)
{
    poller_want(poller_of(conn), &conn->polled, wanted(conn));
}

static void on_time_up(void *arg)
{
    struct conn *conn = arg;
    conn->patience = NULL;
    conn_free(conn);
}

static void end_within(struct conn *conn, int64_t ms)
{
    timer_cancel(&conn->patience);
    conn->patience = timer_start(conn->listener->options.loop, ms, on_time_up, conn);
}

void conn_socket_finish(struct conn *conn)
{
    end_within(conn, CLOSE_MS);
    conn_socket_poll(conn);
}

void conn_socket_lose(struct conn *conn)
{
    end_within(conn, 0);
    poller_remove(poller_of(conn), &conn->polled);
}

/* Bytes that nobody has read would make the kernel reset the connection, and the client lose what
 * it was sent last: shut down, and read on until it has closed. */
static void linger(struct conn *conn)
{
    conn->lingering = true;
    conn->deaf = false;
    shutdown(conn->fd, SHUT_WR);
}

/* Reads once; false if the connection is gone. */
static bool read_once(struct conn *conn)
{
    char bytes[READ_SIZE];
    ssize_t len = recv(conn->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (len <= 0) {
        conn_free(conn);
        return false;
    }
    if (!conn->closing)
        conn_read(conn, bytes, (size_t)len);
    return true;
}

static void on_socket(struct polled *polled, uint32_t events)
{
    struct conn *conn = lws_container_of(polled, struct conn, polled);
    bool over = (events & (EPOLLHUP | EPOLLERR)) != 0;
    if (over && conn->deaf) { /* it would be reported for ever */
        conn_free(conn);
        return;
    }
    if ((over || (events & EPOLLIN)) && !read_once(conn))
        return;
    if ((events & EPOLLOUT) && conn->polled.added) {
        if (conn_writable(conn) < 0 && !conn->lingering)
            linger(conn);
        conn_socket_poll(conn);
    }
}

bool conn_socket_open(struct conn *conn)
{
    conn->polled.handle = on_socket;
    if (poller_add(poller_of(conn), &conn->polled, conn->fd, EPOLLIN))
        return true;
    conn_free(conn);
    return false;
}

void conn_socket_read_enable(struct conn *conn, bool enable)
{
    conn->deaf = !enable;
    conn_socket_poll(conn);
}

void conn_socket_end(struct conn *conn)
{
    poller_remove(poller_of(conn), &conn->polled);
}
