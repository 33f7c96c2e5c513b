#include "relay/port/conn.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Each connection has one request: no bytes of a next one wait while this one is answered. */
struct http_call {
    struct conn *conn; /* NULL once the client has gone */
    const char *method;
    char *path;
    char *peer;
    struct buf body;
    enum auth_role role;
    bool asked; /* on_http has it */
};

/* libwebsockets (4.1) ignores a Content-Length of more than 30 bytes: it then reads up to 100 MiB,
 * or nothing. */
enum { ANSWER_S = 30, DISCARD_S = 2, LENGTH_DIGITS = 20 };

static const struct {
    enum lws_token_indexes token;
    const char *name;
} methods[] = {
    {WSI_TOKEN_GET_URI, "GET"},         {WSI_TOKEN_POST_URI, "POST"},
    {WSI_TOKEN_HEAD_URI, "HEAD"},       {WSI_TOKEN_PUT_URI, "PUT"},
    {WSI_TOKEN_OPTIONS_URI, "OPTIONS"}, {WSI_TOKEN_PATCH_URI, "PATCH"},
    {WSI_TOKEN_DELETE_URI, "DELETE"},
};

/* --- answers --- */

void http_answer_text(struct buf *out, int status, const char *type, const char *body, size_t len,
                      bool without_body)
{
    buf_printf(out,
               "HTTP/1.1 %d %s\r\n"
               "Content-Type: %s\r\n"
               "Content-Length: %zu\r\n"
               "Cache-Control: no-store\r\n"
               "X-Content-Type-Options: nosniff\r\n"
               "%s%s"
               "Connection: close\r\n\r\n",
               status, refusal_phrase(status), type, len,
               status == 401 ? "WWW-Authenticate: Bearer\r\n" : "",
               status == 426 ? "Upgrade: websocket\r\n" : "");
    if (!without_body)
        buf_add(out, body, len);
}

/* Queues the answer; the writable callback sends it. */
static void answer(struct conn *conn, int status, const char *type, const char *body, size_t len,
                   bool without_body)
{
    static const char room[LWS_PRE];
    if (conn->answered)
        return;
    conn->answered = true;
    buf_add(&conn->queue, room, sizeof room);
    http_answer_text(&conn->queue, status, type, body, len, without_body);
    /* libwebsockets does not report a connection writable while reading from it is stopped. */
    lws_rx_flow_control(conn->wsi, 1);
    lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, ANSWER_S);
    lws_callback_on_writable(conn->wsi);
}

void conn_http_write(struct conn *conn)
{
    struct buf text = conn->queue;
    conn->queue = (struct buf){0};
    if (text.len > LWS_PRE && lws_write(conn->wsi, (unsigned char *)text.data + LWS_PRE,
                                        text.len - LWS_PRE, LWS_WRITE_HTTP_HEADERS) < 0)
        conn->body_pending = false;
    buf_free(&text);
}

/* -1 once all is sent. A request body that is still arriving is read first, for DISCARD_S: closing
 * before that would lose the answer. */
static int on_writable(struct conn *conn)
{
    if (!conn->answered)
        return 0;
    conn_http_write(conn);
    if (lws_partial_buffered(conn->wsi)) {
        /* A part is written: a large answer may take longer than ANSWER_S in all. */
        lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, ANSWER_S);
        lws_callback_on_writable(conn->wsi);
        return 0;
    }
    if (!conn->body_pending)
        return -1;
    lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, DISCARD_S);
    return 0;
}

void conn_http_refuse(struct conn *conn, enum refusal refusal)
{
    struct buf json = {0};
    if (conn->answered)
        return;
    refusal_json(&json, refusal);
    answer(conn, refusal_status(refusal), "application/json", json.data, json.len, false);
    buf_free(&json);
}

/* --- the call --- */

const char *http_call_method(const struct http_call *call)
{
    return call->method;
}

const char *http_call_path(const struct http_call *call)
{
    return call->path;
}

const char *http_call_body(const struct http_call *call, size_t *len)
{
    *len = call->body.len;
    return call->body.data ? call->body.data : "";
}

enum auth_role http_call_role(const struct http_call *call)
{
    return call->role;
}

const char *http_call_peer(const struct http_call *call)
{
    return call->peer;
}

static void call_free(struct http_call *call)
{
    if (call->conn)
        call->conn->call = NULL;
    free(call->path);
    free(call->peer);
    buf_free(&call->body);
    free(call);
}

void http_call_answer(struct http_call *call, int status, const char *type, const char *body,
                      size_t len)
{
    if (call->conn)
        answer(call->conn, status, type, body, len, text_equal(call->method, "HEAD"));
    call_free(call);
}

void http_call_gone(struct http_call *call)
{
    call->conn->call = NULL;
    call->conn = NULL;
    if (!call->asked)
        call_free(call);
}

static void ask(struct conn *conn)
{
    struct http_call *call = conn->call;
    if (!call || call->asked || conn->answered)
        return;
    call->asked = true;
    /* While a request waits for its answer, libwebsockets (4.1) does not read, but is woken again
     * and again for pending input. */
    lws_rx_flow_control(conn->wsi, 0);
    lws_set_timeout(conn->wsi, NO_PENDING_TIMEOUT, 0);
    conn->listener->ops->on_http(conn->listener->arg, call);
}

/* --- requests --- */

static const char *method_of(struct lws *wsi)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (lws_hdr_total_length(wsi, methods[i].token))
            return methods[i].name;
    return "";
}

/* Reads the body's length from the header, and checks it. */
static enum refusal body_length(const struct conn *conn, struct lws *wsi, size_t *out)
{
    char value[LENGTH_DIGITS + 1];
    int64_t length;
    *out = 0;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING))
        return REFUSAL_CHUNKED;
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH))
        return REFUSAL_NONE;
    if (lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0 ||
        !text_to_int(value, 0, INT64_MAX, &length))
        return REFUSAL_LENGTH;
    *out = (size_t)length;
    return *out > conn_body_limit(conn) ? REFUSAL_BODY : REFUSAL_NONE;
}

static bool is_websocket_path(const char *path)
{
    return text_equal(path, "/dap") || text_equal(path, "/events");
}

static int on_request(struct conn *conn, struct lws *wsi, const char *path)
{
    enum auth_role role;
    size_t length;
    bool health = text_equal(path, "/healthz"), challenge = text_equal(path, PROOF_PATH);
    const struct http_access_request request = {method_of(wsi), path, health || challenge};
    struct buf json = {0};
    enum refusal refusal = http_access_check(conn, wsi, &request, &role);
    if (!refusal && role != AUTH_NONE)
        conn_known(conn, role);
    enum refusal of_body = body_length(conn, wsi, &length);
    if (!refusal)
        refusal = of_body;
    if (!refusal && is_websocket_path(path))
        refusal = REFUSAL_UPGRADE;
    if (!refusal && challenge)
        refusal = http_access_challenge(conn, wsi, &json);
    conn->body_pending = length > 0;
    if (refusal) {
        conn_refuse(conn, refusal);
    } else if (health) {
        if (role != AUTH_NONE && conn->listener->ops->on_health)
            conn->listener->ops->on_health(conn->listener->arg);
        answer(conn, 200, "text/plain", "ok\n", 3, text_equal(request.method, "HEAD"));
    } else if (challenge) {
        answer(conn, 200, "application/json", json.data, json.len,
               text_equal(request.method, "HEAD"));
    } else {
        conn->call = mem_alloc(sizeof *conn->call);
        *conn->call = (struct http_call){
            .conn = conn,
            .method = request.method,
            .path = mem_string(path),
            .peer = mem_string(conn->peer),
            .role = role,
        };
        if (!length)
            ask(conn);
    }
    buf_free(&json);
    return 0;
}

static int on_body(struct conn *conn, const void *in, size_t len)
{
    struct http_call *call = conn->call;
    if (!call || call->asked || conn->answered || !len)
        return 0;
    /* No limit here: libwebsockets reads Content-Length bytes, which on_request() has checked. */
    buf_add(&call->body, in, len);
    return 0;
}

static int on_body_end(struct conn *conn)
{
    conn->body_pending = false;
    if (conn->answered && !conn->queue.len && !lws_partial_buffered(conn->wsi))
        return -1;
    ask(conn);
    return 0;
}

int conn_http(struct conn *conn, struct lws *wsi, enum lws_callback_reasons reason, const void *in,
              size_t len)
{
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        return on_request(conn, wsi, in);
    case LWS_CALLBACK_HTTP_BODY:
        return on_body(conn, in, len);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return on_body_end(conn);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return on_writable(conn);
    case LWS_CALLBACK_RAW_ADOPT: /* libwebsockets makes CONNECT a raw connection */
    case LWS_CALLBACK_RAW_RX:
        return -1;
    default:
        return conn_websocket(conn, wsi, reason, in, len);
    }
}
