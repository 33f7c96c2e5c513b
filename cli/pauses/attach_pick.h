/* Finds the pause, or the pauses, that the operands of `raydbg attach` name. */
#ifndef RAYDBG_CLI_PAUSES_ATTACH_PICK_H
#define RAYDBG_CLI_PAUSES_ATTACH_PICK_H

#include "cli/pauses/pause_source.h"
#include "relay/io/loop.h"
#include "relay/pause/pause_filter.h"

#include <stdbool.h>

/* Borrowed. */
struct attach_pick {
    const char *task;                /* NULL: the only paused task */
    const struct pause_filter *many; /* use all that match instead of `task`; or NULL */
    bool may_ask;                    /* several match: offer them on the terminal */
    bool wait;                       /* none matches: wait for the first */
};

/* Asks `origin` for the pauses and runs the loop meanwhile. Returns the exit code and prints
 * errors. On ERR_NONE, `pause` is the one that was picked (the caller clears it); with `many`, at
 * least one pause matches and `pause` is unchanged. */
int attach_pick(struct loop *loop, struct pause_source *origin, const struct attach_pick *pick,
                struct pause *pause);

#endif
