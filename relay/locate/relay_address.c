#include "relay/locate/relay_address.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/proxy.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static int malformed(const char *text, const char *why, struct err *err)
{
    err_set(err, ERR_USAGE, "'%s' is no address of a relay", text);
    err_why(err, "%s", why);
    return err_hint(err, "give HOST:PORT, https://HOST:PORT or unix:PATH");
}

static int parse_unix(struct relay_address *out, const char *text, const char *path,
                      struct err *err)
{
    if (!*path || strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        return malformed(text, "a unix socket's path has 1 to 107 bytes", err);
    out->is_unix = true;
    out->host = mem_string(path);
    return 0;
}

/* "HOST", "HOST:PORT", "[V6]", "[V6]:PORT", "V6". */
static bool split(const char *address, char *host, size_t size, uint16_t *port)
{
    struct in6_addr v6;
    size_t len = strlen(address);
    *port = RELAY_PORT;
    if (text_split_host_port(address, host, size, port))
        return *port > 0;
    bool bracketed = len > 2 && address[0] == '[' && address[len - 1] == ']';
    if (len >= size)
        return false;
    text_copy(host, size, bracketed ? address + 1 : address);
    if (bracketed)
        host[len - 2] = '\0';
    return inet_pton(AF_INET6, host, &v6) == 1 || (!bracketed && *host && !strpbrk(host, ":[]/"));
}

int relay_address_parse(struct relay_address *out, const char *text, struct err *err)
{
    char address[600], host[512];
    uint16_t port;
    *out = (struct relay_address){0};
    if (text_starts(text, "unix:"))
        return parse_unix(out, text, text + strlen("unix:"), err);
    bool http = text_starts(text, "http://"), https = text_starts(text, "https://");
    const char *rest = text + (http ? strlen("http://") : https ? strlen("https://") : 0);
    if (!text_copy(address, sizeof address, rest))
        return malformed(text, "it is too long", err);
    size_t len = strlen(address);
    if ((http || https) && len && address[len - 1] == '/')
        address[len - 1] = '\0';
    if (!split(address, host, sizeof host, &port) || !*host || strpbrk(host, "/@[]") ||
        !text_is_graphic(host, strlen(host)))
        return malformed(text, "there is no host and port in it", err);
    bool loopback = proxy_is_loopback(host);
    if (http && !loopback)
        return malformed(text, "off this machine a relay speaks https only", err);
    out->host = mem_string(host);
    out->port = port;
    out->tls = https || (!http && !loopback);
    return 0;
}

void relay_address_copy(struct relay_address *to, const struct relay_address *from)
{
    *to = *from;
    to->host = mem_string(from->host);
    to->token = mem_string(from->token);
    to->id = mem_string(from->id);
    to->ca = mem_string(from->ca);
    to->fingerprint = mem_string(from->fingerprint);
    to->cert = mem_string(from->cert);
    to->key = mem_string(from->key);
}

void relay_address_clear(struct relay_address *address)
{
    if (address->token)
        explicit_bzero(address->token, strlen(address->token));
    free(address->host);
    free(address->token);
    free(address->id);
    free(address->ca);
    free(address->fingerprint);
    free(address->cert);
    free(address->key);
    *address = (struct relay_address){0};
}

char *relay_address_short(const struct relay_address *address)
{
    if (address->is_unix)
        return mem_string(address->host);
    return text_join_host_port(address->host, address->port);
}

char *relay_address_text(const struct relay_address *address)
{
    char *name = relay_address_short(address);
    char *text = mem_format("%s%s",
                            address->is_unix ? "unix:"
                            : address->tls   ? "https://"
                                             : "http://",
                            name);
    free(name);
    return text;
}

char *relay_address_host(const struct relay_address *address)
{
    return mem_format("%s%s", address->is_unix ? "+" : "", address->host);
}

struct trust relay_address_trust(const struct relay_address *address)
{
    return (struct trust){
        .ca = address->ca,
        .fingerprint = address->fingerprint,
        .cert = address->cert,
        .key = address->key,
    };
}

/* --- HTTP --- */

/* Reads {"error":{"what","why","hint"}}; false if the body is something else. */
static bool read_words(const struct http_reply *reply, enum err_code code, struct err *err)
{
    cJSON *root = cJSON_ParseWithLength(reply->body, reply->len);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const char *what = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "what"));
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "why"));
    const char *hint = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "hint"));
    if (what) {
        err_set(err, code, "%s", what);
        err_why(err, "%s", why ? why : "");
        err_hint(err, "%s", hint ? hint : "");
    }
    cJSON_Delete(root);
    return what != NULL;
}

static const struct {
    int status;
    enum err_code code;
    const char *why, *hint;
} statuses[] = {
    {401, ERR_DENIED, "a token is missing, or is not the relay's",
     "RAYDBG_TOKEN or --relay-token-file gives it; the relay's is in ~/.local/state/raydbg/token"},
    {403, ERR_DENIED, "this client may not do that", ""},
    {404, ERR_NOT_FOUND, "it knows nothing of that name", "raydbg list shows what is paused"},
    {409, ERR_FAILED, "it is not in the state for that", ""},
    {429, ERR_FAILED, "there are too many connections from this address", "try again later"},
    {503, ERR_UNREACHABLE, "it takes no more sessions at the moment", "try again later"},
};

static int refused(const struct http_reply *reply, const char *where, struct err *err)
{
    enum err_code code = ERR_FAILED;
    size_t row = 0, rows = sizeof statuses / sizeof *statuses;
    while (row < rows && statuses[row].status != reply->status)
        row++;
    if (row < rows)
        code = statuses[row].code;
    if (read_words(reply, code, err))
        return -1;
    err_set(err, code, "the relay %s refused with HTTP status %d", where, reply->status);
    if (row == rows)
        return err_why(err, "is that a raydbg relay?");
    err_why(err, "%s", statuses[row].why);
    return err_hint(err, "%s", statuses[row].hint);
}

int relay_address_reply(const struct relay_address *address, const struct http_reply *reply,
                        struct err *err)
{
    static const char *const reasons[] = {
        [HTTP_BROKEN] = "it answered with something else than HTTP, or hung up",
        [HTTP_TIMEOUT] = "it did not answer in time",
        [HTTP_TOO_LARGE] = "its answer is too large",
    };
    if (reply->result == HTTP_ANSWERED && reply->status == 200)
        return 0;
    char *where = relay_address_text(address);
    if (reply->result == HTTP_ANSWERED) {
        refused(reply, where, err);
    } else if (reply->result == HTTP_UNTRUSTED) {
        err_set(err, ERR_DENIED, "the relay %s is not trusted", where);
        err_why(err, "%s", reply->why);
        err_hint(err, "%s",
                 address->tls ? "--relay-fingerprint or --relay-ca says which certificate is right"
                              : "RAYDBG_TOKEN or --relay-token-file gives the relay's token; "
                                "raydbg relay --upgrade replaces an older relay");
    } else {
        const char *reason = *reply->why ? reply->why : reasons[reply->result];
        err_set(err, ERR_UNREACHABLE, "the relay %s cannot be reached", where);
        err_why(err, "%s", reason ? reason : "nothing accepts connections there");
        err_hint(err, "is it running? raydbg relay starts one; --no-relay goes without");
    }
    free(where);
    return -1;
}
