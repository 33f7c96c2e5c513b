/* What a raydbg session can do, which is what debugpy implements and the rules let pass. */
#ifndef RAYDBG_DAP_CAPABILITIES_H
#define RAYDBG_DAP_CAPABILITIES_H

#include "base/buf.h"
#include "dap/scan.h"

/* The JSON object for an `initialize` response, before a debuggee is known. Static storage. */
const char *capabilities_default(void);

/* Appends the capabilities of `upstream` (an adapter's `initialize` body) that hold through the
 * relay: those that need a refused command are turned off, unknown ones pass unchanged. */
void capabilities_filter(const char *text, struct span upstream, struct buf *out);

#endif
