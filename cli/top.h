/* `raydbg memory --top`: the object stores and who refers to what is in them, live. */
#ifndef RAYDBG_CLI_TOP_H
#define RAYDBG_CLI_TOP_H

#include "cli/memory_source.h"
#include "cli/memory_units.h"
#include "relay/object_query.h"

/* Runs until the user ends it; needs a terminal. Starts with `first`, whose text it borrows. A
 * question to the source may be under way when it returns: destroy the source before the loop runs
 * again. Returns the exit code, after an error has been printed. */
int memory_top(struct loop *loop, struct memory_source *source, const struct object_query *first,
               enum memory_units units);

#endif
