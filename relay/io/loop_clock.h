/* For tests, in builds with RAYDBG_TESTING alone (the sanitized ones): another process moves a
 * loop's clock. $RAYDBG_TEST_CLOCK names a Unix socket on which that process listens. Each loop
 * connects to it when it is created, and reads lines there: "skip MS" does what loop_skip() does.
 * The answer "skipped" is sent after all that the timers have posted is done. Everything runs on
 * the loop's thread. Keepers and closers have such a clock, too: relay/io/daemon_clock.h. */
#ifndef RAYDBG_RELAY_IO_LOOP_CLOCK_H
#define RAYDBG_RELAY_IO_LOOP_CLOCK_H

#include "relay/io/loop.h"

struct loop_clock {
    struct loop *loop;
    struct watch *watch; /* NULL: no other process moves this clock */
    int fd;
    int64_t skip_ms; /* asked for, and not yet done */
};

#ifdef RAYDBG_TESTING
void loop_clock_open(struct loop_clock *clock, struct loop *loop);
/* Before posts are run for the last time. */
void loop_clock_close(struct loop_clock *clock);

/* The other process, for daemons' clocks, too. Connects to it; -1: no other process moves clocks.
 */
int loop_clock_connect(void);
/* Reads a line, without waiting: 1 and how much to skip, 0 if nothing has come, -1 at the end. */
int loop_clock_receive(int fd, int64_t *skip_ms);
void loop_clock_answer(int fd);
#else
static inline void loop_clock_open(struct loop_clock *clock, struct loop *loop)
{
    (void)clock, (void)loop;
}

static inline void loop_clock_close(struct loop_clock *clock)
{
    (void)clock;
}
#endif

#endif
