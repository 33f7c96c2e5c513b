/* Compares two JSON values by value, not by bytes. Pure. */
#ifndef RAYDBG_DAP_SAME_H
#define RAYDBG_DAP_SAME_H

#include "dap/scan.h"

/* True if the values are equal; the spans are of values that scan_value() has accepted. White
 * space, the order of members and the spelling of strings do not count. Never true for values that
 * a debuggee could take for different ones. False for some equal values: numbers that are not
 * int64 and differ in spelling; and, if their bytes differ, objects that have a key twice, objects
 * of more than 64 members, and values whose comparison would read more than some MiB: large objects
 * that are nested deeply. Equal bytes are always the same. */
bool same_value(const char *a, struct span at_a, const char *b, struct span at_b);

#endif
