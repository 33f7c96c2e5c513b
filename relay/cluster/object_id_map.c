#include "relay/cluster/object_id_map.h"

#include <endian.h>
#include <string.h>

static void *pointer(const uint64_t *value)
{
    return value ? (void *)(uintptr_t)*value : NULL;
}

/* Writes whole 64-bit words, because the hash reads such words: a load that spans two smaller
 * stores stalls the processor. */
void object_probe(struct object_probe *probe, const struct object_id *id)
{
    uint64_t words[FIXED_MAP_KEY / sizeof(uint64_t)];
    const size_t whole = 3 * sizeof *words;
    uint32_t rest;
    memcpy(words, id->bytes, whole);
    memcpy(&rest, id->bytes + whole, sizeof rest);
    words[3] = le32toh(rest);
    words[3] = htole64(words[3]);
    memcpy(probe->key.bytes, words, sizeof words);
    probe->hash = fixed_map_hash(&probe->key);
}

void *object_id_map_find(const struct object_id_map *table, const struct object_probe *probe)
{
    return pointer(fixed_map_find(&table->map, &probe->key, probe->hash));
}

void object_id_map_set(struct object_id_map *table, const struct object_id *id, void *value)
{
    struct object_probe probe;
    object_probe(&probe, id);
    fixed_map_set(&table->map, &probe.key, (uintptr_t)value, SIZE_MAX);
}

void *object_id_map_get(const struct object_id_map *table, const struct object_id *id)
{
    struct object_probe probe;
    if (!table->map.count)
        return NULL;
    object_probe(&probe, id);
    return object_id_map_find(table, &probe);
}

void *object_id_map_next(const struct object_id_map *table, size_t *cursor)
{
    const struct id_entry *entry = fixed_map_next(&table->map, cursor);
    return entry ? pointer(&entry->value) : NULL;
}

void object_id_map_clear(struct object_id_map *table)
{
    fixed_map_clear(&table->map);
}
