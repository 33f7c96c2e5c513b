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
    size_t next; /* where fixed_map_find_next() looks first: behind what it found last */
    struct hash_index index;
};

/* A key of `len` bytes, up to FIXED_MAP_KEY. */
struct id_key id_key(const void *bytes, size_t len);

/* False, with nothing changed, if the key is new and the map has `limit` entries. */
bool fixed_map_set(struct fixed_map *map, const struct id_key *key, uint64_t value, size_t limit);
/* NULL if the key is absent. The pointer is valid until the map is changed. */
uint64_t *fixed_map_get(const struct fixed_map *map, const struct id_key *key);

/* The hash, for a key that is looked up in several maps, of its words as they are in memory. The
 * ids of the objects that one task has put or returned differ in an index that counts up; its
 * lowest byte is the first of the last word. NEAR consecutive ids, which are usually shown one
 * after the other, share two cache lines. */
static inline uint64_t fixed_map_hash_words(uint64_t a, uint64_t b, uint64_t c, uint64_t last)
{
    enum { NEAR = 8 };
    uint64_t index = le64toh(last), near = index % NEAR;
    return hash_words(a, b, c, htole64(index - near)) * NEAR + near;
}

static inline uint64_t fixed_map_hash(const struct id_key *key)
{
    uint64_t words[FIXED_MAP_KEY / 8];
    memcpy(words, key->bytes, sizeof words);
    return fixed_map_hash_words(words[0], words[1], words[2], words[3]);
}

/* The position of the entry, or `count`. */
static inline size_t fixed_map_position(const struct fixed_map *map, const struct id_key *key,
                                        uint64_t hash)
{
    size_t cursor = 0;
    uintptr_t at;
    while (hash_index_next(&map->index, hash, &cursor, &at))
        if (memcmp(&map->entries[at].key, key, sizeof *key) == 0)
            return at;
    return map->count;
}

static inline uint64_t *fixed_map_find(const struct fixed_map *map, const struct id_key *key,
                                       uint64_t hash)
{
    size_t at = fixed_map_position(map, key, hash);
    return at < map->count ? &map->entries[at].value : NULL;
}

/* The same, for keys that are mostly looked up in the order in which they were added, as what is
 * shown at one stop is shown again at the next: then no search is needed. */
static inline uint64_t *fixed_map_find_next(struct fixed_map *map, const struct id_key *key,
                                            uint64_t hash)
{
    size_t at = map->next;
    if (at >= map->count || memcmp(&map->entries[at].key, key, sizeof *key) != 0)
        at = fixed_map_position(map, key, hash);
    if (at == map->count)
        return NULL;
    map->next = at + 1;
    return &map->entries[at].value;
}

/* Steps through all entries in insertion order: start with *cursor = 0; NULL at the end. */
const struct id_entry *fixed_map_next(const struct fixed_map *map, size_t *cursor);
void fixed_map_clear(struct fixed_map *map);

#endif
