/* How tests in C wait. What must happen: WAIT_UNTIL(). What must not happen is looked for behind a
 * fence, a round trip that comes after it. The timers of a loop are skipped (loop_skip()).
 * settle_us() is for the rest: the end of a timer that no test can move, and the pace of a script.
 */
#ifndef RAYDBG_TESTS_WAITS_H
#define RAYDBG_TESTS_WAITS_H

#include "cmocka_prelude.h"

#include <stdlib.h>
#include <time.h>

/* Fails if `condition`, which is evaluated again and again, is not true within wait_limit_ms(). */
#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        int64_t end_ms_ = wait_now_ms() + wait_limit_ms();                                         \
        while (!(condition)) {                                                                     \
            if (wait_now_ms() > end_ms_)                                                           \
                fail_msg("not within %d s: %s", (int)(wait_limit_ms() / 1000), #condition);        \
            settle_us(1000);                                                                       \
        }                                                                                          \
    } while (0)

/* A minute, times $RAYDBG_TEST_PATIENCE: only a hang takes so long. */
static inline int64_t wait_limit_ms(void)
{
    const char *text = getenv("RAYDBG_TEST_PATIENCE");
    double patience = text ? strtod(text, NULL) : 1;
    return (int64_t)(60000 * (patience > 8 ? 8 : patience > 1 ? patience : 1));
}

static inline int64_t wait_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void settle_us(int64_t us)
{
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

#endif
