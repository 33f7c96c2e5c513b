/* When CPUs of the cluster were free and when they were taken, from what tasks, actors and
 * placement groups of all jobs held. Ray does not tell everything: a task that waits in ray.get
 * gives its CPUs back, and nothing says where a group's free CPUs are. So there are times in which
 * CPUs were certainly free, times in which they were certainly taken, and others. Pure. */
#ifndef RAYDBG_RELAY_SLOW_SLOW_CPUS_H
#define RAYDBG_RELAY_SLOW_SLOW_CPUS_H

#include "relay/why_records/why_records.h"

/* The free CPUs of the cluster from `at_us` on; or, while changes are collected, the difference. */
struct slow_change {
    int64_t at_us;
    double least, most; /* free CPUs */
    int starting;       /* processes that are being started */
};

struct slow_cpus {
    double total;        /* of the live nodes; -1: unknown */
    size_t nodes;        /* that are alive */
    const char *problem; /* why it is not known when CPUs were free; NULL: it is */
    struct slow_change *changes;
    size_t count, room;
};

/* The result can be asked for times from `since_us` on. */
void slow_cpus_make(const struct why_records *records, int64_t since_us, struct slow_cpus *out);
void slow_cpus_clear(struct slow_cpus *cpus);

/* SLOW_FREE: one of the nodes certainly had enough. SLOW_READY: and no process was being started,
 * which a task would have had to wait for. SLOW_TAKEN: certainly none had. */
enum slow_state { SLOW_FREE, SLOW_READY, SLOW_TAKEN };

/* The times in which a task that needs `need` CPUs found such a state. Borrows from `cpus`. */
struct slow_times {
    const struct slow_cpus *cpus;
    enum slow_state state;
    double need;
    int64_t *before; /* how long it was so up to each change */
};
void slow_cpus_times_make(const struct slow_cpus *cpus, enum slow_state state, double need,
                          struct slow_times *out);
/* How much of the time between the two. */
int64_t slow_cpus_times_us(const struct slow_times *times, int64_t from_us, int64_t to_us);
void slow_cpus_times_clear(struct slow_times *times);

#endif
