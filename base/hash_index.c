#include "base/hash_index.h"

#include "base/invariant.h"
#include "base/mem.h"

#include <stdlib.h>

enum { SIZE_MIN = 16 };

static void insert(struct hash_index *index, uint64_t hash, uintptr_t item)
{
    size_t at = hash & (index->size - 1);
    while (index->slots[at].above)
        at = (at + 1) & (index->size - 1);
    index->slots[at] = (struct hash_slot){hash, item + 1};
    index->count++;
}

/* Doubles the table: at most half of its slots are used. The hashes of consecutive ids are
 * consecutive (fixed_map_hash()), so such ids take up whole blocks of slots, and a search behind a
 * block that another one has taken passes all its slots: at three quarters 12 slots on average, at
 * half 4. */
static void grow(struct hash_index *index)
{
    struct hash_index larger = {.size = index->size ? 2 * index->size : SIZE_MIN};
    larger.slots = mem_array(larger.size, sizeof *larger.slots);
    for (size_t i = 0; i < index->size; i++)
        if (index->slots[i].above)
            insert(&larger, index->slots[i].hash, index->slots[i].above - 1);
    free(index->slots);
    *index = larger;
}

void hash_index_add(struct hash_index *index, uint64_t hash, uintptr_t item)
{
    if (2 * (index->count + 1) > index->size)
        grow(index);
    insert(index, hash, item);
}

/* Moves items into the hole: a search ends at a free slot and must not miss the items behind it. */
static void close_hole(struct hash_index *index, size_t hole)
{
    size_t mask = index->size - 1;
    for (size_t at = (hole + 1) & mask; index->slots[at].above; at = (at + 1) & mask) {
        size_t home = index->slots[at].hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        index->slots[hole] = index->slots[at];
        hole = at;
    }
    index->slots[hole] = (struct hash_slot){0};
}

void hash_index_remove(struct hash_index *index, uint64_t hash, uintptr_t item)
{
    if (!index->size)
        return;
    size_t at = hash & (index->size - 1);
    while (index->slots[at].above &&
           (index->slots[at].hash != hash || index->slots[at].above != item + 1))
        at = (at + 1) & (index->size - 1);
    if (!index->slots[at].above)
        return;
    close_hole(index, at);
    invariant(index->count > 0);
    index->count--;
}

void hash_index_clear(struct hash_index *index)
{
    free(index->slots);
    *index = (struct hash_index){0};
}
