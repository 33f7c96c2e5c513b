/* A command's one request to a relay. */
#ifndef RAYDBG_CLI_RELAY_ASK_H
#define RAYDBG_CLI_RELAY_ASK_H

#include "base/buf.h"
#include "relay/relay_address.h"

/* Turns the loop until the answer is there, 30 s at most. `body` is the caller's to free, also
 * after an error; it is empty then. */
int relay_ask(struct loop *loop, const struct relay_address *relay, const char *method,
              const char *path, struct buf *body, struct err *err);

/* Tells the user that there is none, and returns the exit code. */
int relay_is_missing(void);

#endif
