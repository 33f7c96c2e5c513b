/* A terminal program's signals as events of the loop. Unlike cli/signals.h nothing needs to have
 * been blocked before threads were started: handlers write to a pipe. One at a time. */
#ifndef RAYDBG_CLI_TOP_SIGNALS_H
#define RAYDBG_CLI_TOP_SIGNALS_H

#include "relay/loop.h"

struct top_signals;

/* fn(arg, number) on the loop's thread for SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, and
 * SIGTSTP unless that was ignored. */
struct top_signals *top_signals_start(struct loop *loop, void (*fn)(void *arg, int number),
                                      void *arg);
/* All as it was before. */
void top_signals_stop(struct top_signals **signals);
/* Stops the process as SIGTSTP does by default; returns when it goes on. */
void top_signals_suspend(struct top_signals *signals);

#endif
