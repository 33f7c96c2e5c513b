/* Runs a launched program without a terminal: for clients that have none, or want none. */
#ifndef RAYDBG_CLI_DAP_LAUNCH_PROCESS_H
#define RAYDBG_CLI_DAP_LAUNCH_PROCESS_H

#include "base/err.h"
#include "relay/client/client.h"
#include "relay/io/loop.h"

struct launch_process;

/* Starts `raydbg run …` as the arguments of runInTerminal say. Its output goes to the client as
 * `output` events, in whole lines where possible. on_end runs once both of its streams have ended.
 * NULL with `err` set if it cannot be started. */
struct launch_process *launch_process_start(struct loop *loop, struct client *client,
                                            const char *terminal, loop_fn on_end, void *arg,
                                            struct err *err);
/* Sends the client what has been written so far. */
void launch_process_drain(struct launch_process *process);
/* The process goes on; its output is lost. */
void launch_process_destroy(struct launch_process **process);

#endif
