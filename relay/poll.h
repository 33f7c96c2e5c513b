/* What to ask a cluster in one look: everything while there is little, and of what there is much
 * only as much a second as a GCS and a network do not mind. Pure: times are the caller's clock. */
#ifndef RAYDBG_RELAY_POLL_H
#define RAYDBG_RELAY_POLL_H

#include "relay/view.h"

enum {
    POLL_ROWS = 10000,         /* records of workers that a second's looks may fetch */
    POLL_WAITING_ROWS = 20000, /* and the same of those that wait, which are fetched in each look */
    POLL_ALL = 32,             /* so many workers with a debugger are all asked in each look */
    POLL_ATTACHED_RATE = 100,  /* beyond, so many a second of those that run, */
    POLL_WAITING_RATE = 50,    /* and so many of those that wait, which stay where they are */
};

/* Whether this look is to fetch the records of all workers, or only of those that wait. `taken_us`
 * is when all were fetched last, `count` how many they were; 0 and 0 before. */
bool poll_takes_all(int64_t taken_us, size_t count, int64_t now_us);

/* How long to wait between two looks, of which the last took so long and told of so many that wait.
 */
int64_t poll_rest_us(int64_t took_us, size_t waiting);

/* Marks the workers that are to say what they run (view_running.wanted), and notes when they are to
 * be asked again. Those that were never asked, and those whose record has changed since, always
 * are; one that did not answer is asked more and more seldom. */
void poll_choose(struct view *view, int64_t now_us);
/* The answer of a worker that was chosen: `stats` NULL if there was none, else taken over. Without
 * one, what it said before holds while its record stays as it was then: a worker that was killed
 * does not answer for some time before Ray says that it is dead. */
void poll_answered(struct view_running *running, struct ray_worker_stats *stats, int64_t now_us);

#endif
