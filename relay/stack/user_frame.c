#include "relay/stack/user_frame.h"

#include "base/ray_path.h"

#include <stdlib.h>
#include <string.h>

static bool is_user_frame(const char *json, struct span frame, const char *path)
{
    struct span hint;
    if (scan_find(json, frame, "presentationHint", &hint) && scan_string_is(json, hint, "subtle"))
        return false;
    return !ray_path_is_frame(path, NULL);
}

bool user_frame_read(const char *json, const struct envelope *response, char **file, int64_t *line)
{
    struct span frames, frame;
    size_t cursor = 0;
    bool found = false, users = false;
    if (!response->success || !response->body.len ||
        !scan_find(json, response->body, "stackFrames", &frames) || json[frames.at] != '[')
        return false;
    while (!users && scan_element(json, frames, &cursor, &frame)) {
        int64_t at = 0;
        char *path = scan_string_at(json, frame, "source/path");
        if (!path || !scan_integer_at(json, frame, "line", &at)) {
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
