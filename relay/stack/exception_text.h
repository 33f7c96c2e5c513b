/* Removes what pydevd adds to an exception: a note to its type at a post-mortem stop, and words
 * where it has no text. Pure. */
#ifndef RAYDBG_RELAY_STACK_EXCEPTION_TEXT_H
#define RAYDBG_RELAY_STACK_EXCEPTION_TEXT_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>

/* Appends the `stopped` event or `exceptionInfo` response without the note
 * "ValueError       (note: full exception trace is shown but …)", and with an empty text instead of
 * "exception: no description"; every other byte is unchanged. Returns false, and appends nothing,
 * if there is neither. */
bool exception_text_clean(const char *json, size_t len, const struct envelope *envelope,
                          struct buf *out);

#endif
