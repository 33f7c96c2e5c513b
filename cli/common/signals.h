/* SIGINT and SIGTERM as events of the loop, for commands that end cleanly. */
#ifndef RAYDBG_CLI_COMMON_SIGNALS_H
#define RAYDBG_CLI_COMMON_SIGNALS_H

#include "relay/io/loop.h"

/* The exit code of a command that ^C ended before it was done: 128 + SIGINT, as in shells. */
enum { EXIT_INTERRUPTED = 130 };

struct signals;

/* Blocks both for the process's life; a signal stays pending until signals_start(). For a command
 * that has something to look up first. */
void signals_block(void);
/* Blocks both for the process's life; fn(arg) runs on the loop each time one arrives. */
struct signals *signals_start(struct loop *loop, loop_fn fn, void *arg);
void signals_stop(struct signals **signals);
/* Waits at most `ms` for one of them, where no loop runs; both must be blocked. True if one
 * came. */
bool signals_wait(int64_t ms);

#endif
