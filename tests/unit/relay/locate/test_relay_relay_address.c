#include "cmocka_prelude.h"

#include "relay/locate/relay_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_address(const char *text, const char *expected)
{
    struct relay_address address;
    struct err err;
    if (relay_address_parse(&address, text, &err) != 0)
        fail_msg("%s: %s: %s", text, err.what, err.why);
    char *shown = relay_address_text(&address);
    assert_string_equal(shown, expected);
    free(shown);
    relay_address_clear(&address);
}

static void addresses(void **state)
{
    (void)state;
    assert_address("127.0.0.1:4713", "http://127.0.0.1:4713");
    assert_address("localhost", "http://localhost:4713");
    assert_address("[::1]:99", "http://[::1]:99");
    assert_address("::1", "http://[::1]:4713");
    assert_address("127.9.9.9:1", "http://127.9.9.9:1");
    assert_address("10.0.0.5:4713", "https://10.0.0.5:4713");
    assert_address("head.example", "https://head.example:4713");
    assert_address("[2001:db8::1]", "https://[2001:db8::1]:4713");
    assert_address("https://127.0.0.1:7/", "https://127.0.0.1:7");
    assert_address("http://localhost:7", "http://localhost:7");
    assert_address("http://LOCALHOST:7", "http://LOCALHOST:7");
    assert_address("LocalHost", "http://LocalHost:4713");
    assert_address("https://head.example", "https://head.example:4713");
    assert_address("unix:/run/r.sock", "unix:/run/r.sock");
}

static void nonsense(void **state)
{
    static const char *const texts[] = {
        "",           "https://",         "unix:",           "host:0",
        "host:99999", "host:x",           "http://10.0.0.5", "[::1",
        "a b:1",      "https://h:1/path", "https://h@x",     "1:2:3:4",
        ":4713",      "ws://h:1",         "[[h]:1",          "a b",
        "h\x01",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct relay_address address;
        struct err err = {0};
        if (relay_address_parse(&address, texts[i], &err) == 0)
            fail_msg("'%s' was taken", texts[i]);
        assert_int_equal(err.code, ERR_USAGE);
        assert_null(address.host);
    }
}

static void a_socket_path_that_is_too_long(void **state)
{
    char text[5 + 108 + 1] = "unix:";
    struct relay_address address;
    struct err err;
    (void)state;
    memset(text + 5, 'a', 108);
    text[5 + 108] = '\0';
    assert_int_equal(relay_address_parse(&address, text, &err), -1);
    text[5 + 107] = '\0';
    assert_int_equal(relay_address_parse(&address, text, &err), 0);
    relay_address_clear(&address);
}

static void assert_refusal(int status, const char *body, enum err_code code, const char *what,
                           const char *why)
{
    struct relay_address address;
    struct err err = {0};
    const struct http_reply reply = {.result = HTTP_ANSWERED,
                                     .status = status,
                                     .type = "",
                                     .location = "",
                                     .body = body,
                                     .len = strlen(body),
                                     .why = ""};
    assert_int_equal(relay_address_parse(&address, "127.0.0.1:1", &err), 0);
    assert_int_equal(relay_address_reply(&address, &reply, &err), -1);
    assert_int_equal(err.code, code);
    assert_string_equal(err.what, what);
    assert_string_equal(err.why, why);
    relay_address_clear(&address);
}

static void refusals(void **state)
{
    static const char words[] = "{\"error\":{\"what\":\"no\",\"why\":\"because\",\"hint\":\"h\"}}";
    (void)state;
    assert_refusal(401, words, ERR_DENIED, "no", "because");
    assert_refusal(403, words, ERR_DENIED, "no", "because");
    assert_refusal(404, words, ERR_NOT_FOUND, "no", "because");
    assert_refusal(409, words, ERR_FAILED, "no", "because");
    assert_refusal(503, words, ERR_UNREACHABLE, "no", "because");
    assert_refusal(500, "{\"error\":{\"what\":\"no\"}}", ERR_FAILED, "no", "");
    assert_refusal(401, "<html>", ERR_DENIED,
                   "the relay http://127.0.0.1:1 refused with HTTP status 401",
                   "a token is missing, or is not the relay's");
    assert_refusal(302, "", ERR_FAILED, "the relay http://127.0.0.1:1 refused with HTTP status 302",
                   "is that a raydbg relay?");
}

static void fingerprints(void **state)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char out[TRUST_FINGERPRINT_ROOM], text[256], plain[TRUST_FINGERPRINT_ROOM];
    (void)state;
    snprintf(plain, sizeof plain, "SHA256:%s", hex);
    assert_true(trust_fingerprint_parse(plain, out));
    assert_string_equal(out, plain);
    text[0] = '\0';
    static const char digits[] = "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF";
    for (size_t i = 0; i < 32; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.2s",
                 i ? ":" : "sha256:", &digits[2 * i]);
    assert_true(trust_fingerprint_parse(text, out));
    assert_string_equal(out, plain);
    for (size_t cut = 0; cut < strlen(plain); cut++) {
        snprintf(text, sizeof text, "%.*s", (int)cut, plain);
        assert_false(trust_fingerprint_parse(text, out));
    }
    snprintf(text, sizeof text, "%s0", plain);
    assert_false(trust_fingerprint_parse(text, out));
    snprintf(text, sizeof text, "SHA256:0:%s", hex + 1);
    assert_false(trust_fingerprint_parse(text, out));
    snprintf(text, sizeof text, "SHA256:%sg", hex + 1);
    assert_false(trust_fingerprint_parse(text, out));
    assert_false(trust_fingerprint_parse(NULL, out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(a_socket_path_that_is_too_long),
        cmocka_unit_test(refusals),
        cmocka_unit_test(fingerprints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
