#include "relay/locate/relay_websocket.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/trust.h"
#include "relay/locate/relay_call.h"

#include <libwebsockets.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_MESSAGE = 256 * 1024 * 1024,
    CHUNK = 32768,
    KEEP = 65536,
    OPEN_MS = 10000,
    FLUSH_MS = 2000,
    WORDS_MS = 3000,
    /* A relay gets a ping after PING_S of silence, and is given up after DEAD_S (docs/relay.md). */
    PING_S = 15,
    DEAD_S = 25,
};

struct piece {
    struct piece *next;
    size_t len, sent;
    char bytes[]; /* LWS_PRE bytes of room, then the message */
};

/* relay_websocket_destroy() sets `ops` to NULL; the struct of an open connection then lives until
 * libwebsockets has closed it, or for FLUSH_MS. */
struct relay_websocket {
    uint32_t magic;
    struct loop *loop;
    struct relay_address address;
    const struct relay_websocket_ops *ops; /* NULL: no callbacks */
    void *arg;
    struct lws *wsi;
    struct lws_vhost *vhost;
    struct timer *timer;     /* for the start, then its time limit, then the end */
    struct relay_call *call; /* the login, or a request for the reason of a refusal */
    char *authorization;     /* the upgrade's header; "": none */
    struct piece *first, **last;
    struct buf in;
    struct err err;
    int refused;  /* the HTTP status, or 0 */
    bool open;    /* the relay has accepted the connection */
    bool ended;   /* on_close has run, or is about to */
    bool closing; /* by relay_websocket_destroy() */
    bool orderly; /* the relay has closed without an error */
};
INVARIANT_MAGIC(relay_websocket, 0xb06d2f94)
#define relay_websocket_checked(object) relay_websocket_checked_at(INVARIANT_HERE, object)

static const char protocol_name[] = "raydbg-bridge";

static void bridge_free(struct relay_websocket *bridge)
{
    timer_cancel(&bridge->timer);
    relay_call_cancel(&bridge->call);
    if (bridge->authorization)
        explicit_bzero(bridge->authorization, strlen(bridge->authorization));
    free(bridge->authorization);
    while (bridge->first) {
        struct piece *piece = bridge->first;
        bridge->first = piece->next;
        free(piece);
    }
    buf_free(&bridge->in);
    relay_address_clear(&bridge->address);
    relay_websocket_clear_magic(bridge);
    free(bridge);
}

static void forget_wsi(struct relay_websocket *bridge)
{
    if (!bridge->wsi)
        return;
    lws_set_opaque_user_data(bridge->wsi, NULL);
    lws_set_timeout(bridge->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
    bridge->wsi = NULL;
}

/* --- the end --- */

static void tell_end(void *arg)
{
    struct relay_websocket *bridge = relay_websocket_checked(arg);
    const struct err err = bridge->err; /* the callback may destroy the bridge */
    bridge->timer = NULL;
    bridge->ops->on_close(bridge->arg, err.code ? &err : NULL);
}

/* on_close runs from the loop's next turn, because libwebsockets calls back from deep within its
 * own code. */
static void end(struct relay_websocket *bridge)
{
    if (bridge->ended)
        return;
    bridge->ended = true;
    relay_call_cancel(&bridge->call);
    forget_wsi(bridge);
    timer_cancel(&bridge->timer);
    bridge->timer = timer_start(bridge->loop, 0, tell_end, bridge);
}

static void fail(struct relay_websocket *bridge, enum err_code code, const char *what,
                 const char *why, const char *hint)
{
    if (bridge->ended)
        return;
    char *where = relay_address_text(&bridge->address);
    err_set(&bridge->err, code, "the relay %s %s", where, what);
    err_why(&bridge->err, "%s", why);
    err_hint(&bridge->err, "%s", hint);
    free(where);
    end(bridge);
}

static void unreachable(struct relay_websocket *bridge, const char *why)
{
    char way[TRUST_WAY_ROOM] = "";
    if (bridge->vhost)
        trust_way(bridge->vhost, way, sizeof way);
    char *whole = mem_format("%s%s%s", why, *way ? ", " : "", way);
    fail(bridge, ERR_UNREACHABLE, "cannot be reached", whole,
         "is it running? raydbg relay starts one; --no-relay goes without");
    free(whole);
}

static void on_words(void *arg, const struct http_reply *reply)
{
    struct relay_websocket *bridge = relay_websocket_checked(arg);
    struct http_reply shown = *reply;
    bridge->call = NULL;
    if (reply->result != HTTP_ANSWERED || reply->status != bridge->refused)
        shown = (struct http_reply){.result = HTTP_ANSWERED,
                                    .status = bridge->refused,
                                    .type = "",
                                    .location = "",
                                    .body = "",
                                    .why = ""};
    relay_address_reply(&bridge->address, &shown, &bridge->err);
    end(bridge);
}

/* libwebsockets gives the status of an answer to an upgrade, but not its body. The relay gives the
 * same answer to a plain GET. */
static void ask_words(struct relay_websocket *bridge, int status)
{
    bridge->refused = status;
    timer_cancel(&bridge->timer);
    bridge->call =
        relay_call(&bridge->address, bridge->loop, "GET", "/dap", NULL, WORDS_MS, on_words, bridge);
}

static void on_error(struct relay_websocket *bridge, struct lws *wsi, const char *text, size_t len)
{
    char line[128], problem[TRUST_PROBLEM_ROOM];
    trust_take_problem(bridge->vhost, problem, sizeof problem);
    snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1),
             text ? text : "");
    lws_set_opaque_user_data(wsi, NULL);
    bridge->wsi = NULL;
    int status = text_starts(line, "HS: ws upgrade") ? (int)lws_http_client_http_response(wsi) : 0;
    if (status && !bridge->ended)
        ask_words(bridge, status);
    else if (*problem)
        fail(bridge, ERR_DENIED, "is not trusted", problem,
             "--relay-fingerprint or --relay-ca says which certificate is right");
    else if (text_equal(line, "Unable to connect") || !*line)
        unreachable(bridge, "nothing accepts connections there, or it is out of reach");
    else
        unreachable(bridge, line);
}

static void on_closed(struct relay_websocket *bridge)
{
    bridge->wsi = NULL;
    if (!bridge->ops)
        bridge_free(bridge);
    else if (bridge->orderly)
        end(bridge);
    else if (bridge->open)
        fail(bridge, ERR_UNREACHABLE, "is gone", "the connection was lost", "");
    else
        unreachable(bridge, "it hung up");
}

/* `in` is a close code in two bytes, then the reason. */
static void on_goodbye(struct relay_websocket *bridge, const unsigned char *in, size_t len)
{
    enum { NORMAL = 1000, GOING_AWAY = 1001, NO_STATUS = 1005 };
    if (!bridge->ops)
        return;
    int code = len >= 2 ? in[0] << 8 | in[1] : NO_STATUS;
    char *reason = text_printable(len > 2 ? (const char *)in + 2 : "", len > 2 ? len - 2 : 0, "");
    if (code == NORMAL || code == NO_STATUS)
        bridge->orderly = true;
    else
        fail(bridge, ERR_FAILED, "ended the session",
             *reason              ? reason
             : code == GOING_AWAY ? "it was stopped"
                                  : "it did not say why",
             "");
    free(reason);
}

/* --- in --- */

static int on_receive(struct relay_websocket *bridge, struct lws *wsi, const char *bytes,
                      size_t len)
{
    if (!bridge->ops || bridge->ended)
        return 0;
    if (len > MAX_MESSAGE - bridge->in.len) {
        fail(bridge, ERR_FAILED, "sent a message of more than 256 MiB", "raydbg takes no larger",
             "");
        return -1;
    }
    bool last = lws_is_final_fragment(wsi);
    if (last && bridge->in.len == 0) {
        bridge->ops->on_message(bridge->arg, bytes, len);
        return 0;
    }
    buf_add(&bridge->in, bytes, len);
    if (last) {
        /* The callback may destroy the bridge, which then lives until its connection has closed. */
        struct buf whole = bridge->in;
        bridge->in = (struct buf){0};
        bridge->ops->on_message(bridge->arg, whole.data, whole.len);
        buf_clear(&whole, KEEP);
        bridge->in = whole;
    }
    return 0;
}

/* --- out --- */

/* Writes a part of the queue's first message. libwebsockets holds back what the kernel does not
 * take, and calls again when that has gone. */
static int on_writable(struct relay_websocket *bridge, struct lws *wsi)
{
    struct piece *piece = bridge->first;
    if (!piece) {
        if (bridge->closing)
            lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
        return bridge->closing ? -1 : 0;
    }
    size_t left = piece->len - piece->sent, part = left < CHUNK ? left : CHUNK;
    int flags = lws_write_ws_flags(LWS_WRITE_TEXT, piece->sent == 0, part == left);
    /* libwebsockets writes the header and the masked bytes before and over the given ones: nothing
     * there is needed again. */
    unsigned char *at = (unsigned char *)piece->bytes + LWS_PRE + piece->sent;
    if (lws_write(wsi, at, part, (enum lws_write_protocol)flags) < (int)part)
        return -1;
    piece->sent += part;
    if (piece->sent == piece->len) {
        bridge->first = piece->next;
        if (!bridge->first)
            bridge->last = &bridge->first;
        free(piece);
    }
    if (bridge->first || bridge->closing)
        lws_callback_on_writable(wsi);
    return 0;
}

static int add_authorization(const struct relay_websocket *bridge, struct lws *wsi,
                             unsigned char **at, size_t len)
{
    const char *value = bridge->authorization;
    if (text_empty(value))
        return 0;
    int failed = lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION,
                                              (const unsigned char *)value, (int)strlen(value), at,
                                              *at + len);
    return failed ? -1 : 0;
}

static void on_established(struct relay_websocket *bridge, struct lws *wsi)
{
    bridge->open = true;
    timer_cancel(&bridge->timer);
    if (bridge->first)
        lws_callback_on_writable(wsi);
    if (bridge->ops)
        bridge->ops->on_open(bridge->arg);
}

static int on_websocket(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                        size_t len)
{
    (void)user;
    struct relay_websocket *bridge = wsi ? lws_get_opaque_user_data(wsi) : NULL;
    if (!bridge)
        return 0;
    switch ((int)reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return add_authorization(bridge, wsi, in, len);
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        on_established(bridge, wsi);
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return on_receive(bridge, wsi, in, len);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return on_writable(bridge, wsi);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        on_goodbye(bridge, in, len);
        return 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        on_error(bridge, wsi, in, len);
        return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
    case LWS_CALLBACK_WSI_DESTROY:
        lws_set_opaque_user_data(wsi, NULL);
        on_closed(bridge);
        return 0;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {.name = protocol_name, .callback = on_websocket, .rx_buffer_size = 65536},
    {0},
};

/* --- life --- */

static void expire(void *arg)
{
    struct relay_websocket *bridge = relay_websocket_checked(arg);
    bridge->timer = NULL;
    unreachable(bridge, "it did not answer in time");
}

static void connect_now(struct relay_websocket *bridge)
{
    static const lws_retry_bo_t patience = {
        .secs_since_valid_ping = PING_S,
        .secs_since_valid_hangup = DEAD_S,
    };
    struct trust trust = relay_address_trust(&bridge->address);
    char *host = relay_address_host(&bridge->address);
    char *header = relay_address_short(&bridge->address);
    bridge->vhost = trust_vhost(loop_context(bridge->loop), protocols, host, bridge->address.tls,
                                &trust, &bridge->err);
    struct lws_client_connect_info info = {
        .context = loop_context(bridge->loop),
        .address = host,
        .port = bridge->address.port,
        .ssl_connection = trust_flags(host, bridge->address.tls),
        .path = "/dap",
        .host = bridge->address.is_unix ? "localhost" : header,
        .alpn = "http/1.1",
        .vhost = bridge->vhost,
        .protocol = "dap",
        .local_protocol_name = protocol_name,
        .opaque_user_data = bridge,
        .retry_and_idle_policy = &patience,
        .pwsi = &bridge->wsi,
    };
    if (!bridge->vhost) {
        end(bridge);
    } else if (!lws_client_connect_via_info(&info)) {
        bridge->wsi = NULL;
        unreachable(bridge, "nothing accepts connections there, or there is no such host");
    }
    free(host);
    free(header);
}

static void on_login(void *arg, const char *authorization, const struct http_reply *reply)
{
    struct relay_websocket *bridge = relay_websocket_checked(arg);
    bridge->call = NULL;
    if (authorization) {
        bridge->authorization = mem_string(authorization);
        connect_now(bridge);
    } else {
        relay_address_reply(&bridge->address, reply, &bridge->err);
        end(bridge);
    }
}

static void start(void *arg)
{
    struct relay_websocket *bridge = relay_websocket_checked(arg);
    bridge->timer = timer_start(bridge->loop, OPEN_MS, expire, bridge);
    bridge->call =
        relay_call_login(&bridge->address, bridge->loop, "GET", "/dap", OPEN_MS, on_login, bridge);
}

struct relay_websocket *relay_websocket_open(struct loop *loop, const struct relay_address *address,
                                             const struct relay_websocket_ops *ops, void *arg)
{
    struct relay_websocket *bridge = mem_alloc(sizeof *bridge);
    relay_websocket_set_magic(bridge);
    bridge->loop = loop;
    bridge->ops = ops;
    bridge->arg = arg;
    bridge->last = &bridge->first;
    relay_address_copy(&bridge->address, address);
    bridge->timer = timer_start(loop, 0, start, bridge);
    return bridge;
}

void relay_websocket_send(struct relay_websocket *bridge, const char *json, size_t len)
{
    if (bridge->ended || !len)
        return;
    struct piece *piece = mem_alloc(sizeof *piece + LWS_PRE + len);
    piece->len = len;
    memcpy(piece->bytes + LWS_PRE, json, len);
    *bridge->last = piece;
    bridge->last = &piece->next;
    if (bridge->open && bridge->wsi)
        lws_callback_on_writable(bridge->wsi);
}

size_t relay_websocket_queued(const struct relay_websocket *bridge)
{
    size_t queued = bridge->wsi && lws_partial_buffered(bridge->wsi) ? 1 : 0;
    for (const struct piece *piece = bridge->first; piece; piece = piece->next)
        queued += piece->len - piece->sent;
    return queued;
}

static void give_up(void *arg)
{
    struct relay_websocket *bridge = relay_websocket_checked(arg);
    bridge->timer = NULL;
    forget_wsi(bridge);
    bridge_free(bridge);
}

void relay_websocket_destroy(struct relay_websocket **bridge)
{
    struct relay_websocket *it = *bridge;
    if (!it)
        return;
    *bridge = NULL;
    it->ops = NULL;
    timer_cancel(&it->timer);
    if (it->open && it->wsi && !it->ended) {
        it->closing = true;
        it->timer = timer_start(it->loop, FLUSH_MS, give_up, it);
        lws_callback_on_writable(it->wsi);
    } else {
        forget_wsi(it);
        bridge_free(it);
    }
}
