#include "proto/http.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/trust.h"

#include <libwebsockets.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char protocol_name[] = "raydbg-http";
static const char read_failed[] = "read failed"; /* libwebsockets' error text */
/* docs/facts/libwebsockets.md#chunks */
static const char odd_chunks[] =
    "its chunked body has an extension or a trailer, which raydbg does not read, or is damaged";

/* libwebsockets gives `sul` back to its timer's callback. A get is freed by finish() or
 * http_cancel(). libwebsockets may still call back for its wsi after that: the wsi's opaque pointer
 * is then NULL. */
struct http_get {
    lws_sorted_usec_list_t sul; /* the timer of the start, then of the deadline, then of the end */
    struct lws_context *context;
    struct lws *wsi;
    http_fn fn;
    void *arg;
    char *host, *path, *authorization;
    char *host_header;
    const char *method; /* static */
    struct buf request; /* the request's body, behind LWS_PRE bytes for libwebsockets; or empty */
    struct lws_vhost *vhost;
    uint16_t port;
    bool tls;
    int64_t deadline_ms;
    size_t max_body;
    struct buf body;
    int64_t length; /* the Content-Length; -1 if the server sent none */
    bool chunked;
    bool connected; /* the request may go out */
    bool ended;
    char **read_at;  /* the position of lws_http_client_read(); NULL outside of it */
    char *read_from; /* the position where it began */
    enum http_result result;
    int status;
    char type[64];
    char location[512];
    char why[TRUST_PROBLEM_ROOM + TRUST_WAY_ROOM];
};

static void get_free(struct http_get *get)
{
    lws_sul_cancel(&get->sul);
    if (get->wsi) {
        lws_set_opaque_user_data(get->wsi, NULL);
        lws_set_timeout(get->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
    }
    free(get->host);
    free(get->host_header);
    free(get->path);
    buf_free(&get->request);
    if (get->authorization)
        explicit_bzero(get->authorization, strlen(get->authorization));
    free(get->authorization);
    buf_free(&get->body);
    free(get);
}

static void finish(lws_sorted_usec_list_t *sul)
{
    struct http_get *get = lws_container_of(sul, struct http_get, sul);
    buf_reserve(&get->body, 0);
    get->body.data[get->body.len] = '\0';
    const struct http_reply reply = {
        .result = get->result,
        .status = get->status,
        .type = get->type,
        .location = get->location,
        .body = get->body.data,
        .len = get->body.len,
        .why = get->why,
    };
    struct lws_context *context = get->context;
    get->fn(get->arg, &reply);
    get_free(get);
    /* libwebsockets would next wait for its sockets: wake the loop, so that its caller sees at once
     * what fn did. */
    lws_cancel_service(context);
}

/* libwebsockets may call back within http_get() or deep in its own code, so the caller's callback
 * always waits for the next turn of the loop. */
static void end(struct http_get *get, enum http_result result, const char *why)
{
    enum { STATUS_LEAST = 100 };
    if (get->ended)
        return;
    if (result == HTTP_ANSWERED && get->status < STATUS_LEAST) {
        result = HTTP_BROKEN;
        why = "the server's answer has no HTTP status";
    }
    get->ended = true;
    get->result = result;
    if (why) /* NULL: get->why is already set */
        text_copy(get->why, sizeof get->why, why);
    lws_sul_schedule(get->context, 0, &get->sul, finish, 1);
}

static void expire(lws_sorted_usec_list_t *sul)
{
    end(lws_container_of(sul, struct http_get, sul), HTTP_TIMEOUT, "");
}

static bool add_header(struct lws *wsi, enum lws_token_indexes token, const char *value,
                       unsigned char **at, unsigned char *limit)
{
    return lws_add_http_header_by_token(wsi, token, (const unsigned char *)value,
                                        (int)strlen(value), at, limit) == 0;
}

/* `in` is a char **, the position in libwebsockets' header buffer; `len` is the space left. */
static int add_headers(struct http_get *get, struct lws *wsi, void *in, size_t len)
{
    unsigned char **at = in;
    unsigned char *limit = *at + len;
    get->connected = true;
    bool fits = add_header(wsi, WSI_TOKEN_HTTP_ACCEPT, "application/json", at, limit) &&
                add_header(wsi, WSI_TOKEN_HTTP_USER_AGENT, "raydbg/" RAYDBG_VERSION, at, limit);
    if (fits && get->authorization)
        fits = add_header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, get->authorization, at, limit);
    if (fits && text_equal(get->method, "POST")) {
        char length[24];
        snprintf(length, sizeof length, "%zu", get->request.len ? get->request.len - LWS_PRE : 0);
        fits = add_header(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, length, at, limit) &&
               (!get->request.len ||
                add_header(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, "application/json", at, limit));
    }
    if (fits && get->request.len) {
        lws_client_http_body_pending(wsi, 1);
        lws_callback_on_writable(wsi);
    }
    if (!fits)
        end(get, HTTP_BROKEN, "the token is too long for a header");
    return fits ? 0 : -1;
}

/* libwebsockets writes all of it, or fails: the body is far below what a socket takes. */
static int write_body(struct http_get *get, struct lws *wsi)
{
    size_t len = get->request.len ? get->request.len - LWS_PRE : 0;
    if (!len)
        return 0;
    int written =
        lws_write(wsi, (unsigned char *)get->request.data + LWS_PRE, len, LWS_WRITE_HTTP_FINAL);
    lws_client_http_body_pending(wsi, 0);
    buf_free(&get->request);
    return written == (int)len ? 0 : -1;
}

static void read_head(struct http_get *get, struct lws *wsi)
{
    get->status = (int)lws_http_client_http_response(wsi);
    if (lws_hdr_copy(wsi, get->type, sizeof get->type, WSI_TOKEN_HTTP_CONTENT_TYPE) < 0)
        get->type[0] = '\0';
    get->type[strcspn(get->type, "; \t")] = '\0';
    for (char *c = get->type; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    char length[24];
    if (lws_hdr_copy(wsi, length, sizeof length, WSI_TOKEN_HTTP_CONTENT_LENGTH) < 0 ||
        !text_to_int(length, 0, INT64_MAX, &get->length))
        get->length = -1;
    char coding[24] = "";
    get->chunked = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0;
    if (get->chunked &&
        (lws_hdr_copy(wsi, coding, sizeof coding, WSI_TOKEN_HTTP_TRANSFER_ENCODING) < 0 ||
         !text_equal(coding, "chunked"))) /* libwebsockets would take the body for a plain one */
        end(get, HTTP_BROKEN, "its body has a transfer coding other than chunked");
    if (lws_hdr_copy(wsi, get->location, sizeof get->location, WSI_TOKEN_HTTP_LOCATION) < 0)
        get->location[0] = '\0';
}

static int add_body(struct http_get *get, const void *bytes, size_t len)
{
    if (len > get->max_body - get->body.len) {
        end(get, HTTP_TOO_LARGE, "");
        return -1;
    }
    buf_add(&get->body, bytes, len);
    return 0;
}

/* libwebsockets gives "conn fail: 111" (not 4.1) or a phrase of its own. */
static void describe_connect(char *out, size_t size, const char *text, size_t len)
{
    char line[128];
    snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), text);
    const char *number = strrchr(line, ' ');
    int64_t code;
    bool known = number && text_starts(line, "conn") && text_to_int(number + 1, 1, 200, &code);
    if (text_equal(line, "Unable to connect")) /* for any error of connect() */
        text_copy(out, size, "nothing accepts connections there, or it is out of reach");
    else
        text_copy(out, size, known ? strerror((int)code) : line);
    if (known)
        *out = (char)tolower((unsigned char)*out);
}

static void add_way(const struct http_get *get, char *why, size_t size)
{
    char way[TRUST_WAY_ROOM] = "";
    if (get->vhost)
        trust_way(get->vhost, way, sizeof way);
    size_t len = strlen(why);
    if (*way)
        snprintf(why + len, size - len, "%s%s", len ? ", " : "", way);
}

static void on_error(struct http_get *get, const char *text, size_t len)
{
    char why[TRUST_PROBLEM_ROOM + TRUST_WAY_ROOM] = "", problem[TRUST_PROBLEM_ROOM] = "";
    if (get->vhost)
        trust_take_problem(get->vhost, problem, sizeof problem);
    if (*problem)
        text_copy(why, sizeof why, problem);
    else if (get->connected && len == strlen(read_failed) && !memcmp(text, read_failed, len))
        text_copy(why, sizeof why, "the server closed the connection without an HTTP answer");
    else if (text)
        describe_connect(why, sizeof why, text, len);
    add_way(get, why, sizeof why);
    end(get, *problem ? HTTP_UNTRUSTED : get->connected ? HTTP_BROKEN : HTTP_NO_CONNECT, why);
}

/* The connection ended before libwebsockets saw the end of the body. The body is complete only if
 * it is not chunked and has the announced length, or none was announced. */
static void on_closed(struct http_get *get)
{
    bool whole = get->status && !get->chunked && (int64_t)get->body.len >= get->length;
    end(get, whole ? HTTP_ANSWERED : HTTP_BROKEN, "the connection was closed");
}

/* libwebsockets calls this when it has read the last chunk, and (4.1) also when the connection ends
 * earlier: then it has read nothing. */
static void on_completed(struct http_get *get)
{
    if (get->chunked && get->read_at && *get->read_at != get->read_from)
        end(get, HTTP_ANSWERED, "");
    else
        on_closed(get);
}

/* Reads libwebsockets' buffer, which comes back as LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ.
 * libwebsockets (4.1) knows neither extensions of chunks nor trailers, and does not give up the
 * bytes themselves: it leaves the position at the byte that it does not understand. */
static int drain(struct http_get *get, struct lws *wsi)
{
    char space[LWS_PRE + 16384];
    char *at = space + LWS_PRE;
    int len = (int)sizeof space - LWS_PRE;
    get->read_at = &at;
    get->read_from = at;
    int rc = lws_http_client_read(wsi, &at, &len);
    get->read_at = NULL; /* finish() never runs from within, so `get` still exists */
    if (rc < 0 && get->chunked && len > 0)
        end(get, HTTP_BROKEN, odd_chunks); /* unless on_http() has ended it */
    return rc < 0 ? -1 : 0;
}

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len)
{
    (void)user;
    struct http_get *get = wsi ? lws_get_opaque_user_data(wsi) : NULL;
    if (!get)
        return 0;
    switch ((int)reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return add_headers(get, wsi, in, len);
    case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
        return write_body(get, wsi);
    case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
        read_head(get, wsi);
        return 0;
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
        return drain(get, wsi);
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
        return get->ended ? -1 : add_body(get, in, len);
    case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
        on_completed(get);
        return -1; /* close: each request has its own connection */
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        get->wsi = NULL;
        on_error(get, in, len);
        return 0;
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
    case LWS_CALLBACK_WSI_DESTROY:
        get->wsi = NULL;
        lws_set_opaque_user_data(wsi, NULL);
        on_closed(get);
        return 0;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {.name = protocol_name, .callback = on_http, .rx_buffer_size = 65536},
    {0},
};

static void start(lws_sorted_usec_list_t *sul)
{
    struct http_get *get = lws_container_of(sul, struct http_get, sul);
    lws_sul_schedule(get->context, 0, &get->sul, expire, get->deadline_ms * LWS_US_PER_MS);
    struct lws_client_connect_info info = {
        .context = get->context,
        .address = get->host,
        .port = get->port,
        .ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT | trust_flags(get->host, get->tls),
        .path = get->path,
        .host = get->host_header,
        .method = get->method,
        .alpn = "http/1.1",
        .vhost = get->vhost,
        .protocol = protocol_name,
        .local_protocol_name = protocol_name,
        .opaque_user_data = get,
        .pwsi = &get->wsi,
    };
    if (!get->vhost)
        end(get, HTTP_NO_CONNECT, NULL);
    else if (!lws_client_connect_via_info(&info)) {
        get->wsi = NULL;
        end(get, HTTP_NO_CONNECT, "");
    }
}

struct http_get *http_get(const struct http_request *request, http_fn fn, void *arg)
{
    struct http_get *get = mem_alloc(sizeof *get);
    uint16_t usual = request->tls ? 443 : 80;
    bool is_unix = request->host[0] == '+', v6 = !is_unix && strchr(request->host, ':');
    struct err err;
    *get = (struct http_get){
        .context = request->context,
        .fn = fn,
        .arg = arg,
        .host = mem_string(request->host),
        .path = mem_string(request->path),
        .authorization = request->token ? mem_format("Bearer %s", request->token)
                                        : mem_string(request->authorization),
        .method = request->method ? request->method : "GET",
        .host_header = mem_format(v6 ? "[%s]" : "%s", is_unix ? "localhost" : request->host),
        .port = request->port,
        .tls = request->tls,
        .deadline_ms = request->deadline_ms,
        .max_body = request->max_body,
    };
    if (request->json) {
        static const char room[LWS_PRE];
        buf_add(&get->request, room, sizeof room);
        buf_add_string(&get->request, request->json);
    }
    if (!is_unix && request->port != usual) {
        char *bare = get->host_header;
        get->host_header = mem_format("%s:%u", bare, request->port);
        free(bare);
    }
    get->vhost =
        trust_vhost(request->context, protocols, request->host, request->tls, request->trust, &err);
    if (!get->vhost)
        err_line(&err, get->why, sizeof get->why);
    lws_sul_schedule(get->context, 0, &get->sul, start, 1);
    return get;
}

void http_cancel(struct http_get **get)
{
    if (*get)
        get_free(*get);
    *get = NULL;
}
