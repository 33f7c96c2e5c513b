/* Certificates for tests, which certificate_make() does not make: signed by a CA, or expired. */
#ifndef RAYDBG_TESTS_CERTIFICATES_H
#define RAYDBG_TESTS_CERTIFICATES_H

#include "cmocka_prelude.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

struct test_pair {
    X509 *cert;
    EVP_PKEY *key;
    char cert_path[100], key_path[100];
};

static inline void test_pair_extend(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(cert, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* Valid from 10 days ago until `days` from now; `ca` NULL: signed by itself. Written to
 * DIR/NAME.pem and .key. */
static inline struct test_pair test_pair_make(const char *dir, const char *name, int days,
                                              const struct test_pair *ca)
{
    struct test_pair pair = {.cert = X509_new(), .key = EVP_EC_gen("P-256")};
    X509_NAME *subject = X509_get_subject_name(pair.cert);
    X509_set_version(pair.cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(pair.cert), days + 1000);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(pair.cert, ca ? X509_get_subject_name(ca->cert) : subject);
    X509_time_adj_ex(X509_getm_notBefore(pair.cert), -10, 0, NULL);
    X509_time_adj_ex(X509_getm_notAfter(pair.cert), days, 0, NULL);
    X509_set_pubkey(pair.cert, pair.key);
    test_pair_extend(pair.cert, NID_basic_constraints, ca ? "CA:FALSE" : "CA:TRUE");
    assert_true(X509_sign(pair.cert, ca ? ca->key : pair.key, EVP_sha256()) > 0);
    snprintf(pair.cert_path, sizeof pair.cert_path, "%.40s/%.40s.pem", dir, name);
    snprintf(pair.key_path, sizeof pair.key_path, "%.40s/%.40s.key", dir, name);
    FILE *file = fopen(pair.cert_path, "w");
    assert_int_equal(PEM_write_X509(file, pair.cert), 1);
    fclose(file);
    file = fopen(pair.key_path, "w");
    assert_int_equal(PEM_write_PrivateKey(file, pair.key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    return pair;
}

static inline void test_pair_free(struct test_pair *pair)
{
    remove(pair->cert_path);
    remove(pair->key_path);
    X509_free(pair->cert);
    EVP_PKEY_free(pair->key);
}

#endif
