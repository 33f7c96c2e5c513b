/* Requests that debugpy must not get as they are or not now, because it would never answer them, or
 * would end its connection for good. Pure.
 *
 * The worker has a guard of its own (relay/inject.c); this one holds where the injection failed,
 * and its words are better. Source: debugpy 1.8.0-1.8.22, Python 3.9-3.13, measured. */
#ifndef RAYDBG_RELAY_GUARDS_H
#define RAYDBG_RELAY_GUARDS_H

#include "relay/thread_set.h"

/* Static text for the client, or NULL if the request may pass. */
const char *guards_refusal(const struct thread_set *stopped, const char *json,
                           const struct envelope *request);

#endif
