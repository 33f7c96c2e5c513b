/* The system's CA certificates, in directory trees with the files of one distribution each. */
#include "cmocka_prelude.h"

#include "proto/ca_bundle.h"

#include <errno.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/raydbg-ca-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    memcpy(strrchr(root, '-') + 1, "XXXXXX", 6);
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* Makes ROOT/PATH, an empty file, and the directories to it. */
static void have(const char *path)
{
    char whole[300];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *c = whole + strlen(root) + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
            *c = '/';
        }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fclose(file);
}

static void expect_only(const char *path)
{
    have(path);
    assert_string_equal(ca_bundle_find(root), path);
}

static void test_none(void **state)
{
    (void)state;
    assert_null(ca_bundle_find(root));
}

static void test_debian(void **state)
{
    (void)state;
    expect_only("/etc/ssl/certs/ca-certificates.crt");
}

static void test_rhel(void **state)
{
    (void)state;
    expect_only("/etc/pki/tls/certs/ca-bundle.crt");
}

static void test_newer_rhel(void **state)
{
    (void)state;
    expect_only("/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem");
}

static void test_suse(void **state)
{
    (void)state;
    expect_only("/etc/ssl/ca-bundle.pem");
}

static void test_newer_suse(void **state)
{
    (void)state;
    expect_only("/var/lib/ca-certificates/ca-bundle.pem");
}

static void test_alpine(void **state)
{
    (void)state;
    expect_only("/etc/ssl/cert.pem");
}

/* Alpine has both, the same certificates. */
static void test_first_of_two(void **state)
{
    (void)state;
    have("/etc/ssl/cert.pem");
    expect_only("/etc/ssl/certs/ca-certificates.crt");
}

/* OpenSSL reads a directory's files one by one, when they are asked for: that costs less. */
static void test_openssl_has_its_own(void **state)
{
    (void)state;
    char path[200];
    have("/etc/ssl/certs/ca-certificates.crt");
    snprintf(path, sizeof path, "%s/0a1b2c3d.0", X509_get_default_cert_dir());
    have(path);
    assert_null(ca_bundle_find(root));
}

static void test_user_names_one(void **state)
{
    (void)state;
    have("/etc/ssl/certs/ca-certificates.crt");
    setenv("SSL_CERT_FILE", "/some/where.pem", 1);
    assert_null(ca_bundle_find(root));
    setenv("SSL_CERT_FILE", "", 1);
    assert_non_null(ca_bundle_find(root));
    setenv("SSL_CERT_DIR", "/some/where", 1);
    assert_null(ca_bundle_find(root));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_debian, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rhel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_newer_rhel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_suse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_newer_suse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_alpine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_of_two, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_openssl_has_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_user_names_one, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
