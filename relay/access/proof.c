#include "relay/access/proof.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/access/auth.h"

#include <ctype.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static char *prove(const char *token, const char *who, const struct proof_exchange *exchange,
                   const char *method, const char *path)
{
    char *text =
        mem_format("raydbg %s\n%s\n%s\n%s\n%s\n%s %s\n", who, exchange->relay_id,
                   exchange->endpoint, exchange->client_nonce, exchange->relay_nonce, method, path);
    char *proof = auth_proof(token, text);
    free(text);
    return proof;
}

char *proof_of_relay(const char *token, const struct proof_exchange *exchange)
{
    return prove(token, "relay", exchange, "", "");
}

char *proof_of_client(const char *token, const struct proof_exchange *exchange, const char *method,
                      const char *path)
{
    return prove(token, "client", exchange, method, path);
}

bool proof_equal(const char *a, const char *b)
{
    size_t len = a ? strlen(a) : 0;
    return a && b && len && len == strlen(b) && CRYPTO_memcmp(a, b, len) == 0;
}

void proof_random(char *out, size_t size)
{
    uint8_t bytes[64];
    size_t count = (size - 1) / 2;
    if (count > sizeof bytes || getrandom(bytes, count, 0) != (ssize_t)count)
        abort(); /* does not happen below 256 bytes */
    text_hex(bytes, count, out);
}

bool proof_is_hex(const char *text, size_t len)
{
    return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

/* --- the endpoint --- */

static void first_line(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[len > 0 ? len : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

void proof_machine(char out[PROOF_MACHINE_ROOM])
{
    char boot[48], network[48];
    first_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t len = readlink("/proc/self/ns/net", network, sizeof network - 1);
    network[len > 0 ? len : 0] = '\0';
    bool known = *boot && *network;
    snprintf(out, PROOF_MACHINE_ROOM, "%s%s%s", known ? boot : "", known ? " " : "",
             known ? network : "");
}

char *proof_endpoint(const char *machine, const char *address)
{
    return mem_format("%s %s %s", PROOF_HERE, machine, address);
}

char *proof_endpoint_tls(const char *address, const char *fingerprint)
{
    return mem_format("tls %s %s", address, fingerprint);
}

char *proof_path(const char *path)
{
    char *out = mem_string_n(path, strcspn(path, "?")), *to = out;
    for (const char *at = out; *at; at++) {
        uint8_t byte;
        char hex[3] = "";
        bool coded = *at == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]);
        if (coded)
            memcpy(hex, at + 1, 2);
        if (coded && text_unhex(hex, &byte, 1)) {
            *to++ = (char)byte;
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return out;
}
