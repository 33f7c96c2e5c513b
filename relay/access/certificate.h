/* X.509 certificates in PEM files: making the relay's own, self-signed ones, checks and
 * fingerprints. A fingerprint is "SHA256:" and the 64 lower-case hex digits of the SHA-256 of the
 * certificate's DER form; `openssl x509 -fingerprint -sha256` prints it with colons. */
#ifndef RAYDBG_RELAY_ACCESS_CERTIFICATE_H
#define RAYDBG_RELAY_ACCESS_CERTIFICATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CERTIFICATE_FINGERPRINT_SIZE (sizeof "SHA256:" + 64)

/* Makes an ECDSA P-256 key and a certificate signed with it, for servers, valid from now on for
 * `days` days, for `hosts` (names and addresses), localhost, 127.0.0.1 and ::1. The key's file has
 * mode 0600. Existing files are an error. */
int certificate_make(const char *cert_path, const char *key_path, const char *const *hosts,
                     size_t host_count, int days, struct err *err);

/* The fingerprint of the first certificate in the file. */
int certificate_fingerprint(const char *path, char out[CERTIFICATE_FINGERPRINT_SIZE],
                            struct err *err);
/* The fingerprint of a certificate in DER form. */
void certificate_fingerprint_der(const void *der, size_t len,
                                 char out[CERTIFICATE_FINGERPRINT_SIZE]);

/* Checks that a server can use these. Refuses files that cannot be read, another certificate's key,
 * and a certificate that is not valid now. `client_ca` may be NULL. */
int certificate_check(const char *cert_path, const char *key_path, const char *client_ca,
                      struct err *err);

#endif
