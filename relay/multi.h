/* One DAP session over many debuggees: each paused task's threads are threads of the session.
 *
 *   client ── session ── multi ──┬── session ── hub ── debuggee   (an inner session for each task:
 *                      idmap     ├── session ── hub ── debuggee    annotations, guards, holding and
 *                                └── …                             sharing are what they always
 * are)
 *
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_MULTI_H
#define RAYDBG_RELAY_MULTI_H

#include "dap/envelope.h"
#include "relay/session.h"

struct multi;
struct session;

/* After an `attach` that names many (attach_arguments_many()), which is answered by the multi. It
 * looks for pauses until it ends; those that match join. `session` is the one with the client; it
 * outlives the multi. */
struct multi *multi_open(struct session *session);
void multi_destroy(struct multi **multi); /* the inner sessions are left without a word */

/* A request of the client's that the rules let through, or one of raydbg's own (raydbg/…), but for
 * initialize, attach, cancel, disconnect, terminate and raydbg/clusterObjects. Each gets one
 * response. */
void multi_request(struct multi *multi, const char *json, size_t len,
                   const struct envelope *envelope);
/* The client leaves, or is gone: each debuggee is left as a session of its own would be.
 * session_left() is called when all are, perhaps from within, at the latest after 1.5 s. */
void multi_leave(struct multi *multi, enum hub_leave how);
/* Nothing can come of it any more: its attach has failed, or all is left. */
bool multi_is_over(const struct multi *multi);

/* For lists: the task that the client looks at, or one of the others, or NULL; how many there are;
 * whether it drives one. */
const struct pause *multi_pause(const struct multi *multi);
size_t multi_count(const struct multi *multi);
bool multi_drives(const struct multi *multi);
/* As session_flow(), but that it stops only debuggees that say much. */
void multi_flow(struct multi *multi, bool enable);

#endif
