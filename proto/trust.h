/* The certificates of a TLS client: the servers that it trusts, by a CA or by the fingerprint of
 * one pinned certificate, and its own certificate. Each kind of trust is a libwebsockets vhost of
 * its own, for client connections only, which lives as long as its context. */
#ifndef RAYDBG_PROTO_TRUST_H
#define RAYDBG_PROTO_TRUST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct lws_context;
struct lws_protocols;
struct lws_vhost;

/* Each may be NULL. Borrowed for the duration of the call. */
struct trust {
    const char *ca;          /* PEM file; NULL: the system's */
    const char *fingerprint; /* "SHA256:…" of the only certificate to accept, with any issuer and
                                for any name; `ca` is then ignored */
    const char *cert, *key;  /* PEM files for mutual TLS: both or none */
};

#define TRUST_FINGERPRINT_ROOM (7 + 64 + 1)

/* Parses "SHA256:" and 64 hex digits of either case, with or without colons between the pairs, and
 * writes it with lower-case digits and no colons. False if `text` is not a fingerprint. */
bool trust_fingerprint_parse(const char *text, char out[TRUST_FINGERPRINT_ROOM]);

/* The vhost for connections to `host` (no brackets; "+PATH" is a unix socket) with these protocols
 * (static; [0].name tells them apart). With `tls` it connects through the proxy that proxy_find()
 * finds, else directly. `trust` is read only with `tls`. NULL with `err` set if a file or the proxy
 * cannot be used or the fingerprint is not valid. */
struct lws_vhost *trust_vhost(struct lws_context *context, const struct lws_protocols *protocols,
                              const char *host, bool tls, const struct trust *trust,
                              struct err *err);

/* The ssl_connection flags for a connection to `host` on such a vhost. */
int trust_flags(const char *host, bool tls);

#define TRUST_PROBLEM_ROOM 256
/* Called when a connection fails, from its LWS_CALLBACK_CLIENT_CONNECTION_ERROR: one clause about
 * the certificate that was rejected, or "". Given once, because other connections have the vhost,
 * too: libwebsockets calls that back in the turn in which the handshake fails. */
void trust_take_problem(const struct lws_vhost *vhost, char *out, size_t size);

#define TRUST_WAY_ROOM 224
/* For a message: "through the proxy HOST:PORT, which https_proxy names", or "". */
void trust_way(const struct lws_vhost *vhost, char *out, size_t size);

#endif
