/* The token and the TLS files that Ray's own clients use (docs/facts/ray.md#3 and #4). */
#ifndef RAYDBG_PROTO_CREDENTIALS_H
#define RAYDBG_PROTO_CREDENTIALS_H

#include "base/err.h"

#include <stdbool.h>

/* Owns its strings. A token is never logged and never put into an error. */
struct credentials {
    char *token;              /* NULL: none; sent as `authorization: Bearer <token>` */
    const char *token_source; /* for messages: "RAY_AUTH_TOKEN" or a file's name */
    bool use_tls;
    char *tls_ca; /* PEM text */
    char *tls_cert;
    char *tls_key;
};

/* Takes the token from the first of RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH and ~/.ray/auth_token,
 * unless RAY_AUTH_MODE=disabled, and with RAY_USE_TLS=1 the files that RAY_TLS_CA_CERT,
 * RAY_TLS_SERVER_CERT and RAY_TLS_SERVER_KEY name. White space around a token is trimmed. It is an
 * error, with no fall-through, if RAY_AUTH_TOKEN_PATH names a file that is missing or empty. */
int credentials_load(struct credentials *credentials, struct err *err);
void credentials_clear(struct credentials *credentials);

#endif
