/* One `raydbg stack`: asks, waits and shows. */
#ifndef RAYDBG_CLI_STACK_STACK_ASK_H
#define RAYDBG_CLI_STACK_STACK_ASK_H

#include "relay/evidence/stack_request.h"

/* Returns the exit code. `address` is --address or NULL. */
int stack_ask(const char *address, const struct stack_query *query, bool json);

#endif
