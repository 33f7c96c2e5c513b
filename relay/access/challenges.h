/* The relay's nonces: each is good once, for the client nonce and the endpoint that it was made
 * for, and for CHALLENGE_LIFE_MS. An unused nonce costs no memory, so an unauthenticated connection
 * may ask for any number of them. Pure except for random bytes. */
#ifndef RAYDBG_RELAY_ACCESS_CHALLENGES_H
#define RAYDBG_RELAY_ACCESS_CHALLENGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct challenges;

#define CHALLENGE_ROOM (16 + 32 + 64 + 1) /* hex digits: time, random, HMAC */
#define CHALLENGE_LIFE_MS 30000

struct challenges *challenges_create(void);
void challenges_destroy(struct challenges **challenges);

void challenges_issue(const struct challenges *challenges, const char *client_nonce,
                      const char *endpoint, int64_t now_ms, char out[CHALLENGE_ROOM]);
/* True if `nonce` was issued for these arguments and may still be used. Call it before the client's
 * proof is checked. */
bool challenges_valid(const struct challenges *challenges, const char *nonce,
                      const char *client_nonce, const char *endpoint, int64_t now_ms);
/* Uses up a valid nonce, once its client has proved that it knows the token. */
void challenges_use(struct challenges *challenges, const char *nonce, int64_t now_ms);

size_t challenges_used(const struct challenges *challenges); /* the number remembered */

#endif
