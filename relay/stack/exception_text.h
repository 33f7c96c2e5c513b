/* Removes the note that pydevd adds to an exception's type at a post-mortem stop. Pure. */
#ifndef RAYDBG_RELAY_STACK_EXCEPTION_TEXT_H
#define RAYDBG_RELAY_STACK_EXCEPTION_TEXT_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>

/* Appends the `stopped` event or `exceptionInfo` response without the note
 * "ValueError       (note: full exception trace is shown but …)"; every other byte is unchanged.
 * Returns false, and appends nothing, if there is no such note. */
bool exception_text_clean(const char *json, size_t len, const struct envelope *envelope,
                          struct buf *out);

#endif
