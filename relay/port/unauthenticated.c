#include "relay/port/unauthenticated.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct unauthenticated_count {
    uint8_t address[UNAUTHENTICATED_ADDRESS_SIZE];
    size_t count;
};

static uint64_t hash_of(const uint8_t *address)
{
    return hash_bytes(address, UNAUTHENTICATED_ADDRESS_SIZE, 0);
}

static struct unauthenticated_count *find(const struct unauthenticated *unauthenticated,
                                          const uint8_t *address)
{
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(&unauthenticated->counts, hash_of(address), &cursor, &item)) {
        struct unauthenticated_count *it = (struct unauthenticated_count *)item;
        if (memcmp(it->address, address, UNAUTHENTICATED_ADDRESS_SIZE) == 0)
            return it;
    }
    return NULL;
}

size_t unauthenticated_add(struct unauthenticated *unauthenticated,
                           const uint8_t address[UNAUTHENTICATED_ADDRESS_SIZE])
{
    struct unauthenticated_count *it = find(unauthenticated, address);
    if (!it) {
        it = mem_alloc(sizeof *it);
        memcpy(it->address, address, UNAUTHENTICATED_ADDRESS_SIZE);
        hash_index_add(&unauthenticated->counts, hash_of(address), (uintptr_t)it);
    }
    return ++it->count;
}

void unauthenticated_drop(struct unauthenticated *unauthenticated,
                          const uint8_t address[UNAUTHENTICATED_ADDRESS_SIZE])
{
    struct unauthenticated_count *it = find(unauthenticated, address);
    if (!it || --it->count > 0)
        return;
    hash_index_remove(&unauthenticated->counts, hash_of(address), (uintptr_t)it);
    free(it);
    if (!unauthenticated->counts.count)
        hash_index_clear(&unauthenticated->counts);
}
