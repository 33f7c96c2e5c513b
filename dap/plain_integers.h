/* Whole numbers in plain digits. To a client whose JSON library has doubles only, 12, 12.0
 * and 1.2e1 are one number, and it may write any of them; Python reads the last two as floats,
 * which pydevd cannot use as a line or as an id. Pure. */
#ifndef RAYDBG_DAP_PLAIN_INTEGERS_H
#define RAYDBG_DAP_PLAIN_INTEGERS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends `json`, a text that scan_value() has accepted, with each number that scan_integer() reads
 * in plain digits; every other byte stays. False, and nothing is appended, if nothing changes. */
bool plain_integers_write(const char *json, size_t len, struct buf *out);

#endif
