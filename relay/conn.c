#include "relay/conn.h"

#include "base/text.h"
#include "dap/message.h"
#include "relay/socket.h"

#include <stdio.h>

enum { CLOSE_S = 2 };

bool conn_is_silent(const struct conn *conn)
{
    int fd = conn->wsi ? (int)lws_get_socket_fd(conn->wsi) : -1;
    /* No network is between here and who came by loopback. */
    return fd >= 0 && !conn_port(conn)->loopback && socket_is_silent(fd);
}

const char *conn_peer(const struct conn *conn)
{
    return conn->peer;
}

const struct port *conn_port(const struct conn *conn)
{
    return &conn->listener->ports.items[conn->port];
}

size_t conn_body_limit(const struct conn *conn)
{
    const struct listener_options *options = &conn->listener->options;
    if (conn->stranger && options->max_unauthenticated < options->max_body)
        return options->max_unauthenticated;
    return options->max_body;
}

void conn_known(struct conn *conn, enum auth_role role)
{
    struct listener *listener = conn->listener;
    conn->role = role;
    if (!conn->stranger)
        return;
    conn->stranger = false;
    strangers_drop(&listener->strangers, conn->address);
    *(conn->stranger_prev ? &conn->stranger_prev->stranger_next : &listener->strangers_first) =
        conn->stranger_next;
    *(conn->stranger_next ? &conn->stranger_next->stranger_prev : &listener->strangers_last) =
        conn->stranger_prev;
    conn->stranger_prev = conn->stranger_next = NULL;
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
    if (!conn->told)
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
    conn_known(conn, AUTH_NONE); /* it takes no stranger's place while it ends, soon */
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
