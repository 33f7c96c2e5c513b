/* Finds things by an object's id: thousands of them, in no time. All zero is an empty table. */
#ifndef RAYDBG_RELAY_OBJECT_TABLE_H
#define RAYDBG_RELAY_OBJECT_TABLE_H

#include "proto/object_records.h"

struct object_table {
    struct object_entry {
        struct object_id id;
        void *value; /* NULL: empty */
    } * entries;
    size_t room, count; /* room: a power of two, or 0 */
};

/* `value` is not NULL. An id that is there already gets the new one. */
void object_table_set(struct object_table *table, const struct object_id *id, void *value);
void *object_table_get(const struct object_table *table, const struct object_id *id); /* or NULL */
void object_table_clear(struct object_table *table);

#endif
