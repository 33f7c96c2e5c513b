/* Gives texts numbers: 0, 1, … in order of first use. */
#ifndef RAYDBG_BASE_TEXT_NUMBERS_H
#define RAYDBG_BASE_TEXT_NUMBERS_H

#include "base/hash_index.h"

/* All zero is an empty table. */
struct text_numbers {
    struct text_key {
        char *text;
        const char *pooled; /* the text's first address in text_numbers_pooled(), or NULL */
    } * keys;               /* by number */
    size_t count, cap;
    struct hash_index by_text, by_address; /* items are numbers */
};

/* False if the text has no number. */
bool text_numbers_find(const struct text_numbers *keys, const char *text, uint32_t *number);
/* The text's number; a new text is copied. */
uint32_t text_numbers_number(struct text_numbers *keys, const char *text);
/* The same, faster for a text that is looked up often and whose address always has the same text:
 * it is looked up by address first. */
uint32_t text_numbers_pooled(struct text_numbers *keys, const char *text);
/* The text of a number that `keys` has given; lives as long as `keys`. */
const char *text_numbers_text(const struct text_numbers *keys, uint32_t number);
void text_numbers_free(struct text_numbers *keys);

#endif
