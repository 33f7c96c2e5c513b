#include "base/ray_path.h"

#include "base/text.h"

#include <string.h>

static const char *const below[] = {
#include "base/ray_path_list.h"
};

bool ray_path_is(const char *text, size_t len)
{
    static const char cython[] = "python/ray/";
    if (len >= sizeof cython - 1 && memcmp(text, cython, sizeof cython - 1) == 0)
        return true;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if (memmem(text, len, below[i], strlen(below[i])))
            return true;
    return false;
}

bool ray_path_is_frame(const char *path, const char *function)
{
    return (path && ray_path_is(path, strlen(path))) ||
           (function && text_starts(function, "ray._raylet."));
}

bool ray_path_is_short(const char *path)
{
    return text_starts(path, "ray/") || text_starts(path, "python/ray/") ||
           ray_path_is(path, strlen(path));
}
