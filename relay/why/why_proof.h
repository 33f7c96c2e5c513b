/* Proves that a cycle of the wait-for graph is a deadlock. */
#ifndef RAYDBG_RELAY_WHY_WHY_PROOF_H
#define RAYDBG_RELAY_WHY_WHY_PROOF_H

#include "relay/why/why_graph.h"

enum why_proof_code {
    WHY_PROVEN,
    WHY_PROOF_GOES_ON, /* `attempt` is not in ray.get: no deadlock, unless it awaits */
    WHY_PROOF_ONE_LOOK,
    WHY_PROOF_CHANGED,  /* `attempt` was in another state at the first look */
    WHY_PROOF_YOUNG,    /* it began less than a gauge's lag ago: ask again in `wait_ms` */
    WHY_PROOF_NO_GAUGE, /* the gauge of `attempt`'s node is not known, or does not tell of it */
    WHY_PROOF_NO_REFS,  /* the process of `attempt` did not tell its references */
    WHY_PROOF_NO_MAKER, /* Ray has no record of a task to whose result `attempt` refers */
    WHY_PROOF_OPEN,     /* what `attempt` waits for is not known */
    WHY_PROOF_LARGE,    /* too many tasks are involved */
};

struct why_proof {
    enum why_proof_code code;
    const struct ray_attempt *attempt; /* the one that it is about; or NULL */
    int64_t wait_ms;
};

/* Of the attempt that a cycle goes through. */
struct why_proof why_proof_of(const struct why_records *records, const struct ray_attempt *attempt);

#endif
