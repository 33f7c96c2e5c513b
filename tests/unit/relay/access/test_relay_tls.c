/* The relay's port with TLS: whose certificate is good, and what speaks no TLS. */
#include "certificates.h"
#include "websocket_client.h"

#include "relay/access/certificate.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

static char dir[] = "/tmp/test-tls-XXXXXX";
static struct test_pair ca, good, expired, stranger, own;

static int make_pairs(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    ca = test_pair_make(dir, "ca", 50, NULL);
    good = test_pair_make(dir, "good", 50, &ca);
    expired = test_pair_make(dir, "expired", -1, &ca);
    stranger = test_pair_make(dir, "stranger", 50, NULL);
    own = test_pair_make(dir, "own", 50, NULL);
    return 0;
}

static int free_pairs(void **state)
{
    (void)state;
    test_pair_free(&ca);
    test_pair_free(&good);
    test_pair_free(&expired);
    test_pair_free(&stranger);
    test_pair_free(&own);
    return rmdir(dir);
}

static struct server *start(bool mutual)
{
    struct listener_options options = {.tls_cert = own.cert_path,
                                       .tls_key = own.key_path,
                                       .tls_client_ca = mutual ? ca.cert_path : NULL};
    return server_start(options, NULL, false);
}

struct tls {
    int fd;
    SSL_CTX *context;
    SSL *ssl;
};

static struct tls tls_dial(const struct server *server, const struct test_pair *pair)
{
    struct tls tls = {.fd = dial(server), .context = SSL_CTX_new(TLS_client_method())};
    if (pair) {
        SSL_CTX_use_certificate(tls.context, pair->cert);
        SSL_CTX_use_PrivateKey(tls.context, pair->key);
    }
    tls.ssl = SSL_new(tls.context);
    SSL_set_fd(tls.ssl, tls.fd);
    return tls;
}

static void tls_close(struct tls *tls)
{
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->context);
    close(tls->fd);
    ERR_clear_error();
}

/* What comes until the end, or nothing if the handshake fails; the caller frees. */
static char *ask(const struct server *server, const struct test_pair *pair, const char *text)
{
    struct tls tls = tls_dial(server, pair);
    struct buf all = {0};
    int got = SSL_connect(tls.ssl);
    if (got == 1)
        got = SSL_write(tls.ssl, text, (int)strlen(text));
    while (got > 0) {
        got = SSL_read(tls.ssl, buf_reserve(&all, 4096), 4096);
        all.len += got > 0 ? (size_t)got : 0;
    }
    tls_close(&tls);
    return buf_take(&all);
}

#define GET "GET /x HTTP/1.1\r\n" HOST BEARER "\r\n"

static void https(void **state)
{
    (void)state;
    struct server *server = start(false);
    expect_in(ask(server, NULL, GET), "GET /x driver");
    expect_in(ask(server, NULL, "GET /x HTTP/1.1\r\n" HOST "\r\n"), "401 Unauthorized");
    expect_in(ask(server, NULL, "POST /x HTTP/1.1\r\n" HOST BEARER "Content-Length: 3\r\n\r\nabc"),
              "POST /x driver abc");
    expect_in(ask(server, NULL, UPGRADE("/dap") "\r\n"), "401 Unauthorized");
    server_stop(server);
}

static void certificates_of_clients(void **state)
{
    (void)state;
    struct server *server = start(true);
    const struct test_pair *const bad[] = {NULL, &expired, &stranger, &own};
    expect_in(ask(server, &good, GET), "GET /x driver");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *all = ask(server, bad[i], GET);
        if (all[0])
            fail_msg("%s was let in", bad[i] ? bad[i]->cert_path : "no certificate");
        free(all);
    }
    server_stop(server);
}

static void plain_bytes_are_told_so(void **state)
{
    (void)state;
    struct server *server = start(false);
    int fd = dial(server);
    put_text(fd, DAP("hello", "5"));
    expect_in(take_all(fd), "raydbg dap --relay");
    fd = dial(server);
    put_text(fd, GET);
    char *all = take_all(fd);
    assert_non_null(strstr(all, "400 Bad Request"));
    expect_in(all, "this port speaks TLS");
    assert_int_equal(server->opened, 0);
    server_stop(server);
}

static void read_tls(SSL *ssl, void *out, size_t len)
{
    for (size_t at = 0; at < len;) {
        int got = SSL_read(ssl, (char *)out + at, (int)(len - at));
        assert_true(got > 0);
        at += (size_t)got;
    }
}

static void websocket(void **state)
{
    (void)state;
    enum { SIZE = 300000, FRAMES = 5, HEADERS = 4 * 10 + 4 };
    static const uint8_t ask_big[] = {FIN | TEXT, 0x80 | 11, 0,   0,   0,   0,   '!', 'b', 'i',
                                      'g',        ' ',       '3', '0', '0', '0', '0', '0'};
    struct server *server = start(false);
    struct tls tls = tls_dial(server, NULL);
    char text[4096] = {0};
    static char big[SIZE + HEADERS];
    assert_int_equal(SSL_connect(tls.ssl), 1);
    SSL_write(tls.ssl, UPGRADE("/dap") BEARER "\r\n", sizeof(UPGRADE("/dap") BEARER "\r\n") - 1);
    assert_true(SSL_read(tls.ssl, text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "101 Switching"));
    SSL_write(tls.ssl, ask_big, sizeof ask_big);
    read_tls(tls.ssl, big, sizeof big);
    assert_int_equal((uint8_t)big[0], TEXT);
    assert_int_equal((uint8_t)big[1], 127);
    assert_int_equal(big[sizeof big - 1], 'a' + (SIZE - 1) % 26);
    tls_close(&tls);
    wait_for(&server->closed, 1);
    server_stop(server);
}

static void a_handshake_that_stops(void **state)
{
    (void)state;
    struct server *server = server_start((struct listener_options){.tls_cert = own.cert_path,
                                                                   .tls_key = own.key_path,
                                                                   .first_ms = LATER_MS},
                                         NULL, false);
    int fd = dial(server);
    put(fd, "\x16\x03\x01\x02", 4);
    wait_connections(server, 1);
    server_turns(server);
    server_skip(server, LATER_MS);
    char byte;
    assert_int_equal(take(fd, &byte, 1), 0);
    close(fd);
    wait_connections(server, 0);
    server_stop(server);
}

static void unusable_files(void **state)
{
    (void)state;
    struct err err = {0};
    struct loop *loop = loop_create(true, &err);
    struct auth *auth = test_auth(), *open = auth_create_open();
    const char *const addresses[] = {"0.0.0.0:0"};
    struct listener_options options = {
        .loop = loop, .auth = auth, .addresses = addresses, .address_count = 1};
    options.tls_cert = own.cert_path;
    assert_null(listener_create(&options, &server_ops, NULL, &err));
    assert_string_equal(err.what, "TLS needs a certificate and its key");
    options.tls_key = good.key_path;
    assert_null(listener_create(&options, &server_ops, NULL, &err));
    assert_non_null(strstr(err.what, "is not the key of"));
    options.tls_key = own.key_path;
    struct listener *listener = listener_create(&options, &server_ops, NULL, &err);
    assert_non_null(listener); /* off loopback */
    listener_destroy(&listener);
    options.auth = open;
    assert_null(listener_create(&options, &server_ops, NULL, &err));
    assert_non_null(strstr(err.what, "there is no token"));
    auth_destroy(&auth);
    auth_destroy(&open);
    loop_destroy(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(https),
        cmocka_unit_test(certificates_of_clients),
        cmocka_unit_test(plain_bytes_are_told_so),
        cmocka_unit_test(websocket),
        cmocka_unit_test(a_handshake_that_stops),
        cmocka_unit_test(unusable_files),
    };
    return cmocka_run_group_tests(tests, make_pairs, free_pairs);
}
