/* The operator's switch for stacks and profiles: RAY_DASHBOARD_ENABLE_PROFILING on the head node,
 * off by default from Ray 2.60 on. The agents do not look at it, so raydbg does, and asks them for
 * nothing if it is off. There is no way round. */
#ifndef RAYDBG_RELAY_EVIDENCE_PROFILING_SWITCH_H
#define RAYDBG_RELAY_EVIDENCE_PROFILING_SWITCH_H

#include "relay/cluster/cluster.h"

struct profiling_switch;

/* `err` is NULL if it is on, or if this version of Ray has none. ERR_DENIED if it is off, or if
 * that cannot be found out: without a dashboard, or where the dashboard that answers is not this
 * cluster's. */
typedef void (*profiling_switch_fn)(void *arg, const struct err *err);
/* Never calls `fn` from within. The cluster must have a GCS. */
struct profiling_switch *profiling_switch_ask(struct cluster *cluster, profiling_switch_fn fn,
                                              void *arg);
/* `fn` does not run after it. */
void profiling_switch_free(struct profiling_switch **profiling);

#endif
