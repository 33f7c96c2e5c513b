/* The capabilities of a raydbg session: what debugpy implements and the rules let pass. */
#ifndef RAYDBG_DAP_CAPABILITIES_H
#define RAYDBG_DAP_CAPABILITIES_H

#include "base/buf.h"
#include "dap/scan.h"

/* The JSON object for an `initialize` response, before a debuggee is known. Static storage. */
const char *capabilities_default(void);

/* Appends the capabilities of `upstream` (an adapter's `initialize` body) with those set to false
 * that need a command which the rules do not let pass; unknown ones pass unchanged. */
void capabilities_filter(const char *text, struct span upstream, struct buf *out);

/* `object` is the result of capabilities_filter(), with at least one member. Adds a `false` for
 * each capability of the default that it lacks, because a client that has received the default
 * relies on it until it is withdrawn. */
void capabilities_withdraw(struct buf *object);

#endif
