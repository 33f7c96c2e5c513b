/* What a client asks when a thread has stopped, learned from what it has asked: a stack, the scopes
 * of a frame of it, the variables of one of these, and so on down. Each step is a request with a
 * hole in its arguments for an id that an answer before it gives. Pure. */
#ifndef RAYDBG_RELAY_AHEAD_PLAN_H
#define RAYDBG_RELAY_AHEAD_PLAN_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_STEPS = 16 };

struct plan;
struct plan_step; /* lives until the next plan_stop() */

/* With `guess` it begins with what most clients ask, else with nothing. */
struct plan *plan_create(bool guess);
void plan_destroy(struct plan **plan);

/* The thread has stopped. With `judge`, what was asked ahead since the last stop counts for its
 * step if it was used, and twice against it if not; what the client asked itself counts for. A step
 * with more against it than for it is not asked ahead any more. */
void plan_stop(struct plan *plan, int64_t thread, bool judge);

/* A step that is to be asked ahead now, or NULL; it counts as asked, under this number, from then
 * on. `arguments` (empty before) stays empty if it has none. */
struct plan_step *plan_next(struct plan *plan, int64_t number, struct buf *arguments);
const char *plan_command(const struct plan_step *step);
/* The answer to what was asked under this number since the last stop was used; false: there is none
 * such, or it was told before. */
bool plan_used(struct plan *plan, int64_t number);

/* The client has asked by itself: the step that the answer belongs to, or NULL if this is nothing
 * that can be asked ahead. */
struct plan_step *plan_asked(struct plan *plan, const char *json, const struct envelope *request);
/* The answer, whoever has asked: the ids in it are what later steps ask for. */
void plan_answered(struct plan_step *step, const char *json, const struct envelope *response);

#endif
