/* Radix sort by 64-bit keys, for hundreds of thousands of items: each byte in which the keys differ
 * costs one pass. */
#ifndef RAYDBG_BASE_RADIX_H
#define RAYDBG_BASE_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct radix_item {
    uint64_t key;
    uint32_t index; /* the caller's */
};

/* Ascending; items with the same key stay in their order. */
void radix_sort(struct radix_item *items, size_t count);

#endif
