/* A bounded map from short keys (object ids, references) to numbers. Pure. */
#ifndef RAYDBG_BASE_FIXED_MAP_H
#define RAYDBG_BASE_FIXED_MAP_H

#include "base/hash.h"
#include "base/hash_index.h"

#include <endian.h>
#include <string.h>

enum { FIXED_MAP_KEY = 32 };

/* All bytes are compared: bytes that a key does not need must be zero. */
struct id_key {
    uint8_t bytes[FIXED_MAP_KEY];
};

struct id_entry {
    struct id_key key;
    uint64_t value;
};

/* All zero is an empty map without memory. Entries are stored in insertion order, so that lookups
 * in the same order touch adjacent memory. */
struct fixed_map {
    struct id_entry *entries;
    size_t count, room;
    struct hash_index index;
};

/* A key of `len` bytes, up to FIXED_MAP_KEY. */
struct id_key id_key(const void *bytes, size_t len);

/* False, with nothing changed, if the key is new and the map has `limit` entries. */
bool fixed_map_set(struct fixed_map *map, const struct id_key *key, uint64_t value, size_t limit);
/* NULL if the key is absent. The pointer is valid until the map is changed. */
uint64_t *fixed_map_get(const struct fixed_map *map, const struct id_key *key);

/* The hash, for a key that is looked up in several maps. The ids of the objects that one task has
 * put or returned differ in an index that counts up; its lowest byte is the first of the last word.
 * NEAR consecutive ids, which are usually shown one after the other, share two cache lines. */
static inline uint64_t fixed_map_hash(const struct id_key *key)
{
    enum { NEAR = 8, LAST = FIXED_MAP_KEY / 8 - 1 };
    /* Words throughout: a load of a word that a byte was just stored into stalls the processor. */
    uint64_t words[FIXED_MAP_KEY / 8];
    memcpy(words, key->bytes, sizeof words);
    uint64_t last = le64toh(words[LAST]), near = last % NEAR;
    words[LAST] = htole64(last - near);
    return hash_block(words) * NEAR + near;
}

static inline uint64_t *fixed_map_find(const struct fixed_map *map, const struct id_key *key,
                                       uint64_t hash)
{
    size_t cursor = 0;
    uintptr_t at;
    while (hash_index_next(&map->index, hash, &cursor, &at))
        if (memcmp(&map->entries[at].key, key, sizeof *key) == 0)
            return &map->entries[at].value;
    return NULL;
}

/* Steps through all entries in insertion order: start with *cursor = 0; NULL at the end. */
const struct id_entry *fixed_map_next(const struct fixed_map *map, size_t *cursor);
void fixed_map_clear(struct fixed_map *map);

#endif
