/* Cuts a part of a stack from a stackTrace response that has the whole stack. Pure. */
#ifndef RAYDBG_RELAY_STACK_STACK_SLICE_H
#define RAYDBG_RELAY_STACK_STACK_SLICE_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdint.h>

/* DAP's startFrame and levels; 0 levels means all frames from `start` on. A value that is not a
 * positive number is read as 0. */
struct stack_range {
    int64_t start;
    int64_t levels;
};

struct stack_range stack_range_read(const char *json, const struct envelope *request);

enum stack_slice {
    STACK_SLICE_MISSING, /* the response lacks some of these frames: ask the debuggee */
    STACK_SLICE_SAME,    /* the response can be sent unchanged */
    STACK_SLICE_CUT,     /* `out` has the answer (appended) */
};

/* `response` is the debuggee's answer to a stackTrace request for all frames. The answer has the
 * frames of `range`, and totalFrames counts all of them; every other byte is unchanged, seq
 * included. */
enum stack_slice stack_slice(const char *json, size_t len, const struct envelope *response,
                             struct stack_range range, struct buf *out);

#endif
