#include "relay/stack/frame_location.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void frame_location_read(const char *json, struct span frame, struct frame_location *out)
{
    *out = (struct frame_location){0};
    scan_integer_at(json, frame, "id", &out->frame);
    scan_integer_at(json, frame, "line", &out->line);
    out->name = scan_string_at(json, frame, "name");
    out->file = scan_string_at(json, frame, "source/path");
    if (!out->name)
        out->name = mem_string("?");
    if (text_empty(out->file)) {
        free(out->file);
        out->file = NULL;
    }
}

void frame_location_clear(struct frame_location *location)
{
    free(location->name);
    free(location->file);
    *location = (struct frame_location){0};
}

bool frame_location_is_subtle(const char *json, struct span frame)
{
    struct span at;
    return scan_find(json, frame, "presentationHint", &at) &&
           (scan_string_is(json, at, "subtle") || scan_string_is(json, at, "label"));
}

bool frame_location_top(const char *json, struct span frames, struct frame_location *out)
{
    struct span frame, chosen = {0};
    size_t cursor = 0;
    bool found = false;
    *out = (struct frame_location){0};
    if (!frames.len || json[frames.at] != '[')
        return false;
    while (!found && scan_element(json, frames, &cursor, &frame)) {
        if (json[frame.at] != '{')
            continue;
        found = !frame_location_is_subtle(json, frame);
        if (found || !chosen.len)
            chosen = frame;
    }
    if (!chosen.len)
        return false;
    frame_location_read(json, chosen, out);
    if (!out->frame)
        frame_location_clear(out);
    return out->frame != 0;
}

bool frame_location_is(const char *path, const char *file)
{
    if (!path || text_empty(file))
        return false;
    while (text_starts(file, "./"))
        file += 2;
    size_t len = strlen(path), want = strlen(file);
    return text_ends(path, file) && (len == want || (*file != '/' && path[len - want - 1] == '/'));
}
