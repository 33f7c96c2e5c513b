#include "load/latency.h"

#include "base/mem.h"

#include <stdlib.h>
#include <time.h>

uint64_t latency_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void latency_add(struct latency *latency, uint64_t ns)
{
    if (latency->count == latency->cap) {
        latency->cap = latency->cap ? 2 * latency->cap : 1 << 16;
        latency->ns = mem_resize(latency->ns, latency->cap, sizeof *latency->ns);
    }
    latency->ns[latency->count++] = ns;
}

void latency_clear(struct latency *latency)
{
    latency->count = 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

double latency_quantile_us(struct latency *latency, double share)
{
    if (!latency->count)
        return 0;
    qsort(latency->ns, latency->count, sizeof *latency->ns, compare);
    size_t at = (size_t)(share * (double)latency->count);
    return (double)latency->ns[at < latency->count ? at : latency->count - 1] / 1000;
}
