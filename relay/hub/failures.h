/* Remembers for a while that the relay's own attach to a debuggee failed (it is not repeated at
 * once), or that a debuggee was lost to a cut network (the relay attaches when it waits again).
 * Times are of loop_now_us(). */
#ifndef RAYDBG_RELAY_HUB_FAILURES_H
#define RAYDBG_RELAY_HUB_FAILURES_H

#include "base/hash_index.h"
#include "relay/pause/pause.h"

struct failure;

/* All zero is empty. */
struct failures {
    struct failure *first;
    struct hash_index endpoint_index;
};

/* Adds a note; failures_expire() drops it after `ms`. `problem` NULL: the debuggee was lost. */
void failures_add(struct failures *failures, const struct pause *pause, int64_t ms,
                  const char *problem);
/* The reason that the attach failed, or NULL; borrowed until the note is dropped. */
const char *failures_problem(const struct failures *failures, const struct pause *pause);
/* True if any debuggee is noted as lost. */
bool failures_any_lost(const struct failures *failures);
/* Drops the note that this debuggee was lost; false if there is none. */
bool failures_take_lost(struct failures *failures, const struct pause *pause);
void failures_expire(struct failures *failures);
void failures_clear(struct failures *failures);

#endif
