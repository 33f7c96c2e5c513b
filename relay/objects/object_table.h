/* All that is known of each object of one worker. It is one table, because a message may have
 * thousands of references: one look-up finds all of it. Pure. */
#ifndef RAYDBG_RELAY_OBJECTS_OBJECT_TABLE_H
#define RAYDBG_RELAY_OBJECTS_OBJECT_TABLE_H

#include "base/hash_index.h"
#include "relay/cluster/object_id_map.h"

struct query;

struct object_entry {
    struct object_id id;
    const struct ray_object_ref *ref; /* the worker's reference, borrowed; or NULL */
    struct query *query;              /* the search for its owner, borrowed; or NULL */
};

/* All zero is empty. */
struct object_table {
    struct object_entry *entries;
    size_t count, room;
    struct hash_index index;
};

/* NULL if the object has no entry. Valid until an entry is added. */
static inline struct object_entry *object_table_find(const struct object_table *table,
                                                     const struct object_probe *probe)
{
    size_t cursor = 0;
    uintptr_t at;
    while (hash_index_next(&table->index, probe->hash, &cursor, &at))
        if (object_id_equal(&table->entries[at].id, &probe->id))
            return &table->entries[at];
    return NULL;
}

struct object_entry *object_table_get(const struct object_table *table, const struct object_id *id);
/* The object's entry, a new one if it has none. */
struct object_entry *object_table_add(struct object_table *table, const struct object_id *id);
void object_table_clear(struct object_table *table);

#endif
