/* The requests of a client that does not drive the debuggee. Pure. */
#ifndef RAYDBG_RELAY_HUB_ROLES_H
#define RAYDBG_RELAY_HUB_ROLES_H

#include "dap/envelope.h"

/* NULL if an observer may send this request, else the reason (static text, fit for a user). An
 * observer may evaluate only an expression that can do no more than read: names, attributes and
 * literal subscripts; and rank_expression, by which a session over many tasks names them. */
const char *roles_observer_refusal(const char *json, const struct envelope *request);

/* True if an expression is a path of names, attributes and literal subscripts, and no more. */
bool roles_only_looks(const char *expression);

#endif
