/* Numbers for texts: 0, 1, … in the order in which they are first asked for. */
#ifndef RAYDBG_RELAY_TEXT_KEYS_H
#define RAYDBG_RELAY_TEXT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty one. */
struct text_keys {
    char **texts; /* of the numbers */
    size_t count, cap;
    uint32_t *slots;   /* open addressing: a number plus one, or 0 */
    size_t slot_count; /* 0, or a power of two */
    struct text_address {
        const char *text; /* NULL: a free slot */
        uint32_t number;
    } * addresses; /* of text_keys_pooled() */
    size_t address_count, address_slots;
};

/* False if the text has no number. */
bool text_keys_find(const struct text_keys *keys, const char *text, uint32_t *number);
/* The text's number; a new text is copied. */
uint32_t text_keys_number(struct text_keys *keys, const char *text);
/* The same for a text that stays where it is, and that is asked for often: by its address first. */
uint32_t text_keys_pooled(struct text_keys *keys, const char *text);
/* Frees everything but the texts themselves, which somebody has taken. */
void text_keys_forget(struct text_keys *keys);
void text_keys_free(struct text_keys *keys);

#endif
