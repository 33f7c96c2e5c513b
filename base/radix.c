#include "base/radix.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = sizeof(uint64_t), VALUES = 256 };

static void count_values(const struct radix_item *items, size_t count, size_t counts[BYTES][VALUES])
{
    for (size_t i = 0; i < count; i++)
        for (unsigned byte = 0; byte < BYTES; byte++)
            counts[byte][items[i].key >> (8 * byte) & 0xFF]++;
}

/* Sorts by one byte, from `from` into `to`. `counts` holds how often each value of the byte occurs;
 * it is overwritten. */
static void pass(const struct radix_item *from, struct radix_item *to, size_t count, unsigned byte,
                 size_t counts[VALUES])
{
    size_t position = 0;
    for (size_t value = 0; value < VALUES; value++) {
        size_t here = counts[value];
        counts[value] = position;
        position += here;
    }
    for (size_t i = 0; i < count; i++)
        to[counts[from[i].key >> (8 * byte) & 0xFF]++] = from[i];
}

void radix_sort(struct radix_item *items, size_t count)
{
    size_t counts[BYTES][VALUES] = {0};
    struct radix_item *from = items, *to = NULL;
    count_values(items, count, counts);
    for (unsigned byte = 0; byte < BYTES && count; byte++) {
        if (counts[byte][from[0].key >> (8 * byte) & 0xFF] == count)
            continue;
        if (!to)
            to = mem_array(count, sizeof *to);
        pass(from, to, count, byte, counts[byte]);
        struct radix_item *other = from;
        from = to;
        to = other;
    }
    if (from != items) {
        memcpy(items, from, count * sizeof *items);
        to = from;
    }
    free(to);
}
