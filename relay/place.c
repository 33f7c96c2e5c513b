#include "relay/place.h"

#include <stdlib.h>
#include <string.h>

/* Wherever Ray may be installed: not just below any "ray", which is the user of Ray's images. */
static const char *const rays[] = {"/site-packages/ray/", "/dist-packages/ray/", "/python/ray/"};

static bool is_user_frame(const char *json, struct span frame, const char *path)
{
    struct span hint;
    if (scan_find(json, frame, "presentationHint", &hint) && scan_string_is(json, hint, "subtle"))
        return false;
    for (size_t i = 0; i < sizeof rays / sizeof *rays; i++)
        if (strstr(path, rays[i]))
            return false;
    return true;
}

bool place_read(const char *json, const struct envelope *response, char **file, int64_t *line)
{
    struct span frames, frame, value;
    size_t cursor = 0;
    bool found = false, users = false;
    if (!response->success || !response->body.len ||
        !scan_find(json, response->body, "stackFrames", &frames) || json[frames.at] != '[')
        return false;
    while (!users && scan_element(json, frames, &cursor, &frame)) {
        int64_t at = 0;
        if (!scan_path(json, frame, "source/path", &value))
            continue;
        char *path = scan_string(json, value);
        if (!path || !scan_find(json, frame, "line", &value) || !scan_integer(json, value, &at)) {
            free(path);
            continue;
        }
        users = is_user_frame(json, frame, path);
        if (found && !users) {
            free(path);
            continue;
        }
        if (found)
            free(*file);
        *file = path;
        *line = at;
        found = true;
    }
    return found;
}
