/* Marks stack frames of Ray's own machinery so that editors show them dimmed. Pure. */
#ifndef RAYDBG_RELAY_STACK_RAY_FRAMES_H
#define RAYDBG_RELAY_STACK_RAY_FRAMES_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends the `stackTrace` response with "presentationHint":"subtle" added to each frame of Ray's
 * machinery that has no hint; every other byte is unchanged. Returns false, and appends nothing, if
 * there is no such frame. With justMyCode off, debugpy itself marks every library's frames; older
 * versions may not. */
bool ray_frames_mark(const char *json, size_t len, const struct envelope *response,
                     struct buf *out);

/* The id of the first frame of a `stackTrace` response that is not marked subtle, or 0. */
int64_t ray_frames_first_user(const char *json, size_t len);

#endif
