#include "relay/port/conn.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE_SIZE = 256 };

static const struct {
    const char *path, *protocol;
    enum conn_kind kind;
} upgrades[] = {
    {"/dap", "dap", CONN_DAP_WEBSOCKET},
    {"/events", "raydbg.events", CONN_EVENTS},
};

enum { UPGRADES = sizeof upgrades / sizeof *upgrades };

static int upgrade_of(struct lws *wsi)
{
    char path[VALUE_SIZE];
    if (lws_hdr_copy(wsi, path, sizeof path, WSI_TOKEN_GET_URI) <= 0)
        return -1;
    for (int i = 0; i < UPGRADES; i++)
        if (text_equal(path, upgrades[i].path))
            return i;
    return -1;
}

static bool offers(const char *list, const char *protocol)
{
    size_t len = strlen(protocol);
    while (*list) {
        list += strspn(list, " \t,");
        size_t item = strcspn(list, " \t,");
        if (item == len && strncmp(list, protocol, len) == 0)
            return true;
        list += item;
    }
    return false;
}

/* libwebsockets takes the first offered subprotocol that it knows, whatever the path. So the client
 * must offer the path's own without the other path's, or none at all. */
static bool check_protocol(struct lws *wsi, int upgrade)
{
    char list[VALUE_SIZE];
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL))
        return true;
    if (lws_hdr_copy(wsi, list, sizeof list, WSI_TOKEN_PROTOCOL) <= 0)
        return false;
    for (int i = 0; i < UPGRADES; i++)
        if (offers(list, upgrades[i].protocol) != (i == upgrade))
            return false;
    return true;
}

static bool check_handshake(struct lws *wsi)
{
    char version[8];
    return lws_hdr_total_length(wsi, WSI_TOKEN_CONNECTION) > 0 &&
           lws_hdr_total_length(wsi, WSI_TOKEN_KEY) > 0 &&
           lws_hdr_copy(wsi, version, sizeof version, WSI_TOKEN_VERSION) > 0 &&
           text_equal(version, "13");
}

/* 0 lets libwebsockets go on with the handshake. */
static int on_upgrade(struct conn *conn, struct lws *wsi, const char *to)
{
    static const char room[LWS_PRE];
    enum auth_role role;
    struct buf json = {0}, text = {0};
    int upgrade = upgrade_of(wsi);
    const struct http_access_request request = {"GET", upgrade < 0 ? "" : upgrades[upgrade].path,
                                                false};
    enum refusal refusal = http_access_check(conn, wsi, &request, &role);
    if (!refusal && upgrade < 0)
        refusal = REFUSAL_PATH;
    if (!refusal && (strcasecmp(to, "websocket") != 0 || !check_handshake(wsi)))
        refusal = REFUSAL_UPGRADE;
    if (!refusal && !check_protocol(wsi, upgrade))
        refusal = REFUSAL_PROTOCOL;
    if (!refusal) {
        conn->kind = upgrades[upgrade].kind;
        conn->role = role;
        return 0;
    }
    conn_tell_refusal(conn, refusal);
    refusal_json(&json, refusal);
    buf_add(&text, room, sizeof room);
    http_answer_text(&text, refusal_status(refusal), "application/json", json.data, json.len,
                     false);
    /* The answer is small and the first on this socket: libwebsockets keeps what the kernel does
     * not take. */
    lws_write(wsi, (unsigned char *)text.data + LWS_PRE, text.len - LWS_PRE,
              LWS_WRITE_HTTP_HEADERS);
    buf_free(&json);
    buf_free(&text);
    return -1;
}

static int on_fragment(struct conn *conn, struct lws *wsi, const char *bytes, size_t len)
{
    char text[96];
    size_t rest = lws_remaining_packet_payload(wsi), limit = conn_body_limit(conn);
    if (conn->closing)
        return 0;
    if (lws_frame_is_binary(wsi)) {
        conn_break(conn, "a WebSocket frame is binary: messages are text");
    } else if (rest > limit || len > limit - rest || conn->in.len > limit - rest - len) {
        snprintf(text, sizeof text, "a message has more than %zu bytes (--max-body)", limit);
        conn_break(conn, text);
    } else if (conn->kind == CONN_EVENTS) {
        return 0; /* messages from followers are ignored */
    } else {
        buf_add(&conn->in, bytes, len);
        if (rest || !lws_is_final_fragment(wsi))
            return 0;
        struct buf whole = conn->in;
        conn->in = (struct buf){0};
        conn->listener->ops->on_message(conn->user, whole.data, whole.len);
        buf_free(&whole);
        return 0;
    }
    buf_free(&conn->in);
    return 0;
}

static int on_writable(struct conn *conn, struct lws *wsi)
{
    if (conn_writable(conn) == 0)
        return 0;
    lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
    return -1;
}

int conn_websocket(struct conn *conn, struct lws *wsi, enum lws_callback_reasons reason,
                   const void *in, size_t len)
{
    switch (reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return on_upgrade(conn, wsi, in);
    case LWS_CALLBACK_ESTABLISHED:
        conn_move(conn, CONN_WEBSOCKET);
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
        conn_open(conn, conn->kind, conn->role);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return on_fragment(conn, wsi, in, len);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(conn, wsi);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        conn->closing = true;
        return 0;
    default:
        return 0;
    }
}
