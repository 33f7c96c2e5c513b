/* The positions in a body that are new each time: "0x" and the last digits of the request's tag.
 * One side writes there what the other expects, so that no two answers have the same rows, and
 * each is still known byte by byte. */
#ifndef RAYDBG_LOAD_STAMPS_H
#define RAYDBG_LOAD_STAMPS_H

#include "load/canned.h"

#include <stddef.h>

#define STAMP_FRONT "0x"
#define STAMP_NONE "00000000" /* of a canned text */
enum { STAMP_DIGITS = sizeof STAMP_NONE - 1 };

/* All zero is none. */
struct stamps {
    size_t *at; /* where the digits begin */
    size_t count;
};

/* Those of a tag. */
const char *stamps_digits(const char *tag);
/* All positions that have these digits, instead of what was found before. */
void stamps_find(struct stamps *stamps, const char *text, size_t len, const char *digits);
void stamps_write(const struct stamps *stamps, char *text, const char *digits);
void stamps_free(struct stamps *stamps);

#endif
