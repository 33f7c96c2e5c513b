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

/* The key's slot, or the free one where it belongs; the map is never full. */
static struct id_slot *find(const struct id_map *map, const struct id_key *key)
{
    size_t at = hash_bytes(key, sizeof *key, 0) & (map->size - 1);
    while (map->slots[at].used && memcmp(&map->slots[at].key, key, sizeof *key) != 0)
        at = (at + 1) & (map->size - 1);
    return &map->slots[at];
}

static void grow(struct id_map *map)
{
    struct id_map larger = {.size = map->size ? map->size * 2 : 16, .count = map->count};
    larger.slots = mem_array(larger.size, sizeof *larger.slots);
    for (size_t i = 0; i < map->size; i++)
        if (map->slots[i].used)
            *find(&larger, &map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = larger;
}

bool id_map_set(struct id_map *map, const struct id_key *key, uint64_t value, size_t limit)
{
    uint64_t *known = id_map_get(map, key);
    if (known) {
        *known = value;
        return true;
    }
    if (map->count >= limit)
        return false;
    if (map->count + 1 > map->size / 4 * 3)
        grow(map);
    *find(map, key) = (struct id_slot){*key, value, true};
    map->count++;
    return true;
}

uint64_t *id_map_get(const struct id_map *map, const struct id_key *key)
{
    struct id_slot *slot = map->count ? find(map, key) : NULL;
    return slot && slot->used ? &slot->value : NULL;
}

const struct id_slot *id_map_next(const struct id_map *map, size_t *cursor)
{
    while (*cursor < map->size) {
        const struct id_slot *slot = &map->slots[(*cursor)++];
        if (slot->used)
            return slot;
    }
    return NULL;
}

void id_map_clear(struct id_map *map)
{
    free(map->slots);
    *map = (struct id_map){0};
}
