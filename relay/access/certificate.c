#include "relay/access/certificate.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "SHA256:";

enum { SERIAL_BITS = 127, CLOCK_SKEW_S = 300, DAY_S = 86400, WARN_DAYS = 14 };

/* OpenSSL's reason, or the system's if it has none. */
static const char *reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = ERR_GET_LIB(code) == ERR_LIB_SYS ? NULL : ERR_reason_error_string(code);
    return text ? text : strerror(errno);
}

static int fail(struct err *err, const char *what, const char *path)
{
    err_set(err, ERR_USAGE, "%s %s", what, path);
    err_why(err, "%s", reason());
    ERR_clear_error();
    return -1;
}

/* A key that needs a passphrase is an error, not a question on the terminal. */
static int no_passphrase(char *out, int size, int writing, void *arg)
{
    (void)out, (void)size, (void)writing, (void)arg;
    return -1;
}

/* --- reading --- */

static X509 *read_certificate(const char *path, struct err *err)
{
    ERR_clear_error();
    FILE *file = fopen(path, "re");
    X509 *cert = file ? PEM_read_X509(file, NULL, no_passphrase, NULL) : NULL;
    if (!cert)
        fail(err, "no certificate can be read from", path);
    if (file)
        fclose(file);
    return cert;
}

static EVP_PKEY *read_key(const char *path, struct err *err)
{
    ERR_clear_error();
    FILE *file = fopen(path, "re");
    EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, no_passphrase, NULL) : NULL;
    if (!key)
        fail(err, "no private key can be read from", path);
    if (file)
        fclose(file);
    return key;
}

void certificate_fingerprint_der(const void *der, size_t len,
                                 char out[CERTIFICATE_FINGERPRINT_SIZE])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256(der, len, digest);
    memcpy(out, prefix, sizeof prefix - 1);
    text_hex(digest, sizeof digest, out + sizeof prefix - 1);
}

int certificate_fingerprint(const char *path, char out[CERTIFICATE_FINGERPRINT_SIZE],
                            struct err *err)
{
    unsigned char *der = NULL;
    X509 *cert = read_certificate(path, err);
    if (!cert)
        return -1;
    int len = i2d_X509(cert, &der);
    if (len > 0)
        certificate_fingerprint_der(der, (size_t)len, out);
    else
        fail(err, "there is no sense in the certificate", path);
    OPENSSL_free(der);
    X509_free(cert);
    return len > 0 ? 0 : -1;
}

static int expiry_of(const X509 *cert, int64_t *seconds)
{
    struct tm when;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &when) != 1)
        return -1;
    *seconds = (int64_t)timegm(&when);
    return 0;
}

/* --- checking --- */

static int check_time(const X509 *cert, const char *path, struct err *err)
{
    int64_t end = 0;
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0) {
        err_set(err, ERR_USAGE, "the certificate %s cannot be used", path);
        return err_why(err, "it is not valid yet");
    }
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0) {
        err_set(err, ERR_USAGE, "the certificate %s cannot be used", path);
        err_why(err, "it has expired");
        return err_hint(err, "raydbg relay --make-cert makes a new pair; remove this one first");
    }
    if (expiry_of(cert, &end) == 0 && end - (int64_t)time(NULL) < (int64_t)WARN_DAYS * DAY_S)
        log_warn("the certificate %s expires in less than %d days", path, WARN_DAYS);
    return 0;
}

int certificate_check(const char *cert_path, const char *key_path, const char *client_ca,
                      struct err *err)
{
    X509 *cert = read_certificate(cert_path, err), *ca = NULL;
    EVP_PKEY *key = cert ? read_key(key_path, err) : NULL;
    int rc = cert && key ? check_time(cert, cert_path, err) : -1;
    if (rc == 0 && X509_check_private_key(cert, key) != 1) {
        err_set(err, ERR_USAGE, "%s is not the key of %s", key_path, cert_path);
        ERR_clear_error();
        rc = -1;
    }
    if (rc == 0 && client_ca) {
        ca = read_certificate(client_ca, err);
        rc = ca ? 0 : -1;
    }
    X509_free(ca);
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

/* --- making --- */

static bool is_address(const char *host)
{
    uint8_t bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* The name becomes part of OpenSSL's extension syntax: allows only a host name's characters. */
static bool is_name(const char *host)
{
    size_t len = strlen(host);
    return len > 0 && len < 254 &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*") ==
               len;
}

static char *alternatives(const char *const *hosts, size_t count)
{
    char *all = mem_string("DNS:localhost,IP:127.0.0.1,IP:::1");
    for (size_t i = 0; i < count; i++) {
        char *longer = mem_format("%s,%s:%s", all, is_address(hosts[i]) ? "IP" : "DNS", hosts[i]);
        free(all);
        all = longer;
    }
    return all;
}

static bool extend(X509 *cert, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool good = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return good;
}

static bool set_serial(X509 *cert)
{
    BIGNUM *number = BN_new();
    bool good = number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return good;
}

static bool set_name(X509 *cert)
{
    static const unsigned char name[] = "raydbg relay";
    X509_NAME *subject = X509_get_subject_name(cert);
    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, subject) == 1;
}

/* Makes an end-entity certificate: it cannot sign others. */
static bool fill(X509 *cert, EVP_PKEY *key, const char *names, int days)
{
    return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) && set_name(cert) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -CLOCK_SKEW_S) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), days, 0, NULL) &&
           X509_set_pubkey(cert, key) == 1 &&
           extend(cert, NID_basic_constraints, "critical,CA:FALSE") &&
           extend(cert, NID_key_usage, "critical,digitalSignature") &&
           extend(cert, NID_ext_key_usage, "serverAuth") &&
           extend(cert, NID_subject_key_identifier, "hash") &&
           extend(cert, NID_subject_alt_name, names) && X509_sign(cert, key, EVP_sha256()) > 0;
}

static FILE *create(const char *path, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

static int write_key(const char *path, EVP_PKEY *key, struct err *err)
{
    FILE *file = create(path, 0600);
    if (!file)
        return fail(err, "the key cannot be written to", path);
    bool good = PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1;
    if (fclose(file) != 0 || !good) {
        fail(err, "the key cannot be written to", path);
        unlink(path);
        return -1;
    }
    return 0;
}

static int write_certificate(const char *path, X509 *cert, struct err *err)
{
    FILE *file = create(path, 0644);
    if (!file)
        return fail(err, "the certificate cannot be written to", path);
    bool good = PEM_write_X509(file, cert) == 1;
    if (fclose(file) != 0 || !good) {
        fail(err, "the certificate cannot be written to", path);
        unlink(path);
        return -1;
    }
    return 0;
}

static int write_pair(const char *cert_path, const char *key_path, X509 *cert, EVP_PKEY *key,
                      struct err *err)
{
    if (write_key(key_path, key, err) != 0)
        return -1;
    if (write_certificate(cert_path, cert, err) == 0)
        return 0;
    unlink(key_path);
    return -1;
}

int certificate_make(const char *cert_path, const char *key_path, const char *const *hosts,
                     size_t host_count, int days, struct err *err)
{
    for (size_t i = 0; i < host_count; i++)
        if (!is_address(hosts[i]) && !is_name(hosts[i]))
            return err_set(err, ERR_USAGE, "\"%s\" is neither a host's name nor an address",
                           hosts[i]);
    ERR_clear_error();
    char *names = alternatives(hosts, host_count);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    int rc = -1;
    if (key && cert && fill(cert, key, names, days))
        rc = write_pair(cert_path, key_path, cert, key, err);
    else
        fail(err, "a certificate cannot be made for", names);
    X509_free(cert);
    EVP_PKEY_free(key);
    free(names);
    return rc;
}
