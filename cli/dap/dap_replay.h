/* The client's messages that a new session needs, to be in the state of the old one. Pure. */
#ifndef RAYDBG_CLI_DAP_DAP_REPLAY_H
#define RAYDBG_CLI_DAP_DAP_REPLAY_H

#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_message {
    char command[DAP_NAME_MAX];
    char *key; /* source of setBreakpoints, or NULL; a later request with it replaces this */
    char *json;
    size_t len;
};

/* All zero is valid and empty. */
struct replay {
    struct replay_message *messages; /* in the order to send */
    size_t count;
};

/* Keeps a request if a new session needs it: initialize, attach (without its ticket, which is used
 * up), set…Breakpoints, configurationDone. */
void replay_note(struct replay *replay, const char *json, size_t len,
                 const struct envelope *envelope);
/* True if the client has sent all that a new session needs. */
bool replay_is_whole(const struct replay *replay);
void replay_clear(struct replay *replay);

#endif
