/* A terminal program's signals as events of the loop. Unlike with cli/common/signals.h, no signal
 * has to be blocked before threads start: handlers write to a pipe. One instance at a time. */
#ifndef RAYDBG_CLI_TOP_TOP_SIGNALS_H
#define RAYDBG_CLI_TOP_TOP_SIGNALS_H

#include "relay/io/loop.h"

struct top_signals;

/* Calls fn(arg, number) on the loop's thread for SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH,
 * SIGCONT, and SIGTSTP unless that was ignored. */
struct top_signals *top_signals_start(struct loop *loop, void (*fn)(void *arg, int number),
                                      void *arg);
/* Restores the handlers and the mask from before. */
void top_signals_stop(struct top_signals **signals);
/* Stops the process as SIGTSTP does by default; returns when the process continues. */
void top_signals_suspend(struct top_signals *signals);

#endif
