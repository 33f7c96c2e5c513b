/* The certificate and the rules with which agents and pydevds are accepted (tls_terminator.h), and
 * the way of both into another process: through a memfd, so that the key is in no file and no argv.
 */
#ifndef RAYDBG_RELAY_PORT_TLS_CONTEXT_H
#define RAYDBG_RELAY_PORT_TLS_CONTEXT_H

#include <openssl/ssl.h>

/* From PEM files; NULL if they cannot be used. The caller frees it with SSL_CTX_free(). */
SSL_CTX *tls_context_load(const char *cert, const char *key);

/* Returns a memfd, close-on-exec, or -1. */
int tls_context_save(SSL_CTX *context);
/* From such a memfd, which stays the caller's; NULL if it is none. */
SSL_CTX *tls_context_restore(int memory);

#endif
