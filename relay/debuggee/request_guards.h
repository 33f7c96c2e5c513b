/* Refuses requests that debugpy must not get in this form or at this time, because it would never
 * answer them, or would end its connection for good. Pure.
 *
 * The worker has a guard of its own (relay/inject/inject.c). This one holds where the injection
 * failed, and its messages are better. Source: debugpy 1.8.0-1.8.22, Python 3.9-3.13, measured. */
#ifndef RAYDBG_RELAY_DEBUGGEE_REQUEST_GUARDS_H
#define RAYDBG_RELAY_DEBUGGEE_REQUEST_GUARDS_H

#include "relay/stack/stopped_threads.h"

/* For a request of `len` bytes: static text for the client if debugpy's adapter would not read it,
 * else NULL. After the first message above 16,777,215 bytes the adapter reads nothing more. */
const char *request_guards_size_refusal(size_t len);

/* Static text for the client, or NULL if the request may pass. */
const char *request_guards_refusal(const struct stopped_threads *stopped, const char *json,
                                   const struct envelope *request);

#endif
