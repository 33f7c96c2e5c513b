/* Where a stopped task stands, from its stack. Pure. */
#ifndef RAYDBG_RELAY_PLACE_H
#define RAYDBG_RELAY_PLACE_H

#include "dap/envelope.h"

#include <stdbool.h>

/* The file (the caller frees) and line of the topmost frame that is the user's own, from a
 * `stackTrace` response: not marked subtle, as debugpy marks libraries, and not Ray's. The topmost
 * of all if there is none such. False if there is no frame with a file. */
bool place_read(const char *json, const struct envelope *response, char **file, int64_t *line);

#endif
