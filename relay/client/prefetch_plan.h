/* Learns which requests a client makes when a thread has stopped: for a stack, the scopes of one of
 * its frames, the variables of one of these, and so on down. Each step is a request with a hole in
 * its arguments for an id from an earlier response. Pure. */
#ifndef RAYDBG_RELAY_CLIENT_PREFETCH_PLAN_H
#define RAYDBG_RELAY_CLIENT_PREFETCH_PLAN_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_STEPS = 16 };

struct plan;
struct plan_step; /* lives until the next plan_stop() */

/* With `guess` it begins with the requests that most clients make, else with none. */
struct plan *plan_create(bool guess);
void plan_destroy(struct plan **plan);

/* The thread has stopped. With `judge`, a step that was prefetched since the last stop gains a
 * point if its response was used, else loses two; any other gains one if the client made the
 * request itself, else loses one. Only a step with more than 0 points is prefetched. */
void plan_stop(struct plan *plan, int64_t thread, bool judge);

/* A step to prefetch now, or NULL; from then on it counts as prefetched under `number`. `arguments`
 * (empty before) stays empty if the request has none. */
struct plan_step *plan_next(struct plan *plan, int64_t number, struct buf *arguments);
const char *plan_command(const struct plan_step *step);
/* The client has used the response that was prefetched under `number` since the last stop; false if
 * there is none, or if this was reported before. */
bool plan_used(struct plan *plan, int64_t number);

/* The client has made a request itself: returns the step that its response belongs to, or NULL if
 * the request cannot be prefetched. */
struct plan_step *plan_asked(struct plan *plan, const char *json, const struct envelope *request);
/* Reads the response to a step's request, the client's or a prefetched one: later steps use the ids
 * in it. */
void plan_answered(struct plan_step *step, const char *json, const struct envelope *response);

#endif
