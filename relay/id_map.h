/* A bounded map from short keys (object ids, references) to numbers. Pure. */
#ifndef RAYDBG_RELAY_ID_MAP_H
#define RAYDBG_RELAY_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ID_MAP_KEY = 32 };

/* All bytes count: what a key does not need is zero. */
struct id_key {
    uint8_t bytes[ID_MAP_KEY];
};

struct id_entry {
    struct id_key key;
    uint64_t value;
};

/* Where an entry is, by its key's hash. */
struct id_slot {
    uint32_t tag;   /* another key has another one, nearly always */
    uint32_t place; /* among the entries, from 1 on; 0: free */
};

/* All zero is an empty map without memory. The entries stand one after the other, as they came:
 * what is looked up in that order again is near. */
struct id_map {
    struct id_entry *entries;
    size_t count, room;
    struct id_slot *slots;
    size_t size; /* 0, or a power of two */
};

/* A key of `len` bytes, up to ID_MAP_KEY. */
struct id_key id_key(const void *bytes, size_t len);

/* False, and nothing changed, if the key is new and `limit` others are there. */
bool id_map_set(struct id_map *map, const struct id_key *key, uint64_t value, size_t limit);
/* NULL if it is not there; valid until the map is changed. */
uint64_t *id_map_get(const struct id_map *map, const struct id_key *key);
/* The same for a key that is looked up in several maps: its hash is made once. */
uint64_t id_map_hash(const struct id_key *key);
uint64_t *id_map_find(const struct id_map *map, const struct id_key *key, uint64_t hash);
/* Steps through all, in the order in which they came: start with *cursor = 0; NULL at the end. */
const struct id_entry *id_map_next(const struct id_map *map, size_t *cursor);
void id_map_clear(struct id_map *map);

#endif
