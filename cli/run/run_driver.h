/* The driver of `raydbg run`: its process, and what is said while it runs. */
#ifndef RAYDBG_CLI_RUN_RUN_DRIVER_H
#define RAYDBG_CLI_RUN_RUN_DRIVER_H

#include "base/err.h"
#include "relay/io/loop.h"
#include "relay/locate/relay_address.h"

#include <sys/types.h>

struct run_console;

/* All borrowed. */
struct run_driver_options {
    const struct relay_address *relay;
    const char *run;       /* the id of the run's agent key: the stops of other runs are not said */
    const char *directory; /* of the agents' files (relay/worker_agent/agent_files.h) */
    struct run_console *console; /* or NULL */
};

/* Runs `command`, with the agents' directory in its environment, until it ends. What stops at a
 * breakpoint meanwhile gets the console, one after the other; with NULL stderr says where it is.
 * Returns its exit code, 128 and the signal's number if one ended it, or -1 if it cannot be
 * started. The terminal's signals are the driver's; SIGTERM and SIGHUP are passed on to it. Once it
 * has ended they are this process's again. Runs the loop. */
int run_driver(struct loop *loop, const struct run_driver_options *options, char **command,
               struct err *err);

/* The same in parts: starts it, and makes the exit code of waitpid()'s status. */
int run_driver_start(const char *directory, char **command, pid_t *pid, struct err *err);
int run_driver_code(int status);

#endif
