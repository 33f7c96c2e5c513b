#include "relay/objects/object_table.h"

#include "base/mem.h"

#include <stdlib.h>

struct object_entry *object_table_get(const struct object_table *table, const struct object_id *id)
{
    struct object_probe probe;
    object_probe(&probe, id);
    return object_table_find(table, &probe);
}

struct object_entry *object_table_add(struct object_table *table, const struct object_id *id)
{
    struct object_probe probe;
    object_probe(&probe, id);
    struct object_entry *entry = object_table_find(table, &probe);
    if (entry)
        return entry;
    table->entries = mem_grow(table->entries, table->count, &table->room, sizeof *table->entries);
    hash_index_add(&table->index, probe.hash, table->count);
    entry = &table->entries[table->count++];
    *entry = (struct object_entry){.id = *id};
    return entry;
}

void object_table_clear(struct object_table *table)
{
    free(table->entries);
    hash_index_clear(&table->index);
    *table = (struct object_table){0};
}
