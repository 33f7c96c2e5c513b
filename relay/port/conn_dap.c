#include "relay/port/conn.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { READ_SIZE = 65536 };

void conn_drop_frame(struct conn *conn)
{
    if (conn->frame)
        frame_free(conn->frame);
    free(conn->frame);
    conn->frame = NULL;
}

/* The number of bytes that may be read: an unauthenticated connection has a limit in all. */
static size_t allowance(const struct conn *conn, size_t len)
{
    size_t limit = conn->listener->options.max_unauthenticated;
    if (!conn->unauthenticated)
        return len;
    size_t left = limit > conn->received ? limit - conn->received : 0;
    return len < left ? len : left;
}

static void spent(struct conn *conn)
{
    char text[128];
    snprintf(text, sizeof text, "more than %zu bytes came, and no token among them",
             conn->listener->options.max_unauthenticated);
    conn_break(conn, text);
}

/* Adds the option that raises the limit, if the message is too long. */
static void break_off(struct conn *conn, const char *problem)
{
    char text[256];
    bool too_large = strstr(problem, "more than") && strstr(problem, "bytes");
    snprintf(text, sizeof text, "%s%s", problem, too_large ? " (--max-body)" : "");
    conn_break(conn, text);
}

/* Reads one message or a part of one; returns the bytes used. */
static size_t feed(struct conn *conn, const char *bytes, size_t len)
{
    size_t used = 0, body_len;
    size_t allowed = allowance(conn, len);
    if (!allowed) {
        spent(conn);
        return 0;
    }
    if (!conn->frame) {
        conn->frame = mem_alloc(sizeof *conn->frame);
        frame_init(conn->frame, conn_body_limit(conn));
    }
    enum frame_status status = frame_feed(conn->frame, bytes, allowed, &used);
    if (conn->unauthenticated)
        conn->received += used;
    if (status == FRAME_ERROR) {
        break_off(conn, frame_problem(conn->frame));
    } else if (status == FRAME_MESSAGE) {
        const char *body = frame_body(conn->frame, &body_len);
        conn->listener->ops->on_message(conn->user, body, body_len);
        /* An idle connection has no buffer, and the limit may have changed. */
        conn_drop_frame(conn);
    }
    return used;
}

/* Delivers until the bytes end, reading is stopped, or the connection closes. */
static void deliver(struct conn *conn, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && !conn->closing && !conn->halted)
        at += feed(conn, bytes + at, len - at);
    if (at < len && !conn->closing)
        buf_add(&conn->in, bytes + at, len - at);
}

static void read_dap(struct conn *conn, const char *bytes, size_t len)
{
    if (conn->in.len) /* earlier bytes wait for conn_read_enable() */
        buf_add(&conn->in, bytes, len);
    else
        deliver(conn, bytes, len);
}

static void resume(void *arg)
{
    struct conn *conn = conn_checked(arg);
    struct buf held = conn->in;
    conn->resume = NULL;
    conn->in = (struct buf){0};
    if (!conn->closing)
        deliver(conn, held.data, held.len);
    buf_free(&held);
    if (!conn->halted)
        lws_rx_flow_control(conn->wsi, 1);
}

void conn_read_enable(struct conn *conn, bool enable)
{
    conn->halted = !enable;
    if (conn->closing || !conn->wsi)
        return;
    if (!enable)
        lws_rx_flow_control(conn->wsi, 0);
    else if (conn->state != CONN_DAP || !conn->in.len)
        lws_rx_flow_control(conn->wsi, 1);
    else if (!conn->resume) /* bytes that are already read come first */
        conn->resume = timer_start(conn->listener->options.loop, 0, resume, conn);
}

/* --- libwebsockets --- */

/* Closing with unread input would make the kernel reset the connection, and the client would lose
 * the last bytes sent to it. So shut down our side, and read until the client closes. */
static int linger(struct conn *conn)
{
    if (!conn->lingering) {
        conn->lingering = true;
        shutdown((int)lws_get_socket_fd(conn->wsi), SHUT_WR);
        lws_rx_flow_control(conn->wsi, 1);
    }
    return 0;
}

/* With libuv, libwebsockets closes a broken connection at once: bytes that arrived before, maybe a
 * `disconnect` request, are still in the kernel. */
static void read_rest(struct conn *conn)
{
    char bytes[READ_SIZE];
    ssize_t len = 0;
    int fd = (int)lws_get_socket_fd(conn->wsi);
    while (!conn->closing && !conn->halted &&
           (len = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        read_dap(conn, bytes, (size_t)len);
}

int conn_raw(struct conn *conn, struct lws *wsi, enum lws_callback_reasons reason, const void *in,
             size_t len)
{
    (void)wsi;
    switch (reason) {
    case LWS_CALLBACK_RAW_RX:
        if (!conn->closing)
            read_dap(conn, in, len);
        return 0;
    case LWS_CALLBACK_RAW_WRITEABLE:
        return conn_writable(conn) < 0 ? linger(conn) : 0;
    case LWS_CALLBACK_RAW_CLOSE:
        if (conn->state == CONN_DAP)
            read_rest(conn);
        return 0;
    default:
        return 0;
    }
}
