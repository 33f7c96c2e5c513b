#include "base/fixed_map.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct id_key id_key(const void *bytes, size_t len)
{
    struct id_key key = {{0}};
    memcpy(key.bytes, bytes, len);
    return key;
}

enum { ROOM_MIN = 8 };

bool fixed_map_set(struct fixed_map *map, const struct id_key *key, uint64_t value, size_t limit)
{
    uint64_t hash = fixed_map_hash(key), *known = fixed_map_find(map, key, hash);
    if (known) {
        *known = value;
        return true;
    }
    if (map->count >= limit)
        return false;
    if (map->count == map->room) {
        map->room = map->room ? map->room + map->room / 2 : ROOM_MIN;
        map->entries = mem_resize(map->entries, map->room, sizeof *map->entries);
    }
    hash_index_add(&map->index, hash, map->count);
    map->entries[map->count++] = (struct id_entry){*key, value};
    return true;
}

uint64_t *fixed_map_get(const struct fixed_map *map, const struct id_key *key)
{
    return map->count ? fixed_map_find(map, key, fixed_map_hash(key)) : NULL;
}

const struct id_entry *fixed_map_next(const struct fixed_map *map, size_t *cursor)
{
    return *cursor < map->count ? &map->entries[(*cursor)++] : NULL;
}

void fixed_map_clear(struct fixed_map *map)
{
    free(map->entries);
    hash_index_clear(&map->index);
    *map = (struct fixed_map){0};
}
