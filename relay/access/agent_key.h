/* The keys of the agents in workers and drivers (relay/worker_agent). A key is derived from the
 * driver's token and an id, so that a process that knows the token can make one for a job, every
 * relay with that token knows it without storing it, and no agent learns the token. A key admits an
 * agent, and nothing else. */
#ifndef RAYDBG_RELAY_ACCESS_AGENT_KEY_H
#define RAYDBG_RELAY_ACCESS_AGENT_KEY_H

#include "relay/access/auth.h"

#include <stdbool.h>

#define AGENT_KEY_ID_ROOM 33 /* 32 hex digits */

bool agent_key_is_id(const char *id);
/* The id for a purpose that has no life of its own: the same for the same token and text. */
void agent_key_id_for(const char *token, const char *purpose, char id[AGENT_KEY_ID_ROOM]);
/* 64 hex digits; the caller frees. */
char *agent_key_make(const char *token, const char *id);
/* The same with the relay's driver token; NULL for an open relay, or if `id` is none. */
char *agent_key_of(const struct auth *auth, const char *id);

#endif
