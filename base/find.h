/* Where bytes are in a text. */
#ifndef RAYDBG_BASE_FIND_H
#define RAYDBG_BASE_FIND_H

#include <stddef.h>

/* memmem() for a short needle (of 2 bytes or more) in a long text, several times as fast where the
 * needle's first and last byte seldom stand at its distance. NULL if it is nowhere. */
const char *find_bytes(const char *text, size_t len, const char *needle, size_t needle_len);

#endif
