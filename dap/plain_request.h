/* Writes a client's request as Python's json and debugpy's adapter read it in the way it is meant.
 * Pure. */
#ifndef RAYDBG_DAP_PLAIN_REQUEST_H
#define RAYDBG_DAP_PLAIN_REQUEST_H

#include "base/buf.h"
#include "dap/envelope.h"

/* `arguments` that are null become {}, which is the same to a client and not to debugpy: its
 * adapter sets a member of the arguments of some requests, and closes the connection if it cannot.
 * Then whole numbers become plain (plain_integers.h). Appends the request with the first such
 * change; false, with nothing appended, if there is none. */
bool plain_request_write(const char *json, size_t len, const struct envelope *request,
                         struct buf *out);

#endif
