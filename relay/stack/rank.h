/* The rank, which tells the tasks of a training run apart. Each framework keeps it in a different
 * place. Pure. */
#ifndef RAYDBG_RELAY_STACK_RANK_H
#define RAYDBG_RELAY_STACK_RANK_H

#include "dap/envelope.h"

/* Python for an `evaluate` in a user's frame. It gives the environment's RANK or WORLD_RANK, a
 * local `rank`, or `self.rank`; an empty string if there is none. It runs no user code: no
 * property, no __getattr__, no __repr__. */
extern const char rank_expression[];

/* The rank in the answer to rank_expression, or NULL. The caller frees. */
char *rank_read(const char *json, const struct envelope *response);

#endif
