/* A fast map from object ids to pointers, for many thousands of ids. All zero is an empty map. */
#ifndef RAYDBG_RELAY_CLUSTER_OBJECT_ID_MAP_H
#define RAYDBG_RELAY_CLUSTER_OBJECT_ID_MAP_H

#include "base/fixed_map.h"
#include "proto/object_records.h"

struct object_id_map {
    struct fixed_map map; /* the values are pointers, never NULL */
};

/* An id with its hash, for look-ups in several maps. */
struct object_probe {
    union {
        struct object_id id; /* the key's first bytes; the others are zero */
        struct id_key key;
    };
    uint64_t hash;
};
void object_probe(struct object_probe *probe, const struct object_id *id);
void *object_id_map_find(const struct object_id_map *table, const struct object_probe *probe);
/* The same, faster for ids that are looked up in the order in which they were added. */
void *object_id_map_find_next(struct object_id_map *table, const struct object_probe *probe);

/* `value` is not NULL. It replaces an earlier value of the same id. */
void object_id_map_set(struct object_id_map *table, const struct object_id *id, void *value);
void *object_id_map_get(const struct object_id_map *table,
                        const struct object_id *id); /* or NULL */
/* Iterates over the values, in no particular order: start with *cursor = 0; NULL at the end. */
void *object_id_map_next(const struct object_id_map *table, size_t *cursor);
void object_id_map_clear(struct object_id_map *table);

#endif
