/* The unused blocks of a memory, by offset: for keeper_snapshots.c, whose blocks are
 * SNAPSHOT_BLOCK_MIN bytes times a power of two (the class). Knows no more than the offsets. */
#ifndef RAYDBG_RELAY_KEEPER_FREE_BLOCKS_H
#define RAYDBG_RELAY_KEEPER_FREE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

enum { FREE_BLOCKS_CLASSES = 23 }; /* 256 B … 1 GiB */

/* Zeroes: no block. */
struct free_blocks {
    struct free_blocks_list {
        uint64_t *offsets;
        size_t count;
        size_t room;
    } lists[FREE_BLOCKS_CLASSES];
};

size_t free_blocks_room(size_t class);
/* The smallest class with room for `len` bytes. */
size_t free_blocks_class(size_t len);

void free_blocks_add(struct free_blocks *blocks, uint64_t offset, size_t class);
/* Cuts a run of unused memory into blocks. */
void free_blocks_add_run(struct free_blocks *blocks, uint64_t from, uint64_t to);
/* Takes a block of the class, cut from a larger one if need be: its offset, or 0 if there is none.
 */
uint64_t free_blocks_take(struct free_blocks *blocks, size_t class);
/* Forgets all blocks. */
void free_blocks_forget(struct free_blocks *blocks);
/* Forgets all blocks and frees the lists. */
void free_blocks_clear(struct free_blocks *blocks);

#endif
