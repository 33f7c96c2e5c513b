#include "relay/object_table.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 64 };

/* FNV-1a: ids of one job differ in a few bytes only, which all count here. */
static size_t hash(const struct object_id *id)
{
    uint64_t value = 14695981039346656037u;
    for (size_t i = 0; i < ID_OBJECT_BYTES; i++)
        value = (value ^ id->bytes[i]) * 1099511628211u;
    return (size_t)(value ^ (value >> 32));
}

/* Where the id is, or would be. There is always an empty entry. */
static struct object_entry *place(const struct object_table *table, const struct object_id *id)
{
    size_t at = hash(id) & (table->room - 1);
    while (table->entries[at].value &&
           memcmp(table->entries[at].id.bytes, id->bytes, ID_OBJECT_BYTES) != 0)
        at = (at + 1) & (table->room - 1);
    return &table->entries[at];
}

static void grow(struct object_table *table)
{
    struct object_table larger = {.room = table->room ? table->room * 2 : ROOM_MIN};
    larger.entries = mem_array(larger.room, sizeof *larger.entries);
    larger.count = table->count;
    for (size_t i = 0; i < table->room; i++)
        if (table->entries[i].value)
            *place(&larger, &table->entries[i].id) = table->entries[i];
    free(table->entries);
    *table = larger;
}

void object_table_set(struct object_table *table, const struct object_id *id, void *value)
{
    if ((table->count + 1) * 2 > table->room)
        grow(table);
    struct object_entry *entry = place(table, id);
    table->count += !entry->value;
    *entry = (struct object_entry){*id, value};
}

void *object_table_get(const struct object_table *table, const struct object_id *id)
{
    return table->room ? place(table, id)->value : NULL;
}

void object_table_clear(struct object_table *table)
{
    free(table->entries);
    *table = (struct object_table){0};
}
