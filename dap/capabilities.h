/* The capabilities of a raydbg session: what debugpy implements and the rules let pass. */
#ifndef RAYDBG_DAP_CAPABILITIES_H
#define RAYDBG_DAP_CAPABILITIES_H

#include "base/buf.h"
#include "dap/scan.h"

/* The JSON object for an `initialize` response, before a debuggee is known. Static storage. */
const char *capabilities_default(void);

/* The filter of setExceptionBreakpoints that is Ray's post mortem, in the processes of a
 * `raydbg run`: only a session that launches has it. */
#define CAPABILITIES_UNCAUGHT_IN_TASKS "uncaughtInTasks"
/* That filter as an element of `exceptionBreakpointFilters`. Static storage. */
const char *capabilities_launch_filter(void);
/* Appends capabilities_default() for a session that will launch; the last brace is left out. */
void capabilities_for_launch(struct buf *out);
/* True if the client will send `launch`, from the arguments of its `initialize`: by
 * "supportsRaydbgLaunch". */
bool capabilities_will_launch(const char *json, struct span arguments);

/* Appends the capabilities of `upstream` (an adapter's `initialize` body) with those set to false
 * that need a command which the rules do not let pass, and the delayed loading of stacks; unknown
 * ones pass unchanged. */
void capabilities_filter(const char *text, struct span upstream, struct buf *out);

/* `object` is the result of capabilities_filter(). Adds a `false` for each capability of the
 * default that it lacks, because a client that has received the default relies on it until it is
 * withdrawn. */
void capabilities_withdraw(struct buf *object);

/* True if a client wants the event raydbg/role, from the arguments of its `initialize`: by
 * "supportsRaydbgRole". DAP has no such event, and some clients end at an event that they do not
 * know; VS Code, which passes all events to its extensions, gets it in any case. */
bool capabilities_takes_role(const char *json, struct span arguments);

#endif
