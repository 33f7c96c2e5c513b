#include "base/hash_index.h"

#include "base/mem.h"

#include <stdlib.h>

enum { SIZE_MIN = 16 };

static void place(struct hash_index *index, uint64_t hash, uintptr_t item)
{
    size_t at = hash & (index->size - 1);
    while (index->slots[at].used)
        at = (at + 1) & (index->size - 1);
    index->slots[at] = (struct hash_slot){hash, item, true};
    index->count++;
}

/* At most three quarters are used. */
static void grow(struct hash_index *index)
{
    struct hash_index larger = {.size = index->size ? 2 * index->size : SIZE_MIN};
    larger.slots = mem_array(larger.size, sizeof *larger.slots);
    for (size_t i = 0; i < index->size; i++)
        if (index->slots[i].used)
            place(&larger, index->slots[i].hash, index->slots[i].item);
    free(index->slots);
    *index = larger;
}

void hash_index_add(struct hash_index *index, uint64_t hash, uintptr_t item)
{
    if (4 * (index->count + 1) > 3 * index->size)
        grow(index);
    place(index, hash, item);
}

bool hash_index_next(const struct hash_index *index, uint64_t hash, size_t *cursor, uintptr_t *item)
{
    while (*cursor < index->size) {
        const struct hash_slot *slot = &index->slots[(hash + (*cursor)++) & (index->size - 1)];
        if (!slot->used)
            return false;
        if (slot->hash == hash) {
            *item = slot->item;
            return true;
        }
    }
    return false;
}

/* Moves up what would not be found behind the hole any more. */
static void close_hole(struct hash_index *index, size_t hole)
{
    size_t mask = index->size - 1;
    for (size_t at = (hole + 1) & mask; index->slots[at].used; at = (at + 1) & mask) {
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
    while (index->slots[at].used &&
           (index->slots[at].hash != hash || index->slots[at].item != item))
        at = (at + 1) & (index->size - 1);
    if (!index->slots[at].used)
        return;
    close_hole(index, at);
    index->count--;
}

void hash_index_clear(struct hash_index *index)
{
    free(index->slots);
    *index = (struct hash_index){0};
}
