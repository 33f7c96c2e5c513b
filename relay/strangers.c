#include "relay/strangers.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct stranger_count {
    struct stranger_count *next;
    uint8_t address[STRANGERS_ADDRESS_SIZE];
    size_t count;
};

static struct stranger_count **find(struct strangers *strangers, const uint8_t *address)
{
    uint64_t hash = hash_bytes(address, STRANGERS_ADDRESS_SIZE, 0);
    struct stranger_count **at = &strangers->buckets[hash % STRANGERS_BUCKETS];
    while (*at && memcmp((*at)->address, address, STRANGERS_ADDRESS_SIZE) != 0)
        at = &(*at)->next;
    return at;
}

size_t strangers_add(struct strangers *strangers, const uint8_t address[STRANGERS_ADDRESS_SIZE])
{
    struct stranger_count **at = find(strangers, address);
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        memcpy((*at)->address, address, STRANGERS_ADDRESS_SIZE);
    }
    return ++(*at)->count;
}

void strangers_drop(struct strangers *strangers, const uint8_t address[STRANGERS_ADDRESS_SIZE])
{
    struct stranger_count **at = find(strangers, address), *it = *at;
    if (!it || --it->count > 0)
        return;
    *at = it->next;
    free(it);
}
