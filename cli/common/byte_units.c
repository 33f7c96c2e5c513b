#include "cli/common/byte_units.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

/* `digits`: decimals if all sizes are in this unit, so that a kilobyte still shows. */
static const struct {
    const char *name;
    double bytes;
    int digits;
} units[] = {
    [MEMORY_AUTO] = {"auto", 1, 0}, [MEMORY_B] = {"B", 1, 0},     [MEMORY_KB] = {"KB", 1e3, 1},
    [MEMORY_MB] = {"MB", 1e6, 3},   [MEMORY_GB] = {"GB", 1e9, 6},
};

bool byte_units_parse(const char *name, enum byte_units *out)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcasecmp(name, units[i].name) == 0) {
            *out = (enum byte_units)i;
            return true;
        }
    }
    return false;
}

static char *scaled(double bytes, char out[MEMORY_SIZE_TEXT])
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    size_t i = 0;
    while (bytes >= 999.5) {
        bytes /= 1000;
        i++;
    }
    snprintf(out, MEMORY_SIZE_TEXT, "%.*f %s", i && bytes < 99.95 ? 1 : 0, bytes, names[i]);
    return out;
}

char *byte_units_size(int64_t bytes, enum byte_units unit, char out[MEMORY_SIZE_TEXT])
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

char *byte_units_growth(int64_t bytes, enum byte_units unit, char out[MEMORY_SIZE_TEXT])
{
    char size[MEMORY_SIZE_TEXT];
    byte_units_size(bytes < 0 ? -bytes : bytes, unit, size);
    snprintf(out, MEMORY_SIZE_TEXT, "%s%.30s", bytes > 0 ? "+" : bytes < 0 ? "-" : "", size);
    return out;
}
