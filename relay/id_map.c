#include "relay/id_map.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct id_key id_key(const void *bytes, size_t len)
{
    struct id_key key = {{0}};
    memcpy(key.bytes, bytes, len);
    return key;
}

enum { SIZE_MIN = 16 };

/* Objects that one task has put or returned differ in a number that counts up. NEAR of them, which
 * are shown one after the other as a rule, have their slots in one line of memory. */
uint64_t id_map_hash(const struct id_key *key)
{
    enum { NEAR = 8, COUNTS = 24 };
    struct id_key block = *key;
    unsigned near = key->bytes[COUNTS] % NEAR;
    block.bytes[COUNTS] -= (uint8_t)near;
    return hash_block(block.bytes) * NEAR + near;
}

/* All of the hash that is in a slot. */
static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static bool is_key(const struct id_key *key, const struct id_key *other)
{
    uint64_t a[ID_MAP_KEY / 8], b[ID_MAP_KEY / 8];
    memcpy(a, key->bytes, sizeof a);
    memcpy(b, other->bytes, sizeof b);
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

/* The key's slot, or the free one where it belongs; the map is never full. */
static struct id_slot *find(const struct id_map *map, const struct id_key *key, uint64_t hash)
{
    for (size_t at = hash & (map->size - 1);; at = (at + 1) & (map->size - 1)) {
        struct id_slot *slot = &map->slots[at];
        if (!slot->place ||
            (slot->tag == tag_of(hash) && is_key(&map->entries[slot->place - 1].key, key)))
            return slot;
    }
}

static void grow(struct id_map *map)
{
    size_t size = map->size ? map->size * 2 : SIZE_MIN;
    free(map->slots);
    map->slots = mem_array(size, sizeof *map->slots);
    map->size = size;
    for (size_t i = 0; i < map->count; i++) {
        uint64_t hash = id_map_hash(&map->entries[i].key);
        size_t at = hash & (size - 1);
        while (map->slots[at].place)
            at = (at + 1) & (size - 1);
        map->slots[at] = (struct id_slot){tag_of(hash), (uint32_t)i + 1};
    }
}

static void add(struct id_map *map, const struct id_key *key, uint64_t hash, uint64_t value)
{
    if (2 * map->count >= map->size)
        grow(map);
    if (map->count == map->room) {
        map->room = map->room ? map->room + map->room / 2 : SIZE_MIN / 2;
        map->entries = mem_resize(map->entries, map->room, sizeof *map->entries);
    }
    map->entries[map->count++] = (struct id_entry){*key, value};
    *find(map, key, hash) = (struct id_slot){tag_of(hash), (uint32_t)map->count};
}

bool id_map_set(struct id_map *map, const struct id_key *key, uint64_t value, size_t limit)
{
    uint64_t hash = id_map_hash(key);
    const struct id_slot *slot = map->count ? find(map, key, hash) : NULL;
    if (slot && slot->place) {
        map->entries[slot->place - 1].value = value;
        return true;
    }
    if (map->count >= limit || map->count == UINT32_MAX)
        return false;
    add(map, key, hash, value);
    return true;
}

uint64_t *id_map_find(const struct id_map *map, const struct id_key *key, uint64_t hash)
{
    const struct id_slot *slot = map->count ? find(map, key, hash) : NULL;
    return slot && slot->place ? &map->entries[slot->place - 1].value : NULL;
}

uint64_t *id_map_get(const struct id_map *map, const struct id_key *key)
{
    return map->count ? id_map_find(map, key, id_map_hash(key)) : NULL;
}

const struct id_entry *id_map_next(const struct id_map *map, size_t *cursor)
{
    return *cursor < map->count ? &map->entries[(*cursor)++] : NULL;
}

void id_map_clear(struct id_map *map)
{
    free(map->entries);
    free(map->slots);
    *map = (struct id_map){0};
}
