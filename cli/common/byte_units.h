/* Byte counts as text, in powers of ten like `ray memory`. Pure. */
#ifndef RAYDBG_CLI_COMMON_BYTE_UNITS_H
#define RAYDBG_CLI_COMMON_BYTE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

enum byte_units { MEMORY_AUTO, MEMORY_B, MEMORY_KB, MEMORY_MB, MEMORY_GB };

#define MEMORY_SIZE_TEXT 32

/* "auto", "B", "KB", "MB", "GB", in either case. */
bool byte_units_parse(const char *name, enum byte_units *out);
/* "2.4 GB", "800 KB", "0.008100 GB"; "?" for less than 0. Both return `out`. */
char *byte_units_size(int64_t bytes, enum byte_units unit, char out[MEMORY_SIZE_TEXT]);
/* The same with a sign: "+2.4 GB", "-800 KB", "0 B". */
char *byte_units_growth(int64_t bytes, enum byte_units unit, char out[MEMORY_SIZE_TEXT]);

#endif
