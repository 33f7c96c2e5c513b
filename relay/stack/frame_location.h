/* The part of a stackTrace response's frame that tells many tasks apart. Pure. */
#ifndef RAYDBG_RELAY_STACK_FRAME_LOCATION_H
#define RAYDBG_RELAY_STACK_FRAME_LOCATION_H

#include "dap/scan.h"

#include <stdbool.h>

/* All zero is no location. Owns its strings. */
struct frame_location {
    int64_t frame; /* DAP's frame id; 0 if it has none */
    char *name;
    char *file; /* NULL if unknown */
    int64_t line;
};

/* `frame` is an element of stackFrames. */
void frame_location_read(const char *json, struct span frame, struct frame_location *out);
void frame_location_clear(struct frame_location *location);
/* True if the frame is marked as not the user's: Ray's own or a library's. */
bool frame_location_is_subtle(const char *json, struct span frame);
/* The innermost frame of the array `frames` that is not marked subtle, or the innermost frame if
 * all are marked. False if there is none, or it has no id. */
bool frame_location_top(const char *json, struct span frames, struct frame_location *out);
/* True if a user can mean `path` by `file`: they are equal, or `path` ends in a separator and
 * `file`. */
bool frame_location_is(const char *path, const char *file);

#endif
