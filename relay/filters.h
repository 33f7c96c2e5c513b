/* The exception filter that post mortem cannot do without. Pure. */
#ifndef RAYDBG_RELAY_FILTERS_H
#define RAYDBG_RELAY_FILTERS_H

#include "base/buf.h"
#include "dap/envelope.h"

/* Appends the setExceptionBreakpoints request with `uncaught` among its filters: without it a
 * post-mortem pause does not stop at all (debugpy-facts 0.3). NULL, or, with nothing appended, what
 * is wrong with the request (static text). */
const char *filters_add_uncaught(const char *json, size_t len, const struct envelope *request,
                                 struct buf *out);

#endif
