#include "cli/common/quantity.h"

#include "base/text.h"

#include <string.h>

struct unit {
    char letter;
    int64_t factor;
};

/* `limit`: the largest result. */
static bool read_with_unit(const char *text, const struct unit *units, size_t count, int64_t plain,
                           int64_t limit, int64_t *out)
{
    char digits[24];
    size_t len = strlen(text);
    int64_t factor = plain, number;
    for (size_t i = 0; len && i < count; i++) {
        if (text[len - 1] == units[i].letter) {
            factor = units[i].factor;
            len--;
            break;
        }
    }
    if (len == 0 || len >= sizeof digits)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (!text_to_int(digits, 0, limit / factor, &number))
        return false;
    *out = number * factor;
    return true;
}

bool quantity_duration(const char *text, int64_t *ms)
{
    static const struct unit units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    return read_with_unit(text, units, sizeof units / sizeof *units, 1000, INT64_MAX / 1000000, ms);
}

bool quantity_size(const char *text, int64_t *bytes)
{
    static const struct unit units[] = {{'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}};
    return read_with_unit(text, units, sizeof units / sizeof *units, 1, INT64_MAX, bytes);
}
