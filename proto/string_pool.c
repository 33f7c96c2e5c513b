#include "proto/string_pool.h"

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Slots of the index that a search passes. A program can name its call sites such that their hashes
 * collide, and each search would then pass all of them. Random hashes pass a few. */
enum { PROBES = 128 };

struct entry {
    size_t len;
    char *text;
};

struct ray_string_pool {
    struct entry *entries;
    size_t count, room;
    struct hash_index index;
    size_t last; /* the last entry returned: adjacent strings are often equal */
};

struct ray_string_pool *ray_string_pool_create(void)
{
    return mem_alloc(sizeof(struct ray_string_pool));
}

void ray_string_pool_free(struct ray_string_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->count; i++)
        free(pool->entries[i].text);
    free(pool->entries);
    hash_index_clear(&pool->index);
    free(pool);
}

static bool is(const struct entry *entry, const void *bytes, size_t len)
{
    return entry->len == len && memcmp(entry->text, bytes, len) == 0;
}

static size_t add(struct ray_string_pool *pool, const void *bytes, size_t len)
{
    pool->entries = mem_grow(pool->entries, pool->count, &pool->room, sizeof *pool->entries);
    pool->entries[pool->count] = (struct entry){len, mem_string_n(bytes, len)};
    return pool->count++;
}

const char *ray_string_pool_add(struct ray_string_pool *pool, const void *bytes, size_t len)
{
    size_t cursor = 0;
    uintptr_t at;
    if (!len)
        return "";
    if (pool->count && is(&pool->entries[pool->last], bytes, len))
        return pool->entries[pool->last].text;
    uint64_t hash = hash_bytes(bytes, len, 0);
    while (hash_index_next_within(&pool->index, hash, PROBES, &cursor, &at))
        if (is(&pool->entries[at], bytes, len))
            return pool->entries[pool->last = at].text;
    pool->last = add(pool, bytes, len);
    if (cursor < PROBES) /* else to insert it would pass as many slots */
        hash_index_add(&pool->index, hash, pool->last);
    return pool->entries[pool->last].text;
}
