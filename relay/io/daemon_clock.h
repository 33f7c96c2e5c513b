/* The clock of a daemon (relay/io/daemon.h). For tests, in builds with RAYDBG_TESTING alone, it is
 * one that another process moves, as it moves those of loops: relay/io/loop_clock.h. The answer
 * "skipped" is sent when the daemon waits the next time, so after it has done what is due. */
#ifndef RAYDBG_RELAY_IO_DAEMON_CLOCK_H
#define RAYDBG_RELAY_IO_DAEMON_CLOCK_H

#include <poll.h>
#include <signal.h>
#include <stdint.h>

/* Monotonic. */
int64_t daemon_now_ms(void);
/* ppoll() for at most `ms` of the daemon's clock; -1: without a limit. `signals` may be NULL. */
int daemon_wait(struct pollfd *polls, nfds_t count, int64_t ms, const sigset_t *signals);

#ifdef RAYDBG_TESTING
/* In the process that becomes the daemon, or forks it, while it has its environment. */
void daemon_clock_open(void);
/* Moves the clock's descriptor, if there is one, to `fd`. Returns the first number from `fd` on
 * that is free. */
int daemon_clock_move(int fd);
#else
static inline void daemon_clock_open(void)
{
}

static inline int daemon_clock_move(int fd)
{
    return fd;
}
#endif

#endif
