#include "relay/port/conn.h"

#include "base/text.h"
#include "dap/message.h"
#include "relay/io/socket.h"

#include <stdio.h>

enum { CLOSE_S = 2 };

bool conn_is_silent(const struct conn *conn)
{
    int fd = conn->wsi ? (int)lws_get_socket_fd(conn->wsi) : -1;
    /* A loopback client has no network in between that could be cut. */
    return fd >= 0 && !conn_port(conn)->loopback && socket_is_silent(fd);
}

const char *conn_peer(const struct conn *conn)
{
    return conn->peer;
}

const struct listen_socket *conn_port(const struct conn *conn)
{
    return &conn->listener->ports.items[conn->port];
}

/* The allowed transitions: by the first bytes, then by the HTTP request. */
void conn_move_at(struct invariant_location location, struct conn *conn, enum conn_state next)
{
    static const struct invariant_state states[] = {
        [CONN_FIRST] = {"new", INVARIANT_TO(CONN_DAP) | INVARIANT_TO(CONN_HTTP)},
        [CONN_DAP] = {"DAP", 0},
        [CONN_HTTP] = {"HTTP", INVARIANT_TO(CONN_WEBSOCKET)},
        [CONN_WEBSOCKET] = {"WebSocket", 0},
    };
    invariant_move(location, "connection", states, conn->state, next);
    conn->state = next;
}

size_t conn_body_limit(const struct conn *conn)
{
    const struct listener_options *options = &conn->listener->options;
    if (conn->unauthenticated && options->max_unauthenticated < options->max_body)
        return options->max_unauthenticated;
    return options->max_body;
}

void conn_known(struct conn *conn, enum auth_role role)
{
    struct listener *listener = conn->listener;
    conn->role = role;
    if (!conn->unauthenticated)
        return;
    conn->unauthenticated = false;
    unauthenticated_drop(&listener->unauthenticated, conn->address);
    *(conn->unauthenticated_prev ? &conn->unauthenticated_prev->unauthenticated_next
                                 : &listener->unauthenticated_first) = conn->unauthenticated_next;
    *(conn->unauthenticated_next ? &conn->unauthenticated_next->unauthenticated_prev
                                 : &listener->unauthenticated_last) = conn->unauthenticated_prev;
    conn->unauthenticated_prev = conn->unauthenticated_next = NULL;
}

void conn_authenticate(struct conn *conn, enum auth_role role)
{
    conn_known(conn, role);
}

bool conn_open(struct conn *conn, enum conn_kind kind, enum auth_role role)
{
    conn->kind = kind;
    conn->role = role;
    if (role != AUTH_NONE)
        conn_known(conn, role);
    conn->user = conn->listener->ops->on_open(conn->listener->arg, conn, kind, role);
    if (!conn->user)
        conn_finish(conn);
    return conn->user != NULL;
}

void conn_finish(struct conn *conn)
{
    if (conn->closing || !conn->wsi)
        return;
    conn->closing = true;
    lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, CLOSE_S);
    lws_callback_on_writable(conn->wsi);
}

void conn_close(struct conn *conn)
{
    conn_finish(conn);
}

static void tell_problem(struct conn *conn, const char *problem)
{
    struct buf text = {0};
    if (conn->kind == CONN_EVENTS) {
        buf_add_string(&text, "{\"error\":{\"what\":");
        message_quote(&text, problem);
        buf_add_string(&text, ",\"why\":\"\",\"hint\":\"\"}}");
    } else {
        refusal_dap_text(&text, problem);
    }
    conn_send(conn, text.data, text.len);
    buf_free(&text);
}

void conn_break(struct conn *conn, const char *problem)
{
    if (conn->closing)
        return;
    conn->told = false;
    if (conn->user)
        conn->listener->ops->on_broken(conn->user, problem);
    if (!conn->told && !conn->part_left) /* a message in parts cannot be finished */
        tell_problem(conn, problem);
    conn_finish(conn);
}

void conn_tell_refusal(const struct conn *conn, enum refusal refusal)
{
    conn->listener->ops->on_refused(conn->listener->arg, conn->peer, refusal_what(refusal));
}

static void refuse_dap(struct conn *conn, enum refusal refusal)
{
    struct buf text = {0};
    refusal_dap(&text, refusal);
    conn_send(conn, text.data, text.len);
    buf_free(&text);
    conn_finish(conn);
}

void conn_refuse(struct conn *conn, enum refusal refusal)
{
    if (conn->closing)
        return;
    if (conn->user) {
        conn_break(conn, refusal_what(refusal));
        return;
    }
    conn_tell_refusal(conn, refusal);
    conn_known(conn, AUTH_NONE); /* does not count as unauthenticated while it closes */
    if (conn->state == CONN_FIRST)
        conn_first_refuse(conn, refusal);
    else if (conn->state == CONN_HTTP)
        conn_http_refuse(conn, refusal);
    else
        refuse_dap(conn, refusal);
}

void conn_gone(struct conn *conn)
{
    void *user = conn->user;
    conn->user = NULL;
    if (user)
        conn->listener->ops->on_close(user);
}
