/* A fast map from object ids to pointers, for many thousands of ids. All zero is an empty map. */
#ifndef RAYDBG_RELAY_CLUSTER_OBJECT_ID_MAP_H
#define RAYDBG_RELAY_CLUSTER_OBJECT_ID_MAP_H

#include "base/fixed_map.h"
#include "proto/object_records.h"

#include <endian.h>
#include <string.h>

struct object_id_map {
    struct fixed_map map; /* the values are pointers, never NULL */
};

/* An id with its hash, for look-ups in several maps. These look-ups are inline: an answer of
 * thousands of rows takes several for each row. */
struct object_probe {
    union {
        struct object_id id; /* the key's first bytes; the others are zero */
        struct id_key key;
    };
    uint64_t hash;
};

/* No word goes through an array in memory: a load that spans two smaller stores stalls the
 * processor, and compilers load two words at once. */
static inline void object_probe(struct object_probe *probe, const struct object_id *id)
{
    _Static_assert(sizeof id->bytes == 3 * sizeof(uint64_t) + sizeof(uint32_t),
                   "the words of an id");
    uint64_t a = object_id_word(id, 0), b = object_id_word(id, 8), c = object_id_word(id, 16);
    uint64_t d = htole64((uint64_t)le32toh(object_id_rest(id)));
    memcpy(probe->key.bytes, &a, sizeof a);
    memcpy(probe->key.bytes + sizeof a, &b, sizeof b);
    memcpy(probe->key.bytes + 2 * sizeof a, &c, sizeof c);
    memcpy(probe->key.bytes + 3 * sizeof a, &d, sizeof d);
    probe->hash = fixed_map_hash_words(a, b, c, d);
}

static inline void *object_id_map_pointer(const uint64_t *value)
{
    return value ? (void *)(uintptr_t)*value : NULL;
}

static inline void *object_id_map_find(const struct object_id_map *table,
                                       const struct object_probe *probe)
{
    return object_id_map_pointer(fixed_map_find(&table->map, &probe->key, probe->hash));
}

/* The same, faster for ids that are looked up in the order in which they were added. */
static inline void *object_id_map_find_next(struct object_id_map *table,
                                            const struct object_probe *probe)
{
    return object_id_map_pointer(fixed_map_find_next(&table->map, &probe->key, probe->hash));
}

/* `value` is not NULL. It replaces an earlier value of the same id. */
void object_id_map_set(struct object_id_map *table, const struct object_id *id, void *value);
void *object_id_map_get(const struct object_id_map *table,
                        const struct object_id *id); /* or NULL */
/* Iterates over the values, in no particular order: start with *cursor = 0; NULL at the end. */
void *object_id_map_next(const struct object_id_map *table, size_t *cursor);
void object_id_map_clear(struct object_id_map *table);

#endif
