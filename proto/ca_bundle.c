#include "proto/ca_bundle.h"

#include "base/mem.h"
#include "base/text.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_readable(const char *root, const char *path)
{
    char *whole = mem_format("%s%s", root, path);
    bool readable = access(whole, R_OK) == 0;
    free(whole);
    return readable;
}

static bool finds_by_itself(const char *root)
{
    return !text_empty(getenv(X509_get_default_cert_file_env())) ||
           !text_empty(getenv(X509_get_default_cert_dir_env())) ||
           is_readable(root, X509_get_default_cert_file()) ||
           is_readable(root, X509_get_default_cert_dir());
}

const char *ca_bundle_find(const char *root)
{
    static const char *const bundles[] = {
        "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Arch, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",                  /* RHEL, Fedora */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* the same, newer */
        "/etc/ssl/ca-bundle.pem",                            /* SUSE */
        "/var/lib/ca-certificates/ca-bundle.pem",            /* the same, newer */
        "/etc/ssl/cert.pem",                                 /* Alpine */
    };
    if (finds_by_itself(root))
        return NULL;
    for (size_t i = 0; i < sizeof bundles / sizeof *bundles; i++)
        if (is_readable(root, bundles[i]))
            return bundles[i];
    return NULL;
}
