/* The rank of the one task that a session is about, for the name of its thread. */
#ifndef RAYDBG_RELAY_SESSION_SESSION_RANK_H
#define RAYDBG_RELAY_SESSION_SESSION_RANK_H

#include <stddef.h>

struct session;

/* Asks the debuggee for the rank, once, when the client gets its first stack (`stack`, as the
 * client sees it). Clients ask for thread names at each stop; a `thread` event now would make VS
 * Code drop what it shows. */
void session_rank_ask(struct session *session, const char *stack, size_t len);

#endif
