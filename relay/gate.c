/* Who may pass: Host, Origin and token of an HTTP request. */
#include "relay/conn.h"

#include "base/mem.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* Room for a header's value: longer ones are nobody's. */
enum { VALUE_SIZE = 1024 };

/* "HOST:PORT", "[V6]:PORT", "HOST": the host, without brackets. */
static void host_of(const char *text, char out[VALUE_SIZE])
{
    bool brackets = text[0] == '[';
    const char *start = text + brackets, *first = strchr(start, ':'), *last = strrchr(start, ':');
    size_t len = strlen(start);
    if (brackets)
        len = strcspn(start, "]");
    else if (first && first == last) /* more colons: an IPv6 address without brackets */
        len = (size_t)(last - start);
    if (len >= VALUE_SIZE)
        len = VALUE_SIZE - 1;
    memcpy(out, start, len);
    out[len] = '\0';
}

/* The address that the client has dialled: what a socket that listens on all of them is asked for.
 */
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
        host_of(listener->options.hosts[i], allowed);
        if (strcasecmp(host, allowed) == 0)
            return true;
    }
    return false;
}

/* A name that leads to another address tomorrow cannot lead a browser to a unix socket. */
static bool check_host(const struct conn *conn, struct lws *wsi)
{
    char value[VALUE_SIZE], host[VALUE_SIZE];
    if (conn_port(conn)->is_unix)
        return true;
    if (lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_HOST) <= 0)
        return false;
    host_of(value, host);
    return is_allowed_host(conn->listener, host) || is_own_address(wsi, host);
}

static bool check_origin(const struct conn *conn, struct lws *wsi)
{
    const struct listener_options *options = &conn->listener->options;
    char value[VALUE_SIZE];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) == 0)
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

static enum refusal check_token(const struct conn *conn, struct lws *wsi, enum auth_role *role)
{
    static const char scheme[] = "Bearer ";
    char value[VALUE_SIZE];
    const char *token = NULL;
    const struct auth *auth = conn->listener->options.auth;
    int len = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    if (len > 0 && lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_HTTP_AUTHORIZATION) > 0 &&
        strncasecmp(value, scheme, sizeof scheme - 1) == 0)
        token = value + strlen(scheme) + strspn(value + strlen(scheme), " ");
    *role = auth_check(auth, token);
    explicit_bzero(value, sizeof value);
    if (*role != AUTH_NONE)
        return REFUSAL_NONE;
    return len > 0 ? REFUSAL_WRONG_TOKEN : REFUSAL_NO_TOKEN;
}

enum refusal gate_check(const struct conn *conn, struct lws *wsi, bool open_to_all,
                        enum auth_role *role)
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
    return open_to_all ? REFUSAL_NONE : check_token(conn, wsi, role);
}
