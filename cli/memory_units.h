/* Bytes as people want them: powers of ten, as `ray memory` counts. Pure. */
#ifndef RAYDBG_CLI_MEMORY_UNITS_H
#define RAYDBG_CLI_MEMORY_UNITS_H

#include <stdbool.h>
#include <stdint.h>

enum memory_units { MEMORY_AUTO, MEMORY_B, MEMORY_KB, MEMORY_MB, MEMORY_GB };

#define MEMORY_SIZE_TEXT 32

/* "auto", "B", "KB", "MB", "GB", of either case. */
bool memory_units_parse(const char *name, enum memory_units *out);
/* "2.4 GB", "800 kB", "0.008100 GB"; "?" for less than 0. Both return `out`. */
char *memory_size(int64_t bytes, enum memory_units unit, char out[MEMORY_SIZE_TEXT]);
/* The same with a sign: "+2.4 GB", "-800 kB", "0 B". */
char *memory_growth(int64_t bytes, enum memory_units unit, char out[MEMORY_SIZE_TEXT]);

#endif
