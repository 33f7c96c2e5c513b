/* Where the token and the TLS files come from: Ray's own order. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/credentials.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/raydbg-test-XXXXXX";
static struct credentials credentials;
static struct err err;

static const char *const variables[] = {
    "RAY_AUTH_TOKEN",  "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE",      "RAY_USE_TLS",
    "RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY",
};

/* A path in the home directory; valid until the next call. */
static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", home, name);
    return path;
}

static const char *write_file(const char *name, const char *text, size_t len)
{
    const char *path = path_of(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
    return path;
}

static const char *write_text(const char *name, const char *text)
{
    return write_file(name, text, strlen(text));
}

static int fresh(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    unlink(path_of(".ray/auth_token"));
    setenv("HOME", home, 1);
    err = (struct err){0};
    return 0;
}

static int clear(void **state)
{
    (void)state;
    credentials_clear(&credentials);
    assert_null(credentials.token);
    return 0;
}

static void expect_token(const char *token, const char *source)
{
    assert_int_equal(credentials_load(&credentials, &err), 0);
    if (token)
        assert_string_equal(credentials.token, token);
    else
        assert_null(credentials.token);
    if (source)
        assert_string_equal(credentials.token_source, source);
    credentials_clear(&credentials);
}

/* Fails with a message that has `words` in one of its lines. */
static void expect_error(const char *words)
{
    char line[2048];
    assert_int_equal(credentials_load(&credentials, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_null(credentials.token);
    err_line(&err, line, sizeof line);
    if (!strstr(line, words))
        fail_msg("\"%s\" is not in \"%s\"", words, line);
}

static void has_none_by_default(void **state)
{
    (void)state;
    expect_token(NULL, NULL);
    assert_false(credentials.use_tls);
}

static void takes_the_first_source(void **state)
{
    (void)state;
    write_text(".ray/auth_token", "home\n");
    char file[256];
    text_copy(file, sizeof file, path_of(".ray/auth_token"));
    expect_token("home", file);
    setenv("RAY_AUTH_TOKEN_PATH", write_text("named", " named \r\n"), 1);
    expect_token("named", path_of("named"));
    setenv("RAY_AUTH_TOKEN", "\t variable \n", 1);
    expect_token("variable", "RAY_AUTH_TOKEN");
    setenv("RAY_AUTH_TOKEN", " ", 1); /* empty is unset */
    expect_token("named", path_of("named"));
    setenv("RAY_AUTH_TOKEN_PATH", "", 1);
    expect_token("home", file);
    setenv("RAY_AUTH_MODE", "disabled", 1);
    expect_token(NULL, NULL);
    setenv("RAY_AUTH_MODE", "token", 1);
    expect_token("home", file);
}

static void a_named_file_must_have_a_token(void **state)
{
    (void)state;
    write_text(".ray/auth_token", "home\n");
    setenv("RAY_AUTH_TOKEN_PATH", path_of("missing"), 1);
    expect_error("No such file");
    expect_error("RAY_AUTH_TOKEN_PATH");
    setenv("RAY_AUTH_TOKEN_PATH", write_text("empty", " \n"), 1);
    expect_error("empty");
    setenv("RAY_AUTH_TOKEN_PATH", home, 1);
    expect_error("Is a directory");
}

static void an_empty_file_at_home_is_none(void **state)
{
    (void)state;
    write_text(".ray/auth_token", "\n");
    expect_token(NULL, NULL);
}

static void never_shows_a_bad_token(void **state)
{
    (void)state;
    char line[2048];
    setenv("RAY_AUTH_TOKEN", "sec\nret", 1);
    expect_error("RAY_AUTH_TOKEN");
    err_line(&err, line, sizeof line);
    assert_null(strstr(line, "sec"));
    assert_null(strstr(line, "ret "));
    setenv("RAY_AUTH_TOKEN", "t\xC3\xBC", 1);
    expect_error("printable ASCII");
    setenv("RAY_AUTH_TOKEN", "t\x7F", 1);
    expect_error("printable ASCII");
}

static void huge_and_odd_files(void **state)
{
    (void)state;
    setenv("RAY_AUTH_TOKEN_PATH", "/dev/zero", 1);
    expect_error("too large");
    size_t len = 3000;
    char *big = mem_alloc(len + 1);
    memset(big, 'x', len);
    setenv("RAY_AUTH_TOKEN_PATH", write_file("big", big, len), 1);
    expect_token(big, NULL);
    free(big);
    unlink(path_of("pipe"));
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    setenv("RAY_AUTH_TOKEN_PATH", path_of("pipe"), 1);
    expect_error("pipe"); /* and does not hang */
}

static void reads_the_tls_files(void **state)
{
    (void)state;
    static const char pem[] = "-----BEGIN CERTIFICATE-----\n";
    setenv("RAY_USE_TLS", "1", 1);
    expect_error("RAY_TLS_CA_CERT is not set");
    setenv("RAY_TLS_CA_CERT", write_text("ca", pem), 1);
    expect_error("RAY_TLS_SERVER_CERT is not set");
    setenv("RAY_TLS_SERVER_CERT", write_text("cert", "nonsense"), 1);
    expect_error("no PEM");
    setenv("RAY_TLS_SERVER_CERT", write_text("cert", pem), 1);
    setenv("RAY_TLS_SERVER_KEY", path_of("missing"), 1);
    expect_error("No such file");
    setenv("RAY_TLS_SERVER_KEY", write_text("key", pem), 1);
    assert_int_equal(credentials_load(&credentials, &err), 0);
    assert_true(credentials.use_tls);
    assert_string_equal(credentials.tls_ca, pem);
    assert_string_equal(credentials.tls_cert, pem);
    assert_string_equal(credentials.tls_key, pem);
    credentials_clear(&credentials);
    setenv("RAY_USE_TLS", "True", 1);
    assert_int_equal(credentials_load(&credentials, &err), 0);
    assert_true(credentials.use_tls);
    credentials_clear(&credentials);
    setenv("RAY_USE_TLS", "0", 1);
    assert_int_equal(credentials_load(&credentials, &err), 0);
    assert_false(credentials.use_tls);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(has_none_by_default),
        TEST(takes_the_first_source),
        TEST(a_named_file_must_have_a_token),
        TEST(an_empty_file_at_home_is_none),
        TEST(never_shows_a_bad_token),
        TEST(huge_and_odd_files),
        TEST(reads_the_tls_files),
    };
    if (!mkdtemp(home) || mkdir(path_of(".ray"), 0700) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    static const char *const files[] = {
        ".ray/auth_token", ".ray", "named", "empty", "big", "pipe", "ca", "cert", "key", ""};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        remove(path_of(files[i]));
    return failed;
}
