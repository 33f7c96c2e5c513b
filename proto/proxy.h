/* The proxy of a connection with TLS, as the environment names it: https_proxy or HTTPS_PROXY, but
 * for the hosts in no_proxy or NO_PROXY. A proxy is asked to CONNECT, so it sees the name of the
 * far end and nothing that is said to it. A connection without TLS has no proxy: it would read
 * everything, tokens too. Called on any thread. */
#ifndef RAYDBG_PROTO_PROXY_H
#define RAYDBG_PROTO_PROXY_H

#include "base/err.h"

#include <stdbool.h>

/* Owns its strings. */
struct proxy {
    char *address;        /* HOST:PORT, or NULL: there is none */
    char *user;           /* USER:PASSWORD, or NULL; never shown */
    const char *variable; /* the variable that names it */
};

/* Finds the proxy for a connection with TLS to `host` (no brackets). An error if the variable names
 * something that cannot be used. */
int proxy_find(struct proxy *out, const char *host, struct err *err);
void proxy_clear(struct proxy *proxy);

/* True if `host` is one of those in `list`, which is as in no_proxy: names, which stand for
 * the names below them, too, addresses and networks ("10.0.0.0/8"), with commas or blanks between
 * them; a port is ignored. "*" is every host. */
bool proxy_list_has(const char *list, const char *host);

/* True for "localhost", 127.0.0.0/8 and ::1, in every form in which they can be written. */
bool proxy_is_loopback(const char *host);

#endif
