/* A frame of a stackTrace response, as far as many tasks are told apart by it. Pure. */
#ifndef RAYDBG_RELAY_STACK_PLACE_H
#define RAYDBG_RELAY_STACK_PLACE_H

#include "dap/scan.h"

#include <stdbool.h>

/* All zero is nowhere. Strings are owned. */
struct stack_place {
    int64_t frame; /* DAP's id, 0 if it has none */
    char *name;
    char *file; /* NULL: unknown */
    int64_t line;
};

/* `frame` is an element of stackFrames. */
void stack_place_read(const char *json, struct span frame, struct stack_place *out);
void stack_place_clear(struct stack_place *place);
/* Whether the frame is marked as none of the user's: Ray's own, a library's. */
bool stack_place_is_subtle(const char *json, struct span frame);
/* The innermost frame of the array `frames` that is not marked so, or the innermost if all are.
 * False if there is none, or it has no id. */
bool stack_place_top(const char *json, struct span frames, struct stack_place *out);
/* Whether `path` is what a user means by `file`: the same, or its end behind a separator. */
bool stack_place_is(const char *path, const char *file);

#endif
