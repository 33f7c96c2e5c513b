/* Stack frames of Ray's own machinery, marked so that editors show them dimmed. Pure. */
#ifndef RAYDBG_RELAY_FRAMES_H
#define RAYDBG_RELAY_FRAMES_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>

/* Appends the `stackTrace` response with "presentationHint":"subtle" added to each frame of Ray's
 * machinery that has no hint, every other byte as it was. False, and nothing appended, if there is
 * none. debugpy itself does so for every library, with justMyCode off; older versions may not. */
bool frames_mark(const char *json, size_t len, const struct envelope *response, struct buf *out);

#endif
