#include "relay/access/challenges.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/access/auth.h"
#include "relay/access/proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME_DIGITS = 16, HEAD_DIGITS = 48 };

struct used {
    struct used *next; /* newest first */
    int64_t until_ms;
    char head[HEAD_DIGITS + 1];
};

struct challenges {
    char secret[PROOF_ROOM];
    struct used *used;
    size_t count;
};

struct challenges *challenges_create(void)
{
    struct challenges *challenges = mem_alloc(sizeof *challenges);
    proof_random(challenges->secret, sizeof challenges->secret);
    return challenges;
}

/* Cuts the list at its first expired member: all members behind it have expired, too. */
static void forget(struct challenges *challenges, int64_t now_ms)
{
    struct used **at = &challenges->used;
    while (*at && (*at)->until_ms > now_ms)
        at = &(*at)->next;
    while (*at) {
        struct used *next = (*at)->next;
        free(*at);
        *at = next;
        invariant(challenges->count > 0);
        challenges->count--;
    }
}

void challenges_destroy(struct challenges **challenges)
{
    struct challenges *it = *challenges;
    if (!it)
        return;
    *challenges = NULL;
    forget(it, INT64_MAX);
    explicit_bzero(it->secret, sizeof it->secret);
    free(it);
}

static char *seal(const struct challenges *challenges, const char *head, const char *client_nonce,
                  const char *endpoint)
{
    char *text = mem_format("%.*s\n%s\n%s", HEAD_DIGITS, head, client_nonce, endpoint);
    char *sealed = auth_proof(challenges->secret, text);
    free(text);
    return sealed;
}

void challenges_issue(const struct challenges *challenges, const char *client_nonce,
                      const char *endpoint, int64_t now_ms, char out[CHALLENGE_ROOM])
{
    snprintf(out, TIME_DIGITS + 1, "%016" PRIx64, (uint64_t)now_ms);
    proof_random(out + TIME_DIGITS, HEAD_DIGITS - TIME_DIGITS + 1);
    char *sealed = seal(challenges, out, client_nonce, endpoint);
    text_copy(out + HEAD_DIGITS, CHALLENGE_ROOM - HEAD_DIGITS, sealed);
    free(sealed);
}

static bool was_used(const struct challenges *challenges, const char *nonce)
{
    for (const struct used *at = challenges->used; at; at = at->next)
        if (memcmp(at->head, nonce, HEAD_DIGITS) == 0)
            return true;
    return false;
}

/* When `nonce` was issued; only for a nonce that this relay issued. */
static int64_t issued_ms(const char *nonce)
{
    char digits[TIME_DIGITS + 1] = "";
    memcpy(digits, nonce, TIME_DIGITS);
    return (int64_t)strtoull(digits, NULL, 16);
}

bool challenges_valid(const struct challenges *challenges, const char *nonce,
                      const char *client_nonce, const char *endpoint, int64_t now_ms)
{
    if (!proof_is_hex(nonce, CHALLENGE_ROOM - 1))
        return false;
    char *sealed = seal(challenges, nonce, client_nonce, endpoint);
    bool own = proof_equal(sealed, nonce + HEAD_DIGITS);
    free(sealed);
    return own && now_ms - issued_ms(nonce) < CHALLENGE_LIFE_MS && !was_used(challenges, nonce);
}

void challenges_use(struct challenges *challenges, const char *nonce, int64_t now_ms)
{
    struct used *used = mem_alloc(sizeof *used);
    forget(challenges, now_ms);
    /* No nonce that was issued up to now lives longer; and the list stays in order. */
    used->until_ms = now_ms + CHALLENGE_LIFE_MS;
    memcpy(used->head, nonce, HEAD_DIGITS);
    used->next = challenges->used;
    challenges->used = used;
    challenges->count++;
}

size_t challenges_used(const struct challenges *challenges)
{
    return challenges->count;
}
