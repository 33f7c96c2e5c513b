#include "proto/trust.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/ca_bundle.h"
#include "proto/proxy.h"

#include <libwebsockets.h>

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_BYTES = 32 };

/* A vhost's user data, freed with it. */
struct kept {
    char *name; /* libwebsockets keeps the pointer */
    SSL_CTX *ssl;
    uint8_t pin[DIGEST_BYTES];
    char problem[TRUST_PROBLEM_ROOM]; /* of the certificate rejected last, until it is taken */
    char *proxy;                      /* HOST:PORT, or NULL */
    const char *proxy_variable;
};

static const char pin_prefix[] = "SHA256:";

bool trust_fingerprint_parse(const char *text, char out[TRUST_FINGERPRINT_ROOM])
{
    size_t prefix = strlen(pin_prefix), len = prefix;
    if (!text || strncasecmp(text, pin_prefix, prefix) != 0)
        return false;
    memcpy(out, pin_prefix, prefix);
    for (const char *c = text + prefix; *c; c++) {
        bool between = len > prefix && (len - prefix) % 2 == 0 && isxdigit((unsigned char)c[1]);
        if (*c == ':' && between && c[-1] != ':')
            continue;
        if (!isxdigit((unsigned char)*c) || len == TRUST_FINGERPRINT_ROOM - 1)
            return false;
        out[len++] = (char)tolower((unsigned char)*c);
    }
    out[len] = '\0';
    return len == TRUST_FINGERPRINT_ROOM - 1;
}

/* --- the certificate --- */

/* Replaces OpenSSL's own verification. It runs within the handshake, before any sensitive data is
 * sent, including a client's own certificate. */
static int verify_pin(X509_STORE_CTX *store, void *arg)
{
    struct kept *kept = arg;
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    X509 *cert = X509_STORE_CTX_get0_cert(store);
    if (!cert || !X509_digest(cert, EVP_sha256(), digest, &len) || len != DIGEST_BYTES) {
        text_copy(kept->problem, sizeof kept->problem, "it showed no certificate");
    } else if (CRYPTO_memcmp(digest, kept->pin, DIGEST_BYTES) != 0) {
        char hex[2 * DIGEST_BYTES + 1];
        text_hex(digest, DIGEST_BYTES, hex);
        snprintf(kept->problem, sizeof kept->problem,
                 "its certificate is not the pinned one, but %s%s", pin_prefix, hex);
    } else {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

/* OpenSSL's usual verification; also notes the reason of a failure, which libwebsockets does not
 * keep. */
static int verify_chain(X509_STORE_CTX *store, void *arg)
{
    struct kept *kept = arg;
    int good = X509_verify_cert(store);
    if (good <= 0)
        snprintf(kept->problem, sizeof kept->problem, "its certificate is not trusted: %s",
                 X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
    return good;
}

static int ssl_failed(struct err *err, const char *what, const char *file)
{
    char words[256];
    ERR_error_string_n(ERR_peek_last_error(), words, sizeof words);
    ERR_clear_error();
    err_set(err, ERR_USAGE, "%s%s%s cannot be used", what, file ? " " : "", file ? file : "");
    const char *reason = strrchr(words, ':');
    return err_why(err, "%s", reason ? reason + 1 : words);
}

static int load_own(SSL_CTX *ssl, const struct trust *trust, struct err *err)
{
    if (!trust->cert != !trust->key)
        return err_set(err, ERR_USAGE, "a client certificate and its key go together");
    if (!trust->cert)
        return 0;
    if (SSL_CTX_use_certificate_chain_file(ssl, trust->cert) != 1)
        return ssl_failed(err, "the client certificate", trust->cert);
    if (SSL_CTX_use_PrivateKey_file(ssl, trust->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ssl) != 1)
        return ssl_failed(err, "the client certificate's key", trust->key);
    return 0;
}

static int load_trust(struct kept *kept, const struct trust *trust, struct err *err)
{
    if (trust->fingerprint) {
        char text[TRUST_FINGERPRINT_ROOM];
        if (!trust_fingerprint_parse(trust->fingerprint, text))
            return err_set(err, ERR_USAGE, "'%s' is no fingerprint: SHA256: and 64 hex digits",
                           trust->fingerprint);
        text_unhex(text + strlen(pin_prefix), kept->pin, DIGEST_BYTES);
        SSL_CTX_set_cert_verify_callback(kept->ssl, verify_pin, kept);
        return 0;
    }
    SSL_CTX_set_cert_verify_callback(kept->ssl, verify_chain, kept);
    const char *ca = trust->ca ? trust->ca : ca_bundle_find("");
    if (ca && SSL_CTX_load_verify_locations(kept->ssl, ca, NULL) != 1)
        return ssl_failed(err, "the CA file", ca);
    if (!ca && SSL_CTX_set_default_verify_paths(kept->ssl) != 1)
        return ssl_failed(err, "the system's CA certificates", NULL);
    return 0;
}

static int load(struct kept *kept, const char *host, const struct trust *trust, struct err *err)
{
    kept->ssl = SSL_CTX_new(TLS_client_method());
    if (!kept->ssl)
        return ssl_failed(err, "TLS", NULL);
    SSL_CTX_set_min_proto_version(kept->ssl, TLS1_2_VERSION);
    SSL_CTX_set_mode(kept->ssl, SSL_MODE_RELEASE_BUFFERS);
    if (strchr(host, ':'))
        X509_VERIFY_PARAM_set1_ip_asc(SSL_CTX_get0_param(kept->ssl), host);
    return load_trust(kept, trust, err) || load_own(kept->ssl, trust, err) ? -1 : 0;
}

/* --- the vhost --- */

static void kept_free(struct kept *kept)
{
    SSL_CTX_free(kept->ssl);
    free(kept->name);
    free(kept->proxy);
    free(kept);
}

static struct kept *kept_of(const struct lws_vhost *vhost)
{
    return lws_vhost_user((struct lws_vhost *)(uintptr_t)vhost);
}

static void on_vhost_gone(struct lws_vhost *vhost, void *arg)
{
    (void)vhost;
    kept_free(arg);
}

static char *vhost_name(const struct lws_protocols *protocols, const char *host, bool tls,
                        const struct trust *trust, const struct proxy *proxy)
{
#define OR_NONE(text) ((text) ? (text) : "")
    if (!tls)
        return mem_string(protocols[0].name);
    return mem_format("%s\n%s\n%s\n%s\n%s\n%s\n%s", protocols[0].name, OR_NONE(proxy->address),
                      strchr(host, ':') ? host : "", OR_NONE(trust->ca),
                      OR_NONE(trust->fingerprint), OR_NONE(trust->cert), OR_NONE(trust->key));
#undef OR_NONE
}

/* libwebsockets takes $http_proxy for each new vhost. */
static int set_proxy(struct lws_vhost *vhost, const struct proxy *proxy)
{
    if (!proxy->address)
        return lws_set_proxy(vhost, ":0"); /* port 0: none */
    char *spec = mem_format("%s%s%s", proxy->user ? proxy->user : "", proxy->user ? "@" : "",
                            proxy->address);
    int rc = lws_set_proxy(vhost, spec);
    explicit_bzero(spec, strlen(spec));
    free(spec);
    return rc;
}

static struct lws_vhost *create(struct lws_context *context, const struct lws_protocols *protocols,
                                bool tls, struct kept *kept, const struct proxy *proxy,
                                struct err *err)
{
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0,
        .provided_client_ssl_ctx = kept->ssl,
        .protocols = protocols,
        .vhost_name = kept->name,
        .user = kept,
        .finalize = on_vhost_gone,
        .finalize_arg = kept,
    };
    struct lws_vhost *vhost = lws_create_vhost(context, &info);
    if (vhost && set_proxy(vhost, proxy) == 0)
        return vhost;
    err_set(err, ERR_FAILED, "no client connection could be made");
    if (vhost)
        lws_vhost_destroy(vhost);
    return NULL;
}

struct lws_vhost *trust_vhost(struct lws_context *context, const struct lws_protocols *protocols,
                              const char *host, bool tls, const struct trust *trust,
                              struct err *err)
{
    static const struct trust usual;
    struct proxy proxy = {0};
    if (!trust)
        trust = &usual;
    if (tls && proxy_find(&proxy, host, err) != 0)
        return NULL;
    struct kept *kept = mem_alloc(sizeof *kept);
    kept->name = vhost_name(protocols, host, tls, trust, &proxy);
    kept->proxy = mem_string(proxy.address);
    kept->proxy_variable = proxy.variable;
    struct lws_vhost *vhost = lws_get_vhost_by_name(context, kept->name);
    if (vhost) /* a connection that was given up has not taken it */
        kept_of(vhost)->problem[0] = '\0';
    if (vhost || (tls && load(kept, host, trust, err) != 0))
        kept_free(kept);
    else
        vhost = create(context, protocols, tls, kept, &proxy, err);
    proxy_clear(&proxy);
    return vhost;
}

int trust_flags(const char *host, bool tls)
{
    /* libwebsockets cuts the name to check at its first colon: load() sets an IPv6 address. */
    int v6 = strchr(host, ':') ? LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK : 0;
    return tls ? LCCSCF_USE_SSL | v6 : 0;
}

void trust_take_problem(const struct lws_vhost *vhost, char *out, size_t size)
{
    struct kept *kept = kept_of(vhost);
    text_copy(out, size, kept->problem);
    kept->problem[0] = '\0';
}

void trust_way(const struct lws_vhost *vhost, char *out, size_t size)
{
    const struct kept *kept = kept_of(vhost);
    *out = '\0';
    if (kept->proxy)
        snprintf(out, size, "through the proxy %s, which %s names", kept->proxy,
                 kept->proxy_variable);
}
