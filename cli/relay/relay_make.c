/* `raydbg relay --make-cert` and --make-observer-token. */
#include "cli/common/command_usage.h"
#include "cli/relay/relay_request.h"

#include "relay/access/auth.h"
#include "relay/access/certificate.h"

#include <stdio.h>
#include <stdlib.h>

enum { DAYS = 825 }; /* the longest that Apple's clients accept */

int relay_make_cert(const char *const *hosts, size_t count)
{
    struct err err;
    char fingerprint[CERTIFICATE_FINGERPRINT_SIZE];
    if (auth_make_state_directory(&err) != 0)
        return command_fail(&err);
    char *cert = auth_state_path("relay-cert.pem"), *key = auth_state_path("relay-key.pem");
    int code = ERR_NONE;
    if (certificate_make(cert, key, hosts, count, DAYS, &err) != 0 ||
        certificate_fingerprint(cert, fingerprint, &err) != 0)
        code = command_fail(&err);
    else
        printf("certificate  %s\nkey          %s\nfingerprint  %s\n\n"
               "raydbg relay --listen HOST:4713 --tls-cert %s --tls-key %s\n"
               "raydbg list --relay https://HOST:4713 --relay-fingerprint %s\n",
               cert, key, fingerprint, cert, key, fingerprint);
    free(cert);
    free(key);
    return code;
}

int relay_make_observer_token(void)
{
    struct err err;
    if (auth_make_state_directory(&err) != 0)
        return command_fail(&err);
    char *path = auth_state_path("observer-token");
    int code = auth_make_token_file(path, &err) == 0 ? ERR_NONE : command_fail(&err);
    if (code == ERR_NONE)
        printf("%s\n", path);
    free(path);
    return code;
}
