/* Certificates that are rejected, and what fails for other reasons after that or meanwhile. */
#include "cmocka_prelude.h"
#include "http_server.h"

#include "base/text.h"
#include "proto/http.h"
#include "proto/trust.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>

enum { DEADLINE_MS = 60000, MAX_BODY = 1000 };

#define ANOTHER "SHA256:0000000000000000000000000000000000000000000000000000000000000000"

/* A server with a certificate of its own, which answers each client that takes it. */
struct tls_server {
    int listener;
    uint16_t port;
    pthread_t thread;
    SSL_CTX *ssl;
    char fingerprint[TRUST_FINGERPRINT_ROOM];
};

static void certify(struct tls_server *server)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = sizeof digest;
    X509 *cert = X509_new();
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"me", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_gmtime_adj(X509_getm_notBefore(cert), -100);
    X509_gmtime_adj(X509_getm_notAfter(cert), 100000);
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    assert_int_equal(X509_digest(cert, EVP_sha256(), digest, &len), 1);
    assert_int_equal(SSL_CTX_use_certificate(server->ssl, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(server->ssl, key), 1);
    text_copy(server->fingerprint, sizeof server->fingerprint, "SHA256:");
    text_hex(digest, len, server->fingerprint + strlen(server->fingerprint));
    EVP_PKEY_free(key);
    X509_free(cert);
}

static void *serve(void *arg)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    const struct tls_server *server = arg;
    char request[4096];
    for (;;) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        SSL *ssl = SSL_new(server->ssl);
        SSL_set_fd(ssl, fd);
        if (SSL_accept(ssl) == 1 && SSL_read(ssl, request, sizeof request) > 0)
            SSL_write(ssl, answer, sizeof answer - 1);
        ERR_clear_error();
        SSL_free(ssl);
        close(fd);
    }
}

static void server_start(struct tls_server *server)
{
    server->ssl = SSL_CTX_new(TLS_server_method());
    certify(server);
    server->listener = http_server_bind(&server->port);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct tls_server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    SSL_CTX_free(server->ssl);
}

struct answer {
    bool given;
    enum http_result result;
    char why[200];
};

static void on_reply(void *arg, const struct http_reply *reply)
{
    struct answer *answer = arg;
    answer->given = true;
    answer->result = reply->result;
    text_copy(answer->why, sizeof answer->why, reply->why);
}

static struct http_get *begin(struct lws_context *context, uint16_t port, const char *fingerprint,
                              struct answer *answer)
{
    const struct trust trust = {.fingerprint = fingerprint};
    *answer = (struct answer){.given = false};
    return http_get(&(struct http_request){.context = context,
                                           .host = "127.0.0.1",
                                           .port = port,
                                           .path = "/",
                                           .tls = true,
                                           .trust = &trust,
                                           .deadline_ms = DEADLINE_MS,
                                           .max_body = MAX_BODY},
                    on_reply, answer);
}

static void expect(struct lws_context *context, const struct answer *answer,
                   enum http_result result, bool by_certificate)
{
    while (!answer->given)
        lws_service(context, 0);
    if (answer->result != result)
        print_error("result %d, '%s'\n", (int)answer->result, answer->why);
    assert_int_equal(answer->result, result);
    assert_true(!strstr(answer->why, "certificate") == !by_certificate);
}

/* The relay has ended, say, since its certificate was rejected. */
static void a_later_failure_is_told_as_what_it_is(void **state)
{
    (void)state;
    struct tls_server server;
    struct lws_context *context = http_client_context();
    struct answer answer;
    server_start(&server);
    begin(context, server.port, ANOTHER, &answer);
    expect(context, &answer, HTTP_UNTRUSTED, true);
    begin(context, server.port, server.fingerprint, &answer);
    expect(context, &answer, HTTP_ANSWERED, false);
    server_stop(&server);
    begin(context, server.port, ANOTHER, &answer);
    expect(context, &answer, HTTP_NO_CONNECT, false);
    lws_context_destroy(context);
}

/* One of several servers with equal settings is a wrong one; another one hangs up after that. */
static void so_is_one_of_a_connection_that_was_under_way(void **state)
{
    (void)state;
    struct tls_server server;
    struct lws_context *context = http_client_context();
    struct answer rejected, lost;
    uint16_t silent_port;
    int silent = http_server_bind(&silent_port);
    assert_int_equal(listen(silent, 8), 0);
    server_start(&server);
    begin(context, silent_port, ANOTHER, &lost);
    begin(context, server.port, ANOTHER, &rejected);
    expect(context, &rejected, HTTP_UNTRUSTED, true);
    assert_false(lost.given);
    close(accept(silent, NULL, NULL));
    expect(context, &lost, HTTP_NO_CONNECT, false);
    close(silent);
    server_stop(&server);
    lws_context_destroy(context);
}

int main(void)
{
    alarm(120); /* a callback that never comes must not hang the run */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_failure_is_told_as_what_it_is),
        cmocka_unit_test(so_is_one_of_a_connection_that_was_under_way),
    };
    return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
