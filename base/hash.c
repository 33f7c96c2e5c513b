#include "base/hash.h"

#include <string.h>

/* 2^64 over the golden ratio: odd, and its bits are as good as random. */
static const uint64_t spread = UINT64_C(0x9E3779B97F4A7C15);

/* A product's low bits know nothing of its factor's high bits, which are brought down. */
static uint64_t mix(uint64_t hash)
{
    hash *= spread;
    return hash ^ hash >> 29;
}

uint64_t hash_number(uint64_t number)
{
    return mix(mix(number));
}

/* Eight bytes at a time: a call site has some 200 of them, and each reference has one. */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
    const uint8_t *at = bytes;
    uint64_t hash = mix(seed ^ len), word;
    for (; len >= sizeof word; len -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = mix(hash ^ word);
    }
    word = 0;
    if (len)
        memcpy(&word, at, len);
    return hash_number(hash ^ word);
}

uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text), seed);
}

/* Four products that do not wait for each other. Their factors are odd, so that one word that
 * differs always makes another sum. */
uint64_t hash_block(const void *bytes)
{
    uint64_t words[HASH_BLOCK / sizeof(uint64_t)];
    memcpy(words, bytes, sizeof words);
    return hash_number(words[0] * spread + words[1] * UINT64_C(0xC2B2AE3D27D4EB4F) +
                       words[2] * UINT64_C(0x165667B19E3779F9) +
                       words[3] * UINT64_C(0xD6E8FEB86659FD93));
}
