/* One hash for every table in memory: of ids, names and paths. Every bit of the result depends on
 * every byte, so that a table may take its lowest bits. Never stored or sent: it depends on the
 * byte order. Keys that collide can be made up, so a table of an attacker's keys must be a bounded
 * one.
 */
#ifndef RAYDBG_BASE_HASH_H
#define RAYDBG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A key of several parts is hashed part by part, each with the hash so far as `seed`; the first
 * with any number. */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);
uint64_t hash_text(const char *text, uint64_t seed);
uint64_t hash_number(uint64_t number);
/* Of exactly HASH_BLOCK bytes, in a fraction of the time: for tables of thousands of ids. Not what
 * hash_bytes() gives. */
enum { HASH_BLOCK = 32 };
uint64_t hash_block(const void *bytes);

#endif
