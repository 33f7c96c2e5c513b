/* What a DAP client has said that a new session must hear again, so that it is as the old one was.
 * Pure. */
#ifndef RAYDBG_CLI_DAP_REPLAY_H
#define RAYDBG_CLI_DAP_REPLAY_H

#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_message {
    char command[DAP_NAME_MAX];
    char *key; /* of breakpoints: their source, or NULL: a later one takes the place of this */
    char *json;
    size_t len;
};

/* All zero is valid and empty. */
struct replay {
    struct replay_message *messages; /* in the order to say them in */
    size_t count;
};

/* Keeps a request if a new session must hear it: initialize, attach (without its ticket, which is
 * used up), set…Breakpoints, configurationDone. */
void replay_note(struct replay *replay, const char *json, size_t len,
                 const struct envelope *envelope);
/* Whether the client has got so far that its session can be made anew. */
bool replay_is_whole(const struct replay *replay);
void replay_clear(struct replay *replay);

#endif
