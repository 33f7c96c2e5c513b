/* What pydevd adds to an exception's type at a post-mortem stop, taken out. Pure. */
#ifndef RAYDBG_RELAY_EXCEPTIONS_H
#define RAYDBG_RELAY_EXCEPTIONS_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>

/* Appends the `stopped` event or `exceptionInfo` response without the note
 * "ValueError       (note: full exception trace is shown but …)", every other byte as it was.
 * False, and nothing appended, if there is no such note. */
bool exceptions_clean(const char *json, size_t len, const struct envelope *envelope,
                      struct buf *out);

#endif
