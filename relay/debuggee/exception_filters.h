/* Adds the exception filter that post mortem needs. Pure. */
#ifndef RAYDBG_RELAY_DEBUGGEE_EXCEPTION_FILTERS_H
#define RAYDBG_RELAY_DEBUGGEE_EXCEPTION_FILTERS_H

#include "base/buf.h"
#include "dap/envelope.h"

/* Appends the setExceptionBreakpoints request with `uncaught` among its filters: without it a
 * post-mortem pause does not stop at all (docs/facts/debugpy.md#0.3). Returns NULL; or, with
 * nothing appended, what is wrong with the request (static text). */
const char *exception_filters_add_uncaught(const char *json, size_t len,
                                           const struct envelope *request, struct buf *out);

#endif
