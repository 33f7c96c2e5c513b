/* Whether two JSON values are the same, by value and not by bytes. Pure. */
#ifndef RAYDBG_DAP_SAME_H
#define RAYDBG_DAP_SAME_H

#include "dap/scan.h"

/* The spans are of values that scan_value() has accepted. White space, the order of members and the
 * spelling of strings do not count. Never true of values that a debuggee could take for different
 * ones; false for some that are the same: numbers that are no int64 and differ in spelling, objects
 * that have a key twice. */
bool same_value(const char *a, struct span at_a, const char *b, struct span at_b);

#endif
