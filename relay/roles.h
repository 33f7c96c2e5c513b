/* What a client may ask that does not drive the debuggee. Pure. */
#ifndef RAYDBG_RELAY_ROLES_H
#define RAYDBG_RELAY_ROLES_H

#include "dap/envelope.h"

/* NULL if an observer may ask this, else why not (static text, fit for a user). An expression is
 * evaluated for an observer only if it can but look: names, attributes and literal subscripts. */
const char *roles_observer_refusal(const char *json, const struct envelope *request);

/* Whether an expression is a path of names, attributes and literal subscripts, and no more. */
bool roles_only_looks(const char *expression);

#endif
