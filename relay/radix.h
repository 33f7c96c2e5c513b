/* Sorting by numbers, where there are hundreds of thousands: each byte in which the keys differ
 * costs one pass. */
#ifndef RAYDBG_RELAY_RADIX_H
#define RAYDBG_RELAY_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct radix_item {
    uint64_t key;
    uint32_t index; /* the caller's */
};

/* Ascending; items with the same key stay in their order. */
void radix_sort(struct radix_item *items, size_t count);

#endif
