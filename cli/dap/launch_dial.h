/* Finds where the processes of an editor's launch dial the relay, while the session goes on. */
#ifndef RAYDBG_CLI_DAP_LAUNCH_DIAL_H
#define RAYDBG_CLI_DAP_LAUNCH_DIAL_H

#include "relay/io/loop.h"
#include "relay/locate/relay_dial.h"

struct launch_dial;

/* `err` is NULL on success. */
typedef void (*launch_dial_fn)(void *arg, const struct relay_dial *dial, const struct err *err);
/* `relay` is borrowed until `fn` has run, once, never from within this call. */
struct launch_dial *launch_dial_start(struct loop *loop, const struct relay_address *relay,
                                      launch_dial_fn fn, void *arg);
/* `fn` does not run any more; also after it has run. */
void launch_dial_destroy(struct launch_dial **dial);

#endif
