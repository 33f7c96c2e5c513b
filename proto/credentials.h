/* The token and the TLS files that Ray's own clients use (ray-facts.md 3 and 4). */
#ifndef RAYDBG_PROTO_CREDENTIALS_H
#define RAYDBG_PROTO_CREDENTIALS_H

#include "base/err.h"

#include <stdbool.h>

/* Owns its strings. A token is never logged and never put into an error. */
struct credentials {
    char *token; /* NULL: none; sent as `authorization: Bearer <token>` */
    const char
        *token_source; /* for messages: "RAY_AUTH_TOKEN", a file's name; owned if allocated */
    bool use_tls;
    char *tls_ca; /* PEM text */
    char *tls_cert;
    char *tls_key;
};

/* From RAY_AUTH_TOKEN > RAY_AUTH_TOKEN_PATH > ~/.ray/auth_token, unless RAY_AUTH_MODE=disabled;
 * RAY_USE_TLS=1 with RAY_TLS_CA_CERT, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY. White space around a
 * token is trimmed. A path that is set but missing or empty is an error, with no fall-through. */
int credentials_load(struct credentials *credentials, struct err *err);
void credentials_clear(struct credentials *credentials);

#endif
