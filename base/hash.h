/* One hash for every in-memory table of ids, names and paths. Every bit of the result depends on
 * every byte, so that a table may use the lowest bits. Never store or send a hash: it depends on
 * the byte order. An attacker can make up keys that collide, so a table whose keys come from
 * outside must be bounded. */
#ifndef RAYDBG_BASE_HASH_H
#define RAYDBG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* To hash a key of several parts, pass the hash so far as the `seed` of the next part; the first
 * seed may be any number. */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);
uint64_t hash_text(const char *text, uint64_t seed);

/* 2^64 over the golden ratio: odd, and its bits are as good as random. */
#define HASH_SPREAD UINT64_C(0x9E3779B97F4A7C15)

/* The low bits of a product do not depend on the high bits of its factor: the shift mixes the high
 * bits of the product into the low ones. */
static inline uint64_t hash_mix(uint64_t hash)
{
    hash *= HASH_SPREAD;
    return hash ^ hash >> 29;
}

static inline uint64_t hash_number(uint64_t number)
{
    return hash_mix(hash_mix(number));
}

/* Hashes exactly four words, in a fraction of the time: for tables of thousands of ids. The result
 * differs from that of hash_bytes(). Four independent products, which the CPU computes in parallel.
 * The factors are odd, so that a change in one word always changes the sum. */
static inline uint64_t hash_words(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return hash_number(a * HASH_SPREAD + b * UINT64_C(0xC2B2AE3D27D4EB4F) +
                       c * UINT64_C(0x165667B19E3779F9) + d * UINT64_C(0xD6E8FEB86659FD93));
}

#endif
