/* The relay's own certificate, and which ones it would serve. */
#include "certificates.h"

#include "base/text.h"
#include "relay/access/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/test-certificate-XXXXXX", cert[64], key[64];

static int make_directory(void **state)
{
    (void)state;
    snprintf(cert, sizeof cert, "%s/c.pem", mkdtemp(dir));
    snprintf(key, sizeof key, "%s/k.pem", dir);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(dir);
}

static X509 *load(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    X509 *it = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    assert_non_null(it);
    return it;
}

static void a_pair_is_made(void **state)
{
    (void)state;
    static const char *const hosts[] = {"relay.example", "10.0.0.5", "2001:db8::1"};
    struct err err = {0};
    struct stat info;
    struct tm end;
    assert_int_equal(certificate_make(cert, key, hosts, 3, 90, &err), 0);
    assert_int_equal(stat(key, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(certificate_check(cert, key, NULL, &err), 0);
    X509 *it = load(cert);
    assert_int_equal(ASN1_TIME_to_tm(X509_get0_notAfter(it), &end), 1);
    assert_in_range(timegm(&end) - time(NULL), 90 * 86400 - 60, 90 * 86400 + 60);
    assert_int_equal(X509_check_host(it, "relay.example", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(it, "localhost", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(it, "evil.example", 0, 0, NULL), 0);
    assert_int_equal(X509_check_ip_asc(it, "10.0.0.5", 0), 1);
    assert_int_equal(X509_check_ip_asc(it, "2001:db8::1", 0), 1);
    assert_int_equal(X509_check_ip_asc(it, "::1", 0), 1);
    assert_int_equal(X509_check_ip_asc(it, "10.0.0.6", 0), 0);
    assert_int_equal(X509_check_ca(it), 0);
    X509_free(it);
    assert_int_equal(certificate_make(cert, key, NULL, 0, 90, &err), -1);
    assert_string_equal(err.why, strerror(EEXIST));
    assert_int_equal(certificate_check(cert, key, NULL, &err), 0); /* untouched */
    assert_int_equal(unlink(key), 0);
    assert_int_equal(certificate_make(cert, key, NULL, 0, 90, &err), -1);
    assert_int_equal(stat(key, &info), -1); /* no key without its certificate */
    assert_int_equal(unlink(cert), 0);
}

static void a_name_is_no_language(void **state)
{
    (void)state;
    static const char *const bad[] = {"a,DNS:evil", "", "a b", "dirName:x", "a\n"};
    struct err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(certificate_make(cert, key, &bad[i], 1, 90, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_int_equal(access(key, F_OK), -1);
    }
}

static void fingerprints(void **state)
{
    (void)state;
    char print[CERTIFICATE_FINGERPRINT_SIZE], der[CERTIFICATE_FINGERPRINT_SIZE];
    struct err err = {0};
    unsigned char *bytes = NULL;
    certificate_fingerprint_der("abc", 3, der);
    assert_string_equal(der,
                        "SHA256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    struct test_pair pair = test_pair_make(dir, "one", 50, NULL);
    int len = i2d_X509(pair.cert, &bytes);
    certificate_fingerprint_der(bytes, (size_t)len, der);
    OPENSSL_free(bytes);
    assert_int_equal(certificate_fingerprint(pair.cert_path, print, &err), 0);
    assert_string_equal(print, der);
    assert_int_equal(certificate_fingerprint(pair.key_path, print, &err), -1);
    assert_int_equal(certificate_fingerprint("/nonexistent", print, &err), -1);
    assert_string_equal(err.why, strerror(ENOENT));
    test_pair_free(&pair);
}

static void what_cannot_be_served(void **state)
{
    (void)state;
    struct err err = {0};
    struct test_pair good = test_pair_make(dir, "good", 50, NULL);
    struct test_pair expired = test_pair_make(dir, "expired", -1, NULL);
    assert_int_equal(certificate_check(good.cert_path, good.key_path, expired.cert_path, &err), 0);
    assert_int_equal(certificate_check(good.cert_path, expired.key_path, NULL, &err), -1);
    assert_non_null(strstr(err.what, "is not the key of"));
    assert_int_equal(certificate_check(expired.cert_path, expired.key_path, NULL, &err), -1);
    assert_string_equal(err.why, "it has expired");
    assert_int_equal(certificate_check(good.cert_path, good.key_path, good.key_path, &err), -1);
    assert_int_equal(certificate_check(good.key_path, good.key_path, NULL, &err), -1);
    assert_int_equal(certificate_check(good.cert_path, good.cert_path, NULL, &err), -1);
    test_pair_free(&good);
    test_pair_free(&expired);
}

/* Whether the check of a pair that is good for `days` days writes a warning. */
static bool warns(int days)
{
    struct err err = {0};
    char path[] = "/tmp/raydbg-warning-XXXXXX", text[512] = "";
    struct test_pair pair = test_pair_make(dir, "soon", days, NULL);
    int out = mkstemp(path), old = dup(STDERR_FILENO);
    assert_true(out >= 0 && old >= 0);
    assert_int_equal(dup2(out, STDERR_FILENO), STDERR_FILENO);
    int rc = certificate_check(pair.cert_path, pair.key_path, NULL, &err);
    dup2(old, STDERR_FILENO);
    close(old);
    assert_int_equal(rc, 0);
    assert_true(pread(out, text, sizeof text - 1, 0) >= 0);
    close(out);
    unlink(path);
    test_pair_free(&pair);
    return strstr(text, "expires in less than") != NULL;
}

static void the_end_is_told_two_weeks_before(void **state)
{
    (void)state;
    assert_true(warns(13));
    assert_false(warns(15));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_is_made),
        cmocka_unit_test(a_name_is_no_language),
        cmocka_unit_test(fingerprints),
        cmocka_unit_test(what_cannot_be_served),
        cmocka_unit_test(the_end_is_told_two_weeks_before),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
