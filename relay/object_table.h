/* Finds things by an object's id: thousands of them, in no time. All zero is an empty table. */
#ifndef RAYDBG_RELAY_OBJECT_TABLE_H
#define RAYDBG_RELAY_OBJECT_TABLE_H

#include "proto/object_records.h"
#include "relay/id_map.h"

struct object_table {
    struct id_map map; /* to pointers, of which none is NULL */
};

/* An id, made ready to be looked up in several tables. */
struct object_probe {
    struct id_key key;
    uint64_t hash;
};
void object_probe(struct object_probe *probe, const struct object_id *id);
void *object_table_find(const struct object_table *table, const struct object_probe *probe);

/* `value` is not NULL. An id that is there already gets the new one. */
void object_table_set(struct object_table *table, const struct object_id *id, void *value);
void *object_table_get(const struct object_table *table, const struct object_id *id); /* or NULL */
/* Steps through the values, in no order: start with *cursor = 0; NULL at the end. */
void *object_table_next(const struct object_table *table, size_t *cursor);
void object_table_clear(struct object_table *table);

#endif
