/* The time of day. For durations within one process there is loop_now_us(). Any thread. */
#ifndef RAYDBG_BASE_WALL_CLOCK_H
#define RAYDBG_BASE_WALL_CLOCK_H

#include <stdint.h>

/* Milliseconds since the epoch. */
int64_t wall_clock_ms(void);

#endif
