/* Finds the user's topmost frame in a stopped task's stack. Pure. */
#ifndef RAYDBG_RELAY_STACK_USER_FRAME_H
#define RAYDBG_RELAY_STACK_USER_FRAME_H

#include "dap/envelope.h"

#include <stdbool.h>

/* The file (the caller frees) and line of the topmost user's frame of a `stackTrace` response: one
 * that is neither marked subtle, as debugpy marks libraries, nor Ray's. If there is none, the
 * topmost frame that has a file and a line. False if no frame has them. */
bool user_frame_read(const char *json, const struct envelope *response, char **file, int64_t *line);

#endif
