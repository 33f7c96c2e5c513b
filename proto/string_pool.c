#include "proto/string_pool.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t hash;
    size_t len;
    char *text; /* NULL: a free place */
};

/* Open addressing; `size` is a power of two and at least a quarter of it is free. */
struct ray_string_pool {
    struct entry *entries;
    size_t size, count;
    const struct entry *last; /* what was added last: neighbours are often equal */
};

enum { FIRST_SIZE = 16 };

struct ray_string_pool *ray_string_pool_create(void)
{
    struct ray_string_pool *pool = mem_alloc(sizeof *pool);
    pool->size = FIRST_SIZE;
    pool->entries = mem_array(pool->size, sizeof *pool->entries);
    return pool;
}

void ray_string_pool_free(struct ray_string_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->size; i++)
        free(pool->entries[i].text);
    free(pool->entries);
    free(pool);
}

static bool is(const struct entry *entry, const void *bytes, size_t len)
{
    return entry->len == len && memcmp(entry->text, bytes, len) == 0;
}

/* Where these bytes are, or the free place where they belong. */
static struct entry *find(struct entry *entries, size_t size, uint64_t hash, const void *bytes,
                          size_t len)
{
    size_t at = hash & (size - 1);
    while (entries[at].text && !(entries[at].hash == hash && is(&entries[at], bytes, len)))
        at = (at + 1) & (size - 1);
    return &entries[at];
}

static void grow(struct ray_string_pool *pool)
{
    size_t size = pool->size * 2;
    struct entry *entries = mem_array(size, sizeof *entries);
    for (size_t i = 0; i < pool->size; i++) {
        const struct entry *old = &pool->entries[i];
        if (old->text)
            *find(entries, size, old->hash, old->text, old->len) = *old;
    }
    free(pool->entries);
    pool->entries = entries;
    pool->size = size;
}

const char *ray_string_pool_add(struct ray_string_pool *pool, const void *bytes, size_t len)
{
    if (!len)
        return "";
    if (pool->last && is(pool->last, bytes, len))
        return pool->last->text;
    if (pool->count >= pool->size / 4 * 3)
        grow(pool);
    uint64_t hash = hash_bytes(bytes, len, 0);
    struct entry *entry = find(pool->entries, pool->size, hash, bytes, len);
    if (!entry->text) {
        *entry = (struct entry){hash, len, mem_string_n(bytes, len)};
        pool->count++;
    }
    pool->last = entry;
    return entry->text;
}
