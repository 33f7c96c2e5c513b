/* Items by the hash of their key: an open-addressed table that holds neither keys nor items, only
 * what the caller knows them by, a position or a pointer. Several items may have one hash: the
 * caller compares the keys.
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
    uintptr_t item;
    bool used;
};

/* All zero is an empty one, without memory. */
struct hash_index {
    struct hash_slot *slots;
    size_t size; /* 0, or a power of two */
    size_t count;
};

void hash_index_add(struct hash_index *index, uint64_t hash, uintptr_t item);
/* Steps through the items with this hash, in no order: false after the last. The index must not be
 * changed between two steps. */
bool hash_index_next(const struct hash_index *index, uint64_t hash, size_t *cursor,
                     uintptr_t *item);
/* One of the entries with both; nothing if there is none. */
void hash_index_remove(struct hash_index *index, uint64_t hash, uintptr_t item);
void hash_index_clear(struct hash_index *index); /* frees */

#endif
