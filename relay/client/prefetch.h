/* Prefetched responses: when a thread stops, prefetch at once makes the requests that the client
 * made after its last stops, and the responses follow the stop to the editor's end
 * (cli/dap/dap_prefetch.h), which is far away. Prefetch sits between a client's transport and its
 * session and makes requests as the client itself would: every rule of the session applies to them.
 * Everything runs on the loop's thread.
 *
 * The relay's events are all `raydbg/prefetch`; bodies:
 *
 *   {"batch": B, "heard": N, "asks": [{"id": I, "command": …, "arguments": …}, …]}
 *       The relay makes these requests now, the responses follow. The event comes before the stop
 *       or the response that lets the client make the same requests. A new B ends the batch before.
 *       N is the number of the client's requests on this connection that the relay had received by
 *       then and that may change something (that are not DAP_COMMAND_READS): if the client has sent
 *       more, the responses may be older than these requests, and the client must not use them.
 *   {"batch": B, "id": I, "response": …}   a response; without `response` there will be none
 *   {"batch": B, "drop": true}             another client's request may change something
 *
 * The client's only event: {"batch": B, "used": [I, …]}, before the request that ends the batch. */
#ifndef RAYDBG_RELAY_CLIENT_PREFETCH_H
#define RAYDBG_RELAY_CLIENT_PREFETCH_H

#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prefetch;

struct prefetch_ops {
    /* Gives the session a request as if the client had sent it. Never from within a call below. */
    void (*ask)(void *arg, const char *json, size_t len);
    /* Sends an event to the editor's end. */
    void (*send)(void *arg, const char *json, size_t len);
    /* The bytes that wait for the client. */
    size_t (*queued)(void *arg);
    bool (*drives)(void *arg); /* false for an observer */
};

/* True if a client's first message offers to take prefetched responses. */
bool prefetch_is_offered(const char *json, size_t len);

/* It must see every message from and to that client, from that first one on. */
struct prefetch *prefetch_create(struct loop *loop, const struct prefetch_ops *ops, void *arg);
void prefetch_destroy(struct prefetch **prefetch);

/* The functions below do nothing if `prefetch` is NULL. */

/* A message from the client; true if it is not for the session. */
bool prefetch_from_client(struct prefetch *prefetch, const char *json, size_t len);
/* A message for the client; true if it must not be sent: it responds to a prefetch request. */
bool prefetch_to_client(struct prefetch *prefetch, const char *json, size_t len);
/* True if a message in parts must be put together for prefetch_to_client(), because it may respond
 * to a prefetch request. */
bool prefetch_waits(const struct prefetch *prefetch);
/* Another client's request may change something in the same debuggee: ends the batch. */
void prefetch_disturb(struct prefetch *prefetch);

/* True if the seq is a prefetch request's. */
bool prefetch_is_own(int64_t client_seq);

#endif
