#include "relay/frames.h"

#include "base/text.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

/* Where Ray's frames come from, as debugpy shows them (Ray 2.51-2.60): Cython's have a path below
 * site-packages that does not exist. */
static bool path_is_machinery(const char *path)
{
    return strstr(path, "/site-packages/ray/") || text_ends(path, "/python/ray/_raylet.pyx");
}

static bool is_machinery(const char *json, struct span frame)
{
    struct span at;
    bool found = false;
    char *path = scan_path(json, frame, "source/path", &at) ? scan_string(json, at) : NULL;
    char *name = scan_find(json, frame, "name", &at) ? scan_string(json, at) : NULL;
    if (path)
        found = path_is_machinery(path);
    if (name)
        found = found || text_starts(name, "ray._raylet.");
    free(path);
    free(name);
    return found;
}

bool frames_mark(const char *json, size_t len, const struct envelope *response, struct buf *out)
{
    static const char hint[] = "\"presentationHint\":\"subtle\",";
    struct span frames, frame, at;
    size_t cursor = 0, done = 0;
    bool marked = false;
    if (!response->body.len || !scan_find(json, response->body, "stackFrames", &frames) ||
        json[frames.at] != '[')
        return false;
    while (scan_element(json, frames, &cursor, &frame)) {
        if (json[frame.at] != '{' || scan_find(json, frame, "presentationHint", &at) ||
            !is_machinery(json, frame))
            continue;
        buf_add(out, json + done, frame.at + 1 - done);
        buf_add(out, hint, sizeof hint - 1);
        done = frame.at + 1;
        marked = true;
    }
    if (marked)
        buf_add(out, json + done, len - done);
    return marked;
}
