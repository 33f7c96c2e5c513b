/* SIGINT and SIGTERM as events of the loop, for commands that end in order. */
#ifndef RAYDBG_CLI_SIGNALS_H
#define RAYDBG_CLI_SIGNALS_H

#include "relay/loop.h"

struct signals;

/* Blocks both for the process's life; what comes waits for signals_start(). For a command that has
 * something to look up first. */
void signals_block(void);
/* Blocks both for the process's life; fn(arg) runs on the loop each time one comes. */
struct signals *signals_start(struct loop *loop, loop_fn fn, void *arg);
void signals_stop(struct signals **signals);

#endif
