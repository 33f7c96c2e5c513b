/* Which connections the relay's port takes for an agent's, of real clients and of damaged ones. */
#include "cmocka_prelude.h"

#include "relay/port/client_hello.h"

#include <openssl/ssl.h>
#include <string.h>

enum { LIMIT = 8192 };

/* What OpenSSL's client sends first; `protocols` in ALPN's form, or NULL. */
static size_t hello_of(const char *protocols, int version, unsigned char *out)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, version);
    SSL *tls = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *sent = BIO_new(BIO_s_mem());
    SSL_set_bio(tls, in, sent);
    if (protocols)
        SSL_set_alpn_protos(tls, (const unsigned char *)protocols, (unsigned)strlen(protocols));
    SSL_set_tlsext_host_name(tls, "head.example");
    assert_int_equal(SSL_connect(tls), -1);
    int len = BIO_read(sent, out, LIMIT);
    assert_true(len > 0);
    SSL_free(tls);
    SSL_CTX_free(context);
    return (size_t)len;
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static void agents_and_others(void **state)
{
    static const struct {
        const char *protocols;
        enum client_hello expected;
    } cases[] = {
        {"\x06raydbg", CLIENT_HELLO_AGENT},
        {"\x06raydbg\x08http/1.1", CLIENT_HELLO_AGENT},
        {"\x08http/1.1\x06raydbg", CLIENT_HELLO_OTHER},
        {"\x08http/1.1", CLIENT_HELLO_OTHER},
        {"\x07raydbg2", CLIENT_HELLO_OTHER},
        {"\x05raydb", CLIENT_HELLO_OTHER},
        {NULL, CLIENT_HELLO_OTHER},
    };
    unsigned char hello[LIMIT];
    (void)state;
    for (size_t v = 0; v < 2; v++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            size_t len = hello_of(cases[i].protocols, versions[v], hello);
            assert_int_equal(client_hello_read(hello, len, LIMIT), cases[i].expected);
        }
}

static void it_comes_in_parts(void **state)
{
    unsigned char hello[LIMIT];
    size_t len = hello_of("\x06raydbg", TLS1_3_VERSION, hello);
    (void)state;
    for (size_t i = 0; i < len; i++)
        assert_int_equal(client_hello_read(hello, i, LIMIT), CLIENT_HELLO_PART);
    memset(hello + len, 0xff, LIMIT - len); /* what follows it does not matter */
    assert_int_equal(client_hello_read(hello, LIMIT, LIMIT), CLIENT_HELLO_AGENT);
}

static void what_is_too_long_is_none(void **state)
{
    unsigned char hello[LIMIT];
    size_t len = hello_of("\x06raydbg", TLS1_3_VERSION, hello);
    (void)state;
    assert_int_equal(client_hello_read(hello, len, len), CLIENT_HELLO_AGENT);
    assert_int_equal(client_hello_read(hello, len, len - 1), CLIENT_HELLO_OTHER);
    assert_int_equal(client_hello_read("GET / HTTP/1.1\r\n", 16, LIMIT), CLIENT_HELLO_OTHER);
    assert_int_equal(client_hello_read("", 0, LIMIT), CLIENT_HELLO_PART);
}

/* No length within may lead out of the bytes: the sanitizers look on. Each copy is as long as its
 * bytes. */
static void damaged_ones_are_read_within_their_bytes(void **state)
{
    unsigned char hello[LIMIT];
    size_t len = hello_of("\x06raydbg", TLS1_3_VERSION, hello);
    (void)state;
    for (size_t i = 0; i < len; i++)
        for (unsigned value = 0; value <= 0xff; value += 0x33) {
            unsigned char *copy = malloc(len);
            memcpy(copy, hello, len);
            copy[i] = (unsigned char)value;
            enum client_hello read = client_hello_read(copy, len, LIMIT);
            assert_true(read == CLIENT_HELLO_PART || read == CLIENT_HELLO_AGENT ||
                        read == CLIENT_HELLO_OTHER);
            free(copy);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_and_others),
        cmocka_unit_test(it_comes_in_parts),
        cmocka_unit_test(what_is_too_long_is_none),
        cmocka_unit_test(damaged_ones_are_read_within_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
