/* The verbs of a session over many tasks: groups, steps, barriers, comparisons. */
#ifndef RAYDBG_RELAY_MANY_VERBS_MANY_VERBS_H
#define RAYDBG_RELAY_MANY_VERBS_MANY_VERBS_H

#include "relay/many/many_hooks.h"

/* For many_open(). All calls are on the loop's thread. */
extern const struct many_hooks many_verbs_hooks;

#endif
