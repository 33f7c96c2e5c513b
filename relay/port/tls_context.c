#include "relay/port/tls_context.h"

#include "relay/port/client_hello.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static int select_protocol(SSL *tls, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char own[] = "\x06" CLIENT_HELLO_RAYDBG;
    unsigned char *found = NULL;
    (void)tls, (void)arg;
    if (SSL_select_next_proto(&found, out_len, own, sizeof own - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

/* An agent shows no certificate: it proves its key, as on loopback. */
static SSL_CTX *make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context,
                        SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    return context;
}

static SSL_CTX *checked(SSL_CTX *context, bool usable)
{
    if (usable)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

SSL_CTX *tls_context_load(const char *cert, const char *key)
{
    ERR_clear_error();
    SSL_CTX *context = make_context();
    return checked(context, context && SSL_CTX_use_certificate_chain_file(context, cert) == 1 &&
                                SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1);
}

/* --- through a memfd --- */

static bool write_pem(SSL_CTX *context, BIO *file)
{
    STACK_OF(X509) *chain = NULL;
    if (PEM_write_bio_PrivateKey(file, SSL_CTX_get0_privatekey(context), NULL, NULL, 0, NULL,
                                 NULL) != 1 ||
        PEM_write_bio_X509(file, SSL_CTX_get0_certificate(context)) != 1)
        return false;
    SSL_CTX_get0_chain_certs(context, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) /* of no chain: -1 */
        if (PEM_write_bio_X509(file, sk_X509_value(chain, i)) != 1)
            return false;
    return true;
}

int tls_context_save(SSL_CTX *context)
{
    int memory = memfd_create("raydbg-tls", MFD_CLOEXEC);
    BIO *file = memory < 0 ? NULL : BIO_new_fd(memory, BIO_NOCLOSE);
    bool saved = file && write_pem(context, file);
    BIO_free(file);
    if (saved)
        return memory;
    if (memory >= 0)
        close(memory);
    return -1;
}

/* The first certificate is the relay's own; then come those that lead to its issuer. */
static bool read_pem(SSL_CTX *context, BIO *file)
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(file, NULL, NULL, NULL);
    X509 *cert = PEM_read_bio_X509(file, NULL, NULL, NULL);
    bool usable = key && cert && SSL_CTX_use_certificate(context, cert) == 1 &&
                  SSL_CTX_use_PrivateKey(context, key) == 1;
    X509_free(cert);
    EVP_PKEY_free(key);
    while (usable && (cert = PEM_read_bio_X509(file, NULL, NULL, NULL))) {
        usable = SSL_CTX_add1_chain_cert(context, cert) == 1;
        X509_free(cert);
    }
    ERR_clear_error(); /* of the end of the file */
    return usable;
}

SSL_CTX *tls_context_restore(int memory)
{
    ERR_clear_error();
    SSL_CTX *context = make_context();
    BIO *file = lseek(memory, 0, SEEK_SET) == 0 ? BIO_new_fd(memory, BIO_NOCLOSE) : NULL;
    bool usable = context && file && read_pem(context, file);
    BIO_free(file);
    return checked(context, usable);
}
