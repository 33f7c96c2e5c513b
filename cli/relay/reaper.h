/* Reaps orphans in PID 1. In a container the relay is PID 1: the kernel makes it the parent of each
 * process whose own parent has ended, such as the keeper, and keeps a dead one as a zombie until
 * its parent waits for it. */
#ifndef RAYDBG_CLI_RELAY_REAPER_H
#define RAYDBG_CLI_RELAY_REAPER_H

#include "relay/io/loop.h"

struct reaper;

/* NULL unless this process is PID 1. Blocks SIGCHLD for the process's life. Children that the
 * loop's thread itself waits for, before it returns to the loop, are not taken away from it. */
struct reaper *reaper_start(struct loop *loop);
void reaper_stop(struct reaper **reaper);

#endif
