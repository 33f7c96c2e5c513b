/* Lines and columns for a client that counts them from 0: raydbg and debugpy count from 1. Pure. */
#ifndef RAYDBG_DAP_LINE_BASE_H
#define RAYDBG_DAP_LINE_BASE_H

#include "base/buf.h"
#include "dap/envelope.h"

/* How a client counts, from its `initialize`. */
struct line_base {
    bool lines_from_0, columns_from_0;
};

struct line_base line_base_read(const char *initialize, struct span arguments);

static inline bool line_base_differs(const struct line_base *base)
{
    return base->lines_from_0 || base->columns_from_0;
}

/* Appends the message in the other's numbers: a request from the client, a response or an event to
 * it. A line 0 to the client means no line and is not changed. False, with nothing appended, if
 * nothing changes. */
bool line_base_write(const struct line_base *base, const char *json, size_t len,
                     const struct envelope *envelope, struct buf *out);

#endif
