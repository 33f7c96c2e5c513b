#include "base/hash.h"

/* Eight bytes at a time: each reference has a call site of some 200 bytes. */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
    const uint8_t *at = bytes;
    uint64_t hash = hash_mix(seed ^ len), word;
    for (; len >= sizeof word; len -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = hash_mix(hash ^ word);
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
