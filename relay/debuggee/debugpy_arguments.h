/* The members of `attach` and `initialize` that debugpy may get, by name and type.
 *
 * pydevd checks no type: an exception in its handler of `attach` ends its reader thread, and no
 * client can debug the worker again. The injection that guards other requests is not there yet.
 * Source: debugpy 1.8.0-1.8.22, adapter/clients.py and pydevd_process_net_command_json.py. Pure. */
#ifndef RAYDBG_RELAY_DEBUGGEE_DEBUGPY_ARGUMENTS_H
#define RAYDBG_RELAY_DEBUGGEE_DEBUGPY_ARGUMENTS_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"

#include <stdbool.h>

/* The members of an `attach` by where they go. Each buffer is open: `upstream` and `each` begin
 * with "{" and have no end yet. The caller frees them. */
struct debugpy_arguments {
    struct buf upstream; /* debugpy's, byte for byte */
    struct buf each;     /* of the attach of each of many tasks */
    struct buf unknown;  /* the quoted names of members that go nowhere */
};

/* Adds one member that is not raydbg's own. An editor's own, one that only a `launch` has a use
 * for, and one that is null go nowhere. A wrong type is an error that names the member. */
int debugpy_arguments_add(struct debugpy_arguments *out, const char *json, struct span key,
                          struct span value, struct err *err);
/* Appends a member as it is; the first one opens the object. */
void debugpy_arguments_append(struct buf *out, const char *json, struct span key,
                              struct span value);

/* Checks the arguments of an `initialize` (len 0: none). An error names the first wrong member. */
int debugpy_arguments_check_initialize(const char *json, struct span arguments, struct err *err);
/* Makes the adapter's `initialize` arguments from the client's own: the members that debugpy knows
 * and that are of the right type, without supportsRunInTerminalRequest, without
 * supportsStartDebuggingRequest unless `sub_process`, and with an adapterID. The adapter counts
 * lines and columns from 1 (line_base.h). The caller frees. */
char *debugpy_arguments_initialize(const char *json, struct span arguments, bool sub_process);

#endif
