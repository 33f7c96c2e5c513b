/* Where a relay is, and how to trust it. */
#ifndef RAYDBG_RELAY_RELAY_ADDRESS_H
#define RAYDBG_RELAY_RELAY_ADDRESS_H

#include "base/err.h"
#include "proto/http.h"
#include "proto/trust.h"
#include "relay/loop.h"

#include <stdbool.h>

#define RELAY_PORT 4713

/* Strings are owned. */
struct relay_address {
    char *host; /* no brackets; or the path of a unix socket */
    unsigned short port;
    bool is_unix;
    bool tls;
    char *token;       /* or NULL */
    char *ca;          /* PEM file for TLS, or NULL: the system's */
    char *fingerprint; /* "SHA256:…" of the certificate to pin, or NULL */
    char *cert, *key;  /* PEM files for mutual TLS, or NULL */
};

/* "HOST:PORT" (TLS unless HOST is loopback), "http://…", "https://…", "unix:PATH"; fills the place
 * only. A missing port is 4713. http:// to a host that is not loopback is refused: the token would
 * go in the clear. */
int relay_address_parse(struct relay_address *out, const char *text, struct err *err);
void relay_address_copy(struct relay_address *to, const struct relay_address *from);
void relay_address_clear(struct relay_address *address);
/* "https://10.0.0.5:4713", for messages; the caller frees. */
char *relay_address_text(const struct relay_address *address);
/* "127.0.0.1:4713", "/run/raydbg.sock", as a user would say it; the caller frees. */
char *relay_address_short(const struct relay_address *address);

/* "localhost", 127.0.0.0/8, ::1. */
bool relay_address_is_loopback(const char *host);

/* What libwebsockets and proto/http take for a host: the name, or "+PATH"; the caller frees. */
char *relay_address_host(const struct relay_address *address);
struct trust relay_address_trust(const struct relay_address *address); /* borrows */

/* One request to the relay (`method` is static: "GET" or "POST"). */
struct http_get *relay_address_request(const struct relay_address *address, struct loop *loop,
                                       const char *method, const char *path, int64_t deadline_ms,
                                       http_fn fn, void *arg);
/* The err of a reply that is no 200: in the relay's own words if it has some. -1; 0 for a 200. */
int relay_address_reply(const struct relay_address *address, const struct http_reply *reply,
                        struct err *err);

#endif
