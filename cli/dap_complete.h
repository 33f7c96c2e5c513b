/* Members that are added to the arguments of a client's request. Pure. */
#ifndef RAYDBG_CLI_DAP_COMPLETE_H
#define RAYDBG_CLI_DAP_COMPLETE_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends `"name":value,` unless `value` (JSON) is NULL or the request has such an argument. */
void complete_member(const char *json, const struct envelope *request, const char *name,
                     const char *value, struct buf *members);
/* Appends the request with these members in its arguments. False if there are none, or the
 * arguments are no object. */
bool complete_request(const char *json, size_t len, const struct envelope *request,
                      const struct buf *members, struct buf *out);

#endif
