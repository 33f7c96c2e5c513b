/* Parses option values with a unit. Pure. */
#ifndef RAYDBG_CLI_COMMON_QUANTITY_H
#define RAYDBG_CLI_COMMON_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* "90", "90s", "15m", "2h", "1d" in milliseconds; plain numbers are seconds. Not negative. */
bool quantity_duration(const char *text, int64_t *ms);
/* "4096", "64K", "4M", "1G" in bytes. Not negative. */
bool quantity_size(const char *text, int64_t *bytes);

#endif
