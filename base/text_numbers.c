#include "base/text_numbers.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool find(const struct text_numbers *keys, const char *text, uint64_t hash, uint32_t *number)
{
    size_t cursor = 0;
    uintptr_t at;
    while (hash_index_next(&keys->by_text, hash, &cursor, &at)) {
        *number = (uint32_t)at;
        if (strcmp(keys->keys[at].text, text) == 0)
            return true;
    }
    return false;
}

bool text_numbers_find(const struct text_numbers *keys, const char *text, uint32_t *number)
{
    return keys->count && find(keys, text, hash_text(text, 0), number);
}

uint32_t text_numbers_number(struct text_numbers *keys, const char *text)
{
    uint64_t hash = hash_text(text, 0);
    uint32_t number;
    if (find(keys, text, hash, &number))
        return number;
    keys->keys = mem_grow(keys->keys, keys->count, &keys->cap, sizeof *keys->keys);
    hash_index_add(&keys->by_text, hash, keys->count);
    keys->keys[keys->count] = (struct text_key){.text = mem_string(text)};
    return (uint32_t)keys->count++;
}

uint32_t text_numbers_pooled(struct text_numbers *keys, const char *text)
{
    uint64_t hash = hash_number((uintptr_t)text);
    size_t cursor = 0;
    uintptr_t at;
    while (hash_index_next(&keys->by_address, hash, &cursor, &at))
        if (keys->keys[at].pooled == text)
            return (uint32_t)at;
    uint32_t number = text_numbers_number(keys, text);
    if (!keys->keys[number].pooled) {
        keys->keys[number].pooled = text;
        hash_index_add(&keys->by_address, hash, number);
    }
    return number;
}

const char *text_numbers_text(const struct text_numbers *keys, uint32_t number)
{
    return keys->keys[number].text;
}

void text_numbers_free(struct text_numbers *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(keys->keys[i].text);
    free(keys->keys);
    hash_index_clear(&keys->by_text);
    hash_index_clear(&keys->by_address);
    *keys = (struct text_numbers){0};
}
