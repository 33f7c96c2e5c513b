/* A client and a relay prove to each other that they know the token, over an unencrypted connection
 * and without sending the token. Client: GET /v1/challenge?nonce=C&place=P; relay: its id, a nonce
 * R that is good once, and its proof; client: `Authorization: Raydbg P C R MAC` with its own
 * request. Both proofs are HMAC-SHA-256 under the token, in hex, over the relay's id, the endpoint
 * P, C and R; the client's also over its request. */
#ifndef RAYDBG_RELAY_ACCESS_PROOF_H
#define RAYDBG_RELAY_ACCESS_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#define PROOF_PATH "/v1/challenge"
#define PROOF_SCHEME "Raydbg "
/* The client's nonce, and both proofs: 64 hex digits. */
#define PROOF_ROOM 65
#define PROOF_ID_ROOM 33
#define PROOF_MACHINE_ROOM 128
/* The two endpoints that a client may ask for. PROOF_HERE: the relay answers on this machine, at
 * the address that the client has dialled; a forwarder of the bytes cannot prove that.
 * PROOF_ANYWHERE: the user has named the address, which may be a tunnel's end. */
#define PROOF_HERE "here"
#define PROOF_ANYWHERE "anywhere"

struct proof_exchange {
    const char *relay_id;
    const char *endpoint; /* PROOF_ANYWHERE, or proof_endpoint() */
    const char *client_nonce, *relay_nonce;
};

/* The caller frees. */
char *proof_of_relay(const char *token, const struct proof_exchange *exchange);
char *proof_of_client(const char *token, const struct proof_exchange *exchange, const char *method,
                      const char *path /* decoded, without the query */);
/* Compares in constant time; false if one is NULL. */
bool proof_equal(const char *a, const char *b);

/* Random hex digits: `size` - 1 of them, an even number. */
void proof_random(char *out, size_t size);
bool proof_is_hex(const char *text, size_t len);

/* Identifies this process's loopback network: the kernel's boot id and the network namespace. "" if
 * the system does not provide both. */
void proof_machine(char out[PROOF_MACHINE_ROOM]);
/* For PROOF_HERE: `address` is "127.0.0.1:4713", "[::1]:4713" or "unix:PATH". The caller frees. */
char *proof_endpoint(const char *machine, const char *address);
/* Over TLS, from any machine: the address that was dialled, and the fingerprint of the certificate
 * that was shown, so that a process with another certificate cannot use the proof. The caller
 * frees. */
char *proof_endpoint_tls(const char *address, const char *fingerprint);
/* Percent-decodes a request's path, up to its query. The caller frees. */
char *proof_path(const char *path);

#endif
