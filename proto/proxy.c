#include "proto/proxy.h"

#include "base/mem.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* The room that libwebsockets 4.1 has. */
enum { USER_MAX = 80, HOST_MAX = 127 };

/* --- addresses --- */

struct address {
    uint8_t bytes[16];
    unsigned bits; /* 32 or 128 */
};

static void set_v6(struct address *out, const struct in6_addr *v6)
{
    bool mapped = IN6_IS_ADDR_V4MAPPED(v6);
    out->bits = mapped ? 32 : 128;
    memcpy(out->bytes, v6->s6_addr + (mapped ? 12 : 0), out->bits / 8);
}

/* Every form that connect() would take: "127.1" and "::ffff:127.0.0.1", too. */
static bool read_address(struct address *out, const char *text)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    *out = (struct address){.bits = 0};
    if (getaddrinfo(text, NULL, &hints, &found) != 0)
        return false;
    if (found->ai_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)found->ai_addr;
        out->bits = 32;
        memcpy(out->bytes, &v4->sin_addr, 4);
    } else if (found->ai_family == AF_INET6) {
        set_v6(out, &((const struct sockaddr_in6 *)(const void *)found->ai_addr)->sin6_addr);
    }
    freeaddrinfo(found);
    return out->bits != 0;
}

static bool is_within(const struct address *host, const struct address *network, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return host->bits == network->bits && bits <= network->bits &&
           memcmp(host->bytes, network->bytes, whole) == 0 &&
           (!rest || (host->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0);
}

/* Without a dot at the end. */
static size_t name_len(const char *name)
{
    size_t len = strlen(name);
    return len && name[len - 1] == '.' ? len - 1 : len;
}

bool proxy_is_loopback(const char *host)
{
    static const char local[] = "localhost";
    struct address address;
    if (!read_address(&address, host))
        return name_len(host) == strlen(local) && strncasecmp(host, local, strlen(local)) == 0;
    if (address.bits == 32)
        return address.bytes[0] == 127;
    return IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)(const void *)address.bytes);
}

/* --- no_proxy --- */

/* `entry` is writable: brackets and a port are cut off. */
static const char *bare(char *entry)
{
    char *end = *entry == '[' ? strchr(entry, ']') : NULL, *colon = strchr(entry, ':');
    if (end) {
        *end = '\0';
        return entry + 1;
    }
    if (colon && !strchr(colon + 1, ':'))
        *colon = '\0';
    return entry;
}

static bool is_below(const char *host, const char *domain)
{
    while (*domain == '.')
        domain++;
    size_t len = name_len(domain), host_len = name_len(host);
    if (!len || host_len < len || strncasecmp(host + host_len - len, domain, len) != 0)
        return false;
    return host_len == len || host[host_len - len - 1] == '.';
}

static bool entry_has(char *entry, const char *host)
{
    struct address at, network;
    char *slash = strchr(entry, '/');
    int64_t bits = -1;
    if (text_equal(entry, "*"))
        return true;
    if (slash && !text_to_int(slash + 1, 0, 128, &bits))
        return false;
    if (slash)
        *slash = '\0';
    const char *name = bare(entry);
    if (!read_address(&network, name))
        return !slash && is_below(host, name);
    return read_address(&at, host) &&
           is_within(&at, &network, slash ? (unsigned)bits : network.bits);
}

bool proxy_list_has(const char *list, const char *host)
{
    static const char between[] = ", \t";
    bool found = false;
    while (list && *list && !found) {
        size_t len = strcspn(list, between);
        char *entry = mem_string_n(list, len);
        found = len && entry_has(entry, host);
        free(entry);
        list += len + (list[len] != '\0');
    }
    return found;
}

/* --- https_proxy --- */

/* The value of the first of two variables that is set, even if it is empty. */
static const char *first_set(const char *const names[2], const char **name)
{
    for (int i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        *name = names[i];
        if (value)
            return value;
    }
    return "";
}

static char *decode(const char *text, size_t len)
{
    char *out = mem_string_n(text, len), *to = out;
    uint8_t byte;
    for (size_t i = 0; i < len; i++) {
        char hex[3] = {0};
        if (text[i] == '%' && i + 2 < len)
            memcpy(hex, text + i + 1, 2);
        if (hex[0] && text_unhex(hex, &byte, 1) && byte) {
            *to++ = (char)byte;
            i += 2;
        } else {
            *to++ = text[i];
        }
    }
    *to = '\0';
    return out;
}

/* `value` is [http://][USER:PASSWORD@]HOST:PORT[/]. */
static bool read_value(struct proxy *out, const char *value)
{
    static const char scheme[] = "http://";
    char host[HOST_MAX + 1];
    uint16_t port;
    if (strncasecmp(value, scheme, strlen(scheme)) == 0)
        value += strlen(scheme);
    if (strstr(value, "://"))
        return false;
    const char *at = strrchr(value, '@');
    if (at) {
        out->user = decode(value, (size_t)(at - value));
        value = at + 1;
    }
    out->address = mem_string_n(value, strcspn(value, "/"));
    return (!out->user || strlen(out->user) <= USER_MAX) &&
           text_split_host_port(out->address, host, sizeof host, &port) && *host && port;
}

int proxy_find(struct proxy *out, const char *host, struct err *err)
{
    static const char *const proxies[] = {"https_proxy", "HTTPS_PROXY"};
    static const char *const exceptions[] = {"no_proxy", "NO_PROXY"};
    const char *name;
    *out = (struct proxy){0};
    const char *value = first_set(proxies, &out->variable);
    if (!*value || proxy_is_loopback(host) || proxy_list_has(first_set(exceptions, &name), host))
        return 0;
    if (read_value(out, value))
        return 0;
    err_set(err, ERR_USAGE, "%s names no proxy that can be used", out->variable);
    err_why(err, "it must be http://HOST:PORT");
    err_hint(err, "no_proxy=%s makes this connection a direct one", host);
    proxy_clear(out);
    return -1;
}

void proxy_clear(struct proxy *proxy)
{
    if (proxy->user)
        explicit_bzero(proxy->user, strlen(proxy->user));
    free(proxy->user);
    free(proxy->address);
    *proxy = (struct proxy){0};
}
