/* `raydbg memory --top`: the object stores and the references to their objects, live. */
#ifndef RAYDBG_CLI_TOP_TOP_H
#define RAYDBG_CLI_TOP_TOP_H

#include "cli/common/byte_units.h"
#include "cli/memory/memory_source.h"
#include "relay/sweep/sweep_query.h"

/* Runs until the user ends it; needs a terminal. Starts with the query `first`, whose strings it
 * borrows. A request to the source may be pending when it returns: destroy the source before the
 * loop runs again. Prints errors and returns the exit code. */
int top_run(struct loop *loop, struct memory_source *source, const struct sweep_query *first,
            enum byte_units units);

#endif
