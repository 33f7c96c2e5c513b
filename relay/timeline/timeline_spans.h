/* The spans of one attempt, without lanes; the inside of timeline.h. Pure. */
#ifndef RAYDBG_RELAY_TIMELINE_TIMELINE_SPANS_H
#define RAYDBG_RELAY_TIMELINE_TIMELINE_SPANS_H

#include "relay/timeline/timeline.h"

/* False if the attempt has not waited, or has not run, as far as Ray was told. */
bool timeline_wait_of(const struct why_records *records, const struct ray_attempt *attempt,
                      struct timeline_span *out);
bool timeline_run_of(const struct why_records *records, const struct ray_attempt *attempt,
                     struct timeline_span *out);

/* The parts of a wait that took a millisecond or more; `out` has room for TIMELINE_PHASES. Returns
 * their number. */
enum { TIMELINE_PHASES = 3 };
size_t timeline_phases_of(const struct timeline_span *wait, struct timeline_span *out);

#endif
