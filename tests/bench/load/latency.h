/* Times of answers, and their quantiles. */
#ifndef RAYDBG_LOAD_LATENCY_H
#define RAYDBG_LOAD_LATENCY_H

#include <stddef.h>
#include <stdint.h>

struct latency {
    uint64_t *ns;
    size_t count, cap;
};

uint64_t latency_now(void); /* monotonic, ns */
void latency_add(struct latency *latency, uint64_t ns);
void latency_clear(struct latency *latency);
/* Sorts; `share` is 0 to 1. In microseconds; 0 of nothing. */
double latency_quantile_us(struct latency *latency, double share);

#endif
