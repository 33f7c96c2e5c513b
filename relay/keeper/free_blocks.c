#include "relay/keeper/free_blocks.h"

#include "base/mem.h"
#include "relay/keeper/keeper_snapshots.h"

#include <stdlib.h>

size_t free_blocks_room(size_t class)
{
    return (size_t)SNAPSHOT_BLOCK_MIN << class;
}

size_t free_blocks_class(size_t len)
{
    size_t class = 0;
    while (free_blocks_room(class) < len)
        class ++;
    return class;
}

void free_blocks_add(struct free_blocks *blocks, uint64_t offset, size_t class)
{
    struct free_blocks_list *list = &blocks->lists[class];
    list->offsets = mem_grow(list->offsets, list->count, &list->room, sizeof *list->offsets);
    list->offsets[list->count++] = offset;
}

void free_blocks_add_run(struct free_blocks *blocks, uint64_t from, uint64_t to)
{
    size_t class = FREE_BLOCKS_CLASSES - 1;
    while (to - from >= SNAPSHOT_BLOCK_MIN) {
        while (free_blocks_room(class) > to - from)
            class --;
        free_blocks_add(blocks, from, class);
        from += free_blocks_room(class);
    }
}

uint64_t free_blocks_take(struct free_blocks *blocks, size_t class)
{
    for (size_t larger = class; larger < FREE_BLOCKS_CLASSES; larger++) {
        struct free_blocks_list *list = &blocks->lists[larger];
        if (!list->count)
            continue;
        uint64_t offset = list->offsets[--list->count];
        free_blocks_add_run(blocks, offset + free_blocks_room(class),
                            offset + free_blocks_room(larger));
        return offset;
    }
    return 0;
}

void free_blocks_forget(struct free_blocks *blocks)
{
    for (size_t i = 0; i < FREE_BLOCKS_CLASSES; i++)
        blocks->lists[i].count = 0;
}

void free_blocks_clear(struct free_blocks *blocks)
{
    for (size_t i = 0; i < FREE_BLOCKS_CLASSES; i++)
        free(blocks->lists[i].offsets);
    *blocks = (struct free_blocks){0};
}
