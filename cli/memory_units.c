#include "cli/memory_units.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

/* `digits` behind the point, where all sizes are in this unit: a kilobyte still shows. */
static const struct {
    const char *option, *name;
    double bytes;
    int digits;
} units[] = {
    [MEMORY_AUTO] = {"auto", "", 1, 0}, [MEMORY_B] = {"B", "B", 1, 0},
    [MEMORY_KB] = {"KB", "kB", 1e3, 1}, [MEMORY_MB] = {"MB", "MB", 1e6, 3},
    [MEMORY_GB] = {"GB", "GB", 1e9, 6},
};

bool memory_units_parse(const char *name, enum memory_units *out)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcasecmp(name, units[i].option) == 0) {
            *out = (enum memory_units)i;
            return true;
        }
    }
    return false;
}

static char *scaled(double bytes, char out[MEMORY_SIZE_TEXT])
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t i = 0;
    while (bytes >= 999.5) {
        bytes /= 1000;
        i++;
    }
    snprintf(out, MEMORY_SIZE_TEXT, "%.*f %s", i && bytes < 99.95 ? 1 : 0, bytes, names[i]);
    return out;
}

char *memory_size(int64_t bytes, enum memory_units unit, char out[MEMORY_SIZE_TEXT])
{
    if (bytes < 0)
        snprintf(out, MEMORY_SIZE_TEXT, "?");
    else if (unit == MEMORY_B)
        snprintf(out, MEMORY_SIZE_TEXT, "%" PRId64 " B", bytes);
    else if (unit == MEMORY_AUTO)
        scaled((double)bytes, out);
    else
        snprintf(out, MEMORY_SIZE_TEXT, "%.*f %s", units[unit].digits,
                 (double)bytes / units[unit].bytes, units[unit].name);
    return out;
}

char *memory_growth(int64_t bytes, enum memory_units unit, char out[MEMORY_SIZE_TEXT])
{
    char size[MEMORY_SIZE_TEXT];
    memory_size(bytes < 0 ? -bytes : bytes, unit, size);
    snprintf(out, MEMORY_SIZE_TEXT, "%s%.30s", bytes > 0 ? "+" : bytes < 0 ? "-" : "", size);
    return out;
}
