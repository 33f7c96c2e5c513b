#include "relay/stack/ray_frames.h"

#include "base/ray_path.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

static bool is_machinery(const char *json, struct span frame)
{
    char *path = scan_string_at(json, frame, "source/path");
    char *name = scan_string_at(json, frame, "name");
    bool found = ray_path_is_frame(path, name);
    free(path);
    free(name);
    return found;
}

bool ray_frames_mark(const char *json, size_t len, const struct envelope *response, struct buf *out)
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

int64_t ray_frames_first_user(const char *json, size_t len)
{
    struct envelope envelope;
    struct span frames, frame, at;
    const char *problem;
    size_t cursor = 0;
    int64_t id = 0;
    if (envelope_read(&envelope, json, len, &problem) != 0 || !envelope.body.len ||
        !scan_find(json, envelope.body, "stackFrames", &frames) || json[frames.at] != '[')
        return 0;
    while (scan_element(json, frames, &cursor, &frame))
        if (!(scan_find(json, frame, "presentationHint", &at) &&
              scan_string_is(json, at, "subtle")) &&
            scan_integer_at(json, frame, "id", &id))
            return id;
    return 0;
}
