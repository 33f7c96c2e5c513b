#include "relay/cluster/object_id_map.h"

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
    return entry ? object_id_map_pointer(&entry->value) : NULL;
}

void object_id_map_clear(struct object_id_map *table)
{
    fixed_map_clear(&table->map);
}
