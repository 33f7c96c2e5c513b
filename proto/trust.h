/* Whom a TLS client trusts: a CA, or one certificate that is pinned by its fingerprint; and what it
 * shows of itself. Each kind of trust is a libwebsockets vhost of its own, for client connections
 * only, which lives as long as its context. */
#ifndef RAYDBG_PROTO_TRUST_H
#define RAYDBG_PROTO_TRUST_H

#include "base/err.h"

#include <stdbool.h>

struct lws_context;
struct lws_protocols;
struct lws_vhost;

/* All may be NULL. Borrowed for the call that gets them. */
struct trust {
    const char *ca;          /* PEM file; NULL: the system's */
    const char *fingerprint; /* "SHA256:…" of the one certificate that is right, whoever signed it
                                and for whatever name: `ca` does not matter then */
    const char *cert, *key;  /* PEM files for mutual TLS: both or none */
};

#define TRUST_FINGERPRINT_ROOM (7 + 64 + 1)

/* "SHA256:" and 64 hex digits, of either case, with colons between the pairs or without; writes it
 * as OpenSSL's digest in lower case without colons. False if it is none. */
bool trust_fingerprint_parse(const char *text, char out[TRUST_FINGERPRINT_ROOM]);

/* The vhost for connections to `host` (no brackets) with these protocols (static; [0].name tells
 * them apart). Without `tls` `trust` is not read. NULL with `err` set: a file that cannot be used,
 * a fingerprint that is none. */
struct lws_vhost *trust_vhost(struct lws_context *context, const struct lws_protocols *protocols,
                              const char *host, bool tls, const struct trust *trust,
                              struct err *err);

/* The ssl_connection flags for a connection to `host` on such a vhost. */
int trust_flags(const char *host, bool tls);

/* After a connection has failed: one clause on the certificate that was not right, or "". */
const char *trust_problem(const struct lws_vhost *vhost);

#endif
