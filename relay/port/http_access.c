/* Checks the Host, Origin and token of an HTTP request. */
#include "relay/port/conn.h"

#include "base/mem.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for a header's value. A longer one is refused; a token's fits. */
enum { VALUE_SIZE = 1024 };
static_assert(AUTH_TOKEN_MOST + sizeof "Bearer " <= VALUE_SIZE, "a token fits into its header");

/* True for "", ":" and ":PORT". */
static bool is_port(const char *text)
{
    int64_t port;
    return !*text || (*text == ':' && (!text[1] || (text[1] != '-' && strlen(text) < 7 &&
                                                    text_to_int(text + 1, 0, UINT16_MAX, &port))));
}

/* Copies the host, without brackets and without the dot at the end of an absolute name, out of
 * "HOST", "HOST:PORT", "V6", "[V6]" or "[V6]:PORT". False for all else. */
static bool host_of(const char *text, char out[VALUE_SIZE])
{
    struct in6_addr v6;
    bool brackets = text[0] == '[';
    const char *start = text + brackets, *first = strchr(start, ':');
    size_t len = strlen(start);
    if (brackets)
        len = strcspn(start, "]");
    else if (first && !strchr(first + 1, ':')) /* more colons: an IPv6 address without brackets */
        len = (size_t)(first - start);
    if (!len || len >= VALUE_SIZE || (brackets && start[len] != ']') ||
        !is_port(start + len + brackets))
        return false;
    memcpy(out, start, len);
    out[len] = '\0';
    if (len > 1 && out[len - 1] == '.')
        out[len - 1] = '\0';
    return !brackets || inet_pton(AF_INET6, out, &v6) == 1;
}

/* True if `host` is the address that the client has dialled: a socket that listens on all addresses
 * gets requests for each of them. */
static bool is_own_address(const struct lws *wsi, const char *host)
{
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;
    char text[INET6_ADDRSTRLEN];
    if (getsockname((int)lws_get_socket_fd((struct lws *)(uintptr_t)wsi), (struct sockaddr *)&own,
                    &size) != 0)
        return false;
    const void *bytes = own.ss_family == AF_INET
                            ? (const void *)&((const struct sockaddr_in *)&own)->sin_addr
                            : (const void *)&((const struct sockaddr_in6 *)&own)->sin6_addr;
    return (own.ss_family == AF_INET || own.ss_family == AF_INET6) &&
           inet_ntop(own.ss_family, bytes, text, sizeof text) && strcasecmp(text, host) == 0;
}

/* The relay's registration may give this machine's name if the relay listens on all addresses. */
static bool is_registered_name(const struct listener *listener, const char *host)
{
    char name[VALUE_SIZE] = "";
    bool all = false;
    for (size_t i = 0; i < listener->ports.count; i++)
        all = all || text_equal(listener->ports.items[i].host, "0.0.0.0") ||
              text_equal(listener->ports.items[i].host, "::");
    return all && gethostname(name, sizeof name - 1) == 0 && strcasecmp(name, host) == 0;
}

static bool is_allowed_host(const struct listener *listener, const char *host)
{
    static const char *const always[] = {"localhost", "127.0.0.1", "::1"};
    char allowed[VALUE_SIZE];
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcasecmp(host, always[i]) == 0)
            return true;
    for (size_t i = 0; i < listener->ports.count; i++)
        if (listener->ports.items[i].host && strcasecmp(host, listener->ports.items[i].host) == 0)
            return true;
    for (size_t i = 0; i < listener->options.host_count; i++) {
        if (host_of(listener->options.hosts[i], allowed) && strcasecmp(host, allowed) == 0)
            return true;
    }
    return is_registered_name(listener, host);
}

/* Against DNS rebinding: a name that leads to another address tomorrow. It cannot lead a browser to
 * a unix socket. */
static bool check_host(const struct conn *conn, struct lws *wsi)
{
    char value[VALUE_SIZE], host[VALUE_SIZE];
    if (conn_port(conn)->is_unix)
        return true;
    if (lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_HOST) <= 0)
        return false;
    return host_of(value, host) &&
           (is_allowed_host(conn->listener, host) || is_own_address(wsi, host));
}

static bool check_origin(const struct conn *conn, struct lws *wsi)
{
    const struct listener_options *options = &conn->listener->options;
    char value[VALUE_SIZE];
    /* An empty header has length 0, too, like a missing one. */
    if (lws_hdr_copy_fragment(wsi, value, sizeof value, WSI_TOKEN_ORIGIN, 0) < 0 &&
        lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) == 0)
        return true;
    if (lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_ORIGIN) <= 0)
        return false;
    for (size_t i = 0; i < options->origin_count; i++)
        if (strcasecmp(value, options->origins[i]) == 0)
            return true;
    return false;
}

static bool has_url_token(struct lws *wsi)
{
    char value[CONN_HEADER_LIMIT];
    return lws_get_urlarg_by_name(wsi, "token=", value, sizeof value) ||
           lws_get_urlarg_by_name(wsi, "access_token=", value, sizeof value);
}

/* This relay's text for the endpoint that the client names, or NULL. The caller frees. */
static char *endpoint_of(const struct conn *conn, const char *asked)
{
    if (text_equal(asked, PROOF_ANYWHERE))
        return mem_string(PROOF_ANYWHERE);
    if (!text_equal(asked, PROOF_HERE) || !*conn->listener->machine)
        return NULL;
    return proof_endpoint(conn->listener->machine, conn_port(conn)->text);
}

/* Splits "ENDPOINT CLIENT-NONCE RELAY-NONCE PROOF", and changes `text`. */
static bool split_proof(char *text, const char *pieces[4])
{
    char *rest = NULL;
    for (size_t i = 0; i < 4; i++)
        if (!(pieces[i] = strtok_r(i ? NULL : text, " ", &rest)))
            return false;
    return !strtok_r(NULL, " ", &rest) && proof_is_hex(pieces[1], PROOF_ROOM - 1);
}

/* The role that a proof gives, AUTH_NONE if it is invalid. Changes `text`. */
static enum auth_role check_proof(const struct conn *conn,
                                  const struct http_access_request *request, char *text)
{
    const struct listener *listener = conn->listener;
    const char *pieces[4];
    enum auth_role role = AUTH_NONE;
    int64_t now_ms = loop_now_us() / 1000;
    if (!split_proof(text, pieces))
        return AUTH_NONE;
    char *endpoint = endpoint_of(conn, pieces[0]);
    const struct proof_exchange exchange = {auth_relay_id(listener->options.auth), endpoint,
                                            pieces[1], pieces[2]};
    if (endpoint && challenges_valid(listener->challenges, pieces[2], pieces[1], endpoint, now_ms))
        role = auth_check_proof(listener->options.auth, &exchange, request->method, request->path,
                                pieces[3]);
    if (role != AUTH_NONE)
        challenges_use(listener->challenges, pieces[2], now_ms);
    free(endpoint);
    return role;
}

static enum refusal check_token(const struct conn *conn, struct lws *wsi,
                                const struct http_access_request *request, enum auth_role *role)
{
    static const char scheme[] = "Bearer ";
    char value[VALUE_SIZE];
    const char *token = NULL;
    const struct auth *auth = conn->listener->options.auth;
    int len = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    if (len <= 0 || lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_HTTP_AUTHORIZATION) <= 0)
        value[0] = '\0';
    if (strncasecmp(value, scheme, sizeof scheme - 1) == 0)
        token = value + strlen(scheme) + strspn(value + strlen(scheme), " ");
    *role = auth_check(auth, token);
    if (*role == AUTH_NONE && text_starts(value, PROOF_SCHEME))
        *role = check_proof(conn, request, value + strlen(PROOF_SCHEME));
    explicit_bzero(value, sizeof value);
    if (*role != AUTH_NONE)
        return REFUSAL_NONE;
    return len > 0 ? REFUSAL_WRONG_TOKEN : REFUSAL_NO_TOKEN;
}

enum refusal http_access_check(const struct conn *conn, struct lws *wsi,
                               const struct http_access_request *request, enum auth_role *role)
{
    *role = AUTH_NONE;
    if (conn->refusal)
        return conn->refusal;
    if (!check_host(conn, wsi))
        return REFUSAL_HOST;
    if (!check_origin(conn, wsi))
        return REFUSAL_ORIGIN;
    if (has_url_token(wsi))
        return REFUSAL_URL_TOKEN;
    enum refusal refusal = check_token(conn, wsi, request, role);
    return request->open_to_all ? REFUSAL_NONE : refusal;
}

static void add_proofs(struct buf *json, const struct auth *auth,
                       const struct proof_exchange *exchange)
{
    char *proofs[2];
    auth_relay_proofs(auth, exchange, proofs);
    buf_printf(json, "{\"id\":\"%s\",\"nonce\":\"%s\",\"open\":%s,\"proofs\":[", exchange->relay_id,
               exchange->relay_nonce, auth_is_open(auth) ? "true" : "false");
    for (size_t i = 0; i < 2; i++) {
        if (proofs[i])
            buf_printf(json, "%s\"%s\"", i ? "," : "", proofs[i]);
        free(proofs[i]);
    }
    buf_add_string(json, "]}");
}

/* False if the query does not have it, or its value does not fit. */
static bool get_argument(struct lws *wsi, const char *name, char *out, size_t size)
{
    char text[CONN_HEADER_LIMIT]; /* libwebsockets stops at the first argument that does not fit */
    const char *value = lws_get_urlarg_by_name(wsi, name, text, sizeof text);
    return value && text_copy(out, size, value);
}

enum refusal http_access_challenge(const struct conn *conn, struct lws *wsi, struct buf *json)
{
    const struct listener *listener = conn->listener;
    char nonce[PROOF_ROOM], asked[16], relay_nonce[CHALLENGE_ROOM];
    bool sound = get_argument(wsi, "nonce=", nonce, sizeof nonce) &&
                 proof_is_hex(nonce, PROOF_ROOM - 1) &&
                 get_argument(wsi, "place=", asked, sizeof asked);
    char *endpoint = sound ? endpoint_of(conn, asked) : NULL;
    if (!endpoint)
        return REFUSAL_CHALLENGE;
    challenges_issue(listener->challenges, nonce, endpoint, loop_now_us() / 1000, relay_nonce);
    const struct proof_exchange exchange = {auth_relay_id(listener->options.auth), endpoint, nonce,
                                            relay_nonce};
    add_proofs(json, listener->options.auth, &exchange);
    free(endpoint);
    return REFUSAL_NONE;
}
