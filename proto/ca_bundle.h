/* The system's CA certificates. OpenSSL looks for them where it was configured to, which is the
 * place of one distribution; a raydbg that is linked with it runs on others as well. */
#ifndef RAYDBG_PROTO_CA_BUNDLE_H
#define RAYDBG_PROTO_CA_BUNDLE_H

/* The file with this system's CA certificates, static text. NULL where OpenSSL finds them by
 * itself: by $SSL_CERT_FILE or $SSL_CERT_DIR, or in its own places. NULL, too, if there is none.
 * `root` is put before each path: "", except in tests. */
const char *ca_bundle_find(const char *root);

#endif
