#include "relay/cluster/object_id_map.h"

#include <endian.h>
#include <string.h>

static void *pointer(const uint64_t *value)
{
    return value ? (void *)(uintptr_t)*value : NULL;
}

/* No word goes through an array in memory: a load that spans two smaller stores stalls the
 * processor, and compilers load two words at once. */
void object_probe(struct object_probe *probe, const struct object_id *id)
{
    uint64_t a, b, c, d;
    uint32_t rest;
    _Static_assert(sizeof id->bytes == 3 * sizeof a + sizeof rest, "the words of an id");
    memcpy(&a, id->bytes, sizeof a);
    memcpy(&b, id->bytes + sizeof a, sizeof b);
    memcpy(&c, id->bytes + 2 * sizeof a, sizeof c);
    memcpy(&rest, id->bytes + 3 * sizeof a, sizeof rest);
    d = htole64((uint64_t)le32toh(rest));
    memcpy(probe->key.bytes, &a, sizeof a);
    memcpy(probe->key.bytes + sizeof a, &b, sizeof b);
    memcpy(probe->key.bytes + 2 * sizeof a, &c, sizeof c);
    memcpy(probe->key.bytes + 3 * sizeof a, &d, sizeof d);
    probe->hash = fixed_map_hash_words(a, b, c, d);
}

void *object_id_map_find(const struct object_id_map *table, const struct object_probe *probe)
{
    return pointer(fixed_map_find(&table->map, &probe->key, probe->hash));
}

void *object_id_map_find_next(struct object_id_map *table, const struct object_probe *probe)
{
    return pointer(fixed_map_find_next(&table->map, &probe->key, probe->hash));
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
