#include "load/stamps.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { FRONT = sizeof STAMP_FRONT - 1 };

const char *stamps_digits(const char *tag)
{
    return tag + CANNED_TAG - STAMP_DIGITS;
}

void stamps_find(struct stamps *stamps, const char *text, size_t len, const char *digits)
{
    char whole[FRONT + STAMP_DIGITS];
    memcpy(whole, STAMP_FRONT, FRONT);
    memcpy(whole + FRONT, digits, STAMP_DIGITS);
    stamps->count = 0;
    for (const char *at = text, *end = text + len;
         (at = memmem(at, (size_t)(end - at), whole, sizeof whole)); at += sizeof whole) {
        if ((stamps->count & (stamps->count - 1)) == 0)
            stamps->at =
                mem_resize(stamps->at, stamps->count ? 2 * stamps->count : 1, sizeof *stamps->at);
        stamps->at[stamps->count++] = (size_t)(at - text) + FRONT;
    }
}

void stamps_write(const struct stamps *stamps, char *text, const char *digits)
{
    for (size_t i = 0; i < stamps->count; i++)
        memcpy(text + stamps->at[i], digits, STAMP_DIGITS);
}

void stamps_free(struct stamps *stamps)
{
    free(stamps->at);
    *stamps = (struct stamps){0};
}
