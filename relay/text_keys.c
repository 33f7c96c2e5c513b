#include "relay/text_keys.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *find_slot(const struct text_keys *keys, const char *text)
{
    size_t at = hash_text(text, 0) & (keys->slot_count - 1);
    while (keys->slots[at] && strcmp(keys->texts[keys->slots[at] - 1], text) != 0)
        at = (at + 1) & (keys->slot_count - 1);
    return &keys->slots[at];
}

static void grow(struct text_keys *keys)
{
    keys->slot_count = keys->slot_count ? 2 * keys->slot_count : 64;
    free(keys->slots);
    keys->slots = mem_array(keys->slot_count, sizeof *keys->slots);
    for (size_t i = 0; i < keys->count; i++)
        *find_slot(keys, keys->texts[i]) = (uint32_t)i + 1;
}

bool text_keys_find(const struct text_keys *keys, const char *text, uint32_t *number)
{
    if (!keys->count)
        return false;
    uint32_t slot = *find_slot(keys, text);
    *number = slot - 1;
    return slot != 0;
}

uint32_t text_keys_number(struct text_keys *keys, const char *text)
{
    if (2 * keys->count >= keys->slot_count)
        grow(keys);
    uint32_t *slot = find_slot(keys, text);
    if (*slot)
        return *slot - 1;
    if (keys->count == keys->cap) {
        keys->cap = keys->cap ? 2 * keys->cap : 64;
        keys->texts = mem_resize(keys->texts, keys->cap, sizeof *keys->texts);
    }
    keys->texts[keys->count++] = mem_string(text);
    *slot = (uint32_t)keys->count;
    return *slot - 1;
}

static struct text_address *find_address(const struct text_keys *keys, const char *text)
{
    size_t at = hash_number((uintptr_t)text) & (keys->address_slots - 1);
    while (keys->addresses[at].text && keys->addresses[at].text != text)
        at = (at + 1) & (keys->address_slots - 1);
    return &keys->addresses[at];
}

static void grow_addresses(struct text_keys *keys)
{
    struct text_address *old = keys->addresses;
    size_t slots = keys->address_slots;
    keys->address_slots = slots ? 2 * slots : 256;
    keys->addresses = mem_array(keys->address_slots, sizeof *keys->addresses);
    for (size_t i = 0; i < slots; i++)
        if (old[i].text)
            *find_address(keys, old[i].text) = old[i];
    free(old);
}

uint32_t text_keys_pooled(struct text_keys *keys, const char *text)
{
    if (2 * keys->address_count >= keys->address_slots)
        grow_addresses(keys);
    struct text_address *found = find_address(keys, text);
    if (!found->text) {
        *found = (struct text_address){text, text_keys_number(keys, text)};
        keys->address_count++;
    }
    return found->number;
}

void text_keys_forget(struct text_keys *keys)
{
    free(keys->texts);
    free(keys->slots);
    free(keys->addresses);
    *keys = (struct text_keys){0};
}

void text_keys_free(struct text_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(keys->texts[i]);
    text_keys_forget(keys);
}
