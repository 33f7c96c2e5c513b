#include "relay/object_table.h"

static void *pointer(const uint64_t *value)
{
    return value ? (void *)(uintptr_t)*value : NULL;
}

struct object_probe object_probe(const struct object_id *id)
{
    struct object_probe probe = {.key = id_key(id->bytes, sizeof id->bytes)};
    probe.hash = id_map_hash(&probe.key);
    return probe;
}

void *object_table_find(const struct object_table *table, const struct object_probe *probe)
{
    return pointer(id_map_find(&table->map, &probe->key, probe->hash));
}

void object_table_set(struct object_table *table, const struct object_id *id, void *value)
{
    struct id_key key = id_key(id->bytes, sizeof id->bytes);
    id_map_set(&table->map, &key, (uintptr_t)value, SIZE_MAX);
}

void *object_table_get(const struct object_table *table, const struct object_id *id)
{
    struct id_key key = id_key(id->bytes, sizeof id->bytes);
    return pointer(id_map_get(&table->map, &key));
}

void *object_table_next(const struct object_table *table, size_t *cursor)
{
    const struct id_entry *entry = id_map_next(&table->map, cursor);
    return entry ? pointer(&entry->value) : NULL;
}

void object_table_clear(struct object_table *table)
{
    id_map_clear(&table->map);
}
