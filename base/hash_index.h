/* An open-addressed table that finds items by the hash of their key. It stores no keys; an item is
 * a number that the caller chooses, such as a position or a pointer. Several items may have the
 * same hash: the caller compares the keys.
 *
 *     size_t cursor = 0;
 *     uintptr_t item;
 *     while (hash_index_next(index, hash, &cursor, &item))
 *         if (text_equal(rows[item].id, id)) …
 */
#ifndef RAYDBG_BASE_HASH_INDEX_H
#define RAYDBG_BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
    uint64_t hash;
    uintptr_t above; /* the item plus one; 0: a free slot */
};

/* All zero is an empty index without memory. */
struct hash_index {
    struct hash_slot *slots;
    size_t size; /* 0, or a power of two */
    size_t count;
};

/* `item` may be anything except UINTPTR_MAX. */
void hash_index_add(struct hash_index *index, uint64_t hash, uintptr_t item);
/* Steps through the items with this hash, in no particular order; false after the last, or after
 * `most` slots, and then *cursor is `most`. The bound is for keys from outside, which an attacker
 * can make collide. The index must not be changed between two steps. */
static inline bool hash_index_next_within(const struct hash_index *index, uint64_t hash,
                                          size_t most, size_t *cursor, uintptr_t *item)
{
    while (*cursor < index->size && *cursor < most) {
        const struct hash_slot *slot = &index->slots[(hash + (*cursor)++) & (index->size - 1)];
        if (!slot->above)
            return false;
        if (slot->hash == hash) {
            *item = slot->above - 1;
            return true;
        }
    }
    return false;
}
/* The same without a bound. Inline: an answer of thousands of rows takes several of these for each
 * row. */
static inline bool hash_index_next(const struct hash_index *index, uint64_t hash, size_t *cursor,
                                   uintptr_t *item)
{
    return hash_index_next_within(index, hash, index->size, cursor, item);
}
/* Removes one entry with this hash and this item, if there is one. */
void hash_index_remove(struct hash_index *index, uint64_t hash, uintptr_t item);
void hash_index_clear(struct hash_index *index); /* frees */

#endif
