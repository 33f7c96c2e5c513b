/* `raydbg run` for an editor's `launch`: the driver's process, of which `raydbg dap` is told. */
#ifndef RAYDBG_CLI_RUN_RUN_SESSION_H
#define RAYDBG_CLI_RUN_RUN_SESSION_H

#include "base/err.h"

/* Runs `command` as the other end of the socket at `path` says (cli/dap/dap_launch.h has the
 * protocol), until it ends, and tells that end its exit code. The program goes on if that end is
 * closed. Returns the exit code as run_driver() does; -1 with `err` if it cannot be started. */
int run_session(const char *path, char **command, struct err *err);

#endif
