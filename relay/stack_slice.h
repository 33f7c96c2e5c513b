/* A part of a stack, cut from the whole one that is known already. Pure. */
#ifndef RAYDBG_RELAY_STACK_SLICE_H
#define RAYDBG_RELAY_STACK_SLICE_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdint.h>

/* The first frame and how many; as DAP has it, 0 levels are all that follow. What is no positive
 * number is 0. */
struct stack_range {
    int64_t start;
    int64_t levels;
};

struct stack_range stack_range_read(const char *json, const struct envelope *request);

enum stack_slice {
    STACK_SLICE_MISSING, /* the response has not all these frames: the debuggee must be asked */
    STACK_SLICE_SAME,    /* the response is the answer as it is */
    STACK_SLICE_CUT,     /* `out` has the answer (appended) */
};

/* `response` is the debuggee's answer to a stackTrace of all frames. The answer has those of
 * `range` and totalFrames for all of them; every other byte stays as it was, seq included. */
enum stack_slice stack_slice(const char *json, size_t len, const struct envelope *response,
                             struct stack_range range, struct buf *out);

#endif
