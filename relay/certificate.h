/* X.509 certificates in PEM files: the relay's own, self-signed ones, and what a user must know of
 * one. A fingerprint is "SHA256:" and the 64 lower-case hex digits of the SHA-256 of the
 * certificate's DER form, as `openssl x509 -fingerprint -sha256` prints it with colons. */
#ifndef RAYDBG_RELAY_CERTIFICATE_H
#define RAYDBG_RELAY_CERTIFICATE_H

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

/* Of the first certificate in the file. */
int certificate_fingerprint(const char *path, char out[CERTIFICATE_FINGERPRINT_SIZE],
                            struct err *err);
/* Of a certificate in DER form. */
void certificate_fingerprint_der(const void *der, size_t len,
                                 char out[CERTIFICATE_FINGERPRINT_SIZE]);

/* Can a server use these? Refuses what cannot be read, a key of another certificate's, a
 * certificate that is not valid now. `client_ca` may be NULL. */
int certificate_check(const char *cert_path, const char *key_path, const char *client_ca,
                      struct err *err);

#endif
