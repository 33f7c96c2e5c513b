/* A relay's address, and what it takes to trust the relay. */
#ifndef RAYDBG_RELAY_LOCATE_RELAY_ADDRESS_H
#define RAYDBG_RELAY_LOCATE_RELAY_ADDRESS_H

#include "base/err.h"
#include "proto/http.h"
#include "proto/trust.h"
#include "relay/io/loop.h"

#include <stdbool.h>

#define RELAY_PORT 4713

/* Owns its strings. */
struct relay_address {
    char *host; /* without brackets; or the path of a unix socket */
    unsigned short port;
    bool is_unix;
    bool tls;
    char *token;       /* or NULL; sent over TLS only (relay_call.h) */
    char *id;          /* the id that the relay must have, if it has registered itself; or NULL */
    char *ca;          /* PEM file for TLS, or NULL: the system's */
    char *fingerprint; /* "SHA256:…" of the certificate to pin, or NULL */
    char *cert, *key;  /* PEM files for mutual TLS, or NULL */
};

/* Parses "HOST:PORT" (TLS unless HOST is loopback), "http://…", "https://…" or "unix:PATH"; sets
 * only the host, the port, is_unix and tls. A missing port is 4713. http:// is refused unless the
 * host is loopback: off this machine a relay speaks https only. */
int relay_address_parse(struct relay_address *out, const char *text, struct err *err);
void relay_address_copy(struct relay_address *to, const struct relay_address *from);
void relay_address_clear(struct relay_address *address);
/* "https://10.0.0.5:4713", for messages; the caller frees. */
char *relay_address_text(const struct relay_address *address);
/* "127.0.0.1:4713", "/run/raydbg.sock", as a user would write it; the caller frees. */
char *relay_address_short(const struct relay_address *address);

/* The host as libwebsockets and proto/http take it: the name, or "+PATH"; the caller frees. */
char *relay_address_host(const struct relay_address *address);
struct trust relay_address_trust(const struct relay_address *address); /* borrows */

/* Returns 0 for a reply with status 200, else -1 with `err`, in the relay's own words if it has
 * some. */
int relay_address_reply(const struct relay_address *address, const struct http_reply *reply,
                        struct err *err);

#endif
