#include "relay/port/conn.h"

#include "base/mem.h"
#include "relay/io/socket.h"

#include <errno.h>
#include <string.h>

/* A WebSocket frame in the queue: this, LWS_PRE bytes for libwebsockets to write its header into,
 * and the payload. */
struct piece {
    uint32_t len;
    uint32_t flags;
};

static size_t queue_left(const struct conn *conn)
{
    return conn->queue.len - conn->head;
}

size_t conn_queued(const struct conn *conn)
{
    return queue_left(conn) + conn->handed;
}

/* Removes the written bytes from the queue; an empty queue has no memory. */
static void trim(struct conn *conn)
{
    if (!queue_left(conn)) {
        conn->head = 0;
        buf_free(&conn->queue);
    } else if (conn->head > conn->queue.len / 2) {
        buf_consume(&conn->queue, conn->head); /* each byte is moved once on average */
        conn->head = 0;
    }
}

/* A write has failed: drops the queue and ends the connection. */
static void lose(struct conn *conn)
{
    buf_free(&conn->queue);
    conn->head = conn->handed = 0;
    conn->closing = true;
    lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}

/* --- raw sockets --- */

static void flush_raw(struct conn *conn)
{
    while (queue_left(conn)) {
        ssize_t sent = write((int)lws_get_socket_fd(conn->wsi), conn->queue.data + conn->head,
                             queue_left(conn));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN) {
            lose(conn);
            return;
        }
        if (sent <= 0)
            break;
        conn->head += (size_t)sent;
    }
    trim(conn);
    if (queue_left(conn))
        lws_callback_on_writable(conn->wsi);
}

void conn_write(struct conn *conn, const void *head, size_t head_len, const void *body,
                size_t body_len)
{
    size_t sent = 0;
    if (!queue_left(conn)) {
        ssize_t written =
            socket_send((int)lws_get_socket_fd(conn->wsi), head, head_len, body, body_len);
        /* An error returns in the writable callback, which handles it outside the caller's
         * frame. */
        sent = written > 0 ? (size_t)written : 0;
    }
    if (sent == head_len + body_len)
        return;
    buf_add_rest(&conn->queue, head, head_len, body, body_len, sent);
    conn->waits = true;
    lws_callback_on_writable(conn->wsi);
}

/* --- WebSocket --- */

static void flush_pieces(struct conn *conn)
{
    while (queue_left(conn) && !lws_partial_buffered(conn->wsi)) {
        struct piece piece;
        char *at = conn->queue.data + conn->head;
        memcpy(&piece, at, sizeof piece);
        unsigned char *payload = (unsigned char *)at + sizeof piece + LWS_PRE;
        if (lws_write(conn->wsi, payload, piece.len, (enum lws_write_protocol)piece.flags) < 0) {
            lose(conn);
            return;
        }
        conn->head += sizeof piece + LWS_PRE + piece.len;
        conn->handed = lws_partial_buffered(conn->wsi) ? piece.len : 0;
    }
    trim(conn);
    if (conn_queued(conn)) {
        conn->waits = true;
        lws_callback_on_writable(conn->wsi);
    }
}

static void add_piece(struct conn *conn, const char *bytes, size_t len)
{
    static const char room[LWS_PRE];
    conn->part_left -= len;
    unsigned flags = conn->begun ? LWS_WRITE_CONTINUATION : LWS_WRITE_TEXT;
    if (conn->part_left)
        flags |= LWS_WRITE_NO_FIN;
    conn->begun = conn->part_left > 0;
    struct piece piece = {(uint32_t)len, flags};
    buf_reserve(&conn->queue, sizeof piece + sizeof room + len);
    buf_add(&conn->queue, &piece, sizeof piece);
    buf_add(&conn->queue, room, sizeof room);
    buf_add(&conn->queue, bytes, len);
}

static void send_pieces(struct conn *conn, const char *bytes, size_t len)
{
    do {
        size_t piece = len < CONN_PIECE ? len : CONN_PIECE;
        add_piece(conn, bytes, piece);
        bytes += piece;
        len -= piece;
    } while (len);
    flush_pieces(conn);
}

/* --- messages --- */

static bool can_send(struct conn *conn)
{
    if (!conn->wsi || conn->lingering || conn->closing)
        return false;
    conn->told = true;
    return conn->state == CONN_DAP || conn->state == CONN_WEBSOCKET;
}

void conn_send(struct conn *conn, const char *json, size_t len)
{
    char header[FRAME_HEADER_ROOM];
    if (!can_send(conn))
        return;
    if (conn->state == CONN_DAP) {
        conn_write(conn, header, frame_header(header, len), json, len);
    } else {
        conn->part_left = len;
        send_pieces(conn, json, len);
    }
}

void conn_send_halves(struct conn *conn, const char *head, size_t head_len, const char *rest,
                      size_t rest_len)
{
    struct buf start = {0};
    if (!can_send(conn))
        return;
    if (conn->state == CONN_DAP) {
        frame_start(&start, head, head_len, rest_len);
        conn_write(conn, start.data, start.len, rest, rest_len);
    } else {
        buf_add(&start, head, head_len);
        buf_add(&start, rest, rest_len);
        conn_send(conn, start.data, start.len);
    }
    buf_free(&start);
}

void conn_send_begin(struct conn *conn, size_t total)
{
    char header[FRAME_HEADER_ROOM];
    if (!can_send(conn))
        return;
    conn->part_left = total;
    if (conn->state == CONN_DAP)
        conn_write(conn, header, frame_header(header, total), "", 0);
    else if (!total)
        send_pieces(conn, "", 0);
}

void conn_send_part(struct conn *conn, const char *bytes, size_t len)
{
    if (!can_send(conn))
        return;
    if (len > conn->part_left) /* the client reads only as much as was announced */
        len = conn->part_left;
    if (!len)
        return;
    if (conn->state == CONN_WEBSOCKET) {
        send_pieces(conn, bytes, len);
    } else {
        conn->part_left -= len;
        conn_write(conn, bytes, len, "", 0);
    }
}

int conn_writable(struct conn *conn)
{
    conn->handed = 0; /* libwebsockets calls only when its own buffer is empty */
    if (conn->state == CONN_WEBSOCKET)
        flush_pieces(conn);
    else
        flush_raw(conn);
    if (conn_queued(conn))
        return 0;
    if (conn->closing)
        return -1;
    if (conn->waits) {
        conn->waits = false;
        if (conn->user && conn->listener->ops->on_drain)
            conn->listener->ops->on_drain(conn->user);
    }
    return 0;
}
