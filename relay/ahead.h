/* Answers ahead: when a thread stops, what the client asked after its last stop is asked for it at
 * once, and the answers go behind the stop to the editor's end (cli/dap_ahead.h), which is far
 * away. It stands between a client's transport and its session and asks as the client itself would:
 * every rule of the session holds for its questions. Everything runs on the loop's thread.
 *
 * The relay's events are all `raydbg/ahead`; bodies:
 *
 *   {"batch": B, "heard": N, "asks": [{"id": I, "command": …, "arguments": …}, …]}
 *       These are asked now, the answers follow. Comes before whatever lets the client ask for the
 *       same, be that a stop or an answer. A new B ends the one before. N is how many requests of
 *       the client's that may change something (dap/reads.h) the relay had got by then, over this
 *       connection: if the client has sent more, the answers may be older than these, and are not
 *       to be used.
 *   {"batch": B, "id": I, "response": …}   an answer; without `response` there will be none
 *   {"batch": B, "drop": true}             somebody else does what may change something
 *
 * The client's one event: {"batch": B, "used": [I, …]}, before the request that ends the batch. */
#ifndef RAYDBG_RELAY_AHEAD_H
#define RAYDBG_RELAY_AHEAD_H

#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ahead;

struct ahead_ops {
    /* A request for the session, as if the client had sent it. Never from within. */
    void (*ask)(void *arg, const char *json, size_t len);
    /* An event for the editor's end. */
    void (*send)(void *arg, const char *json, size_t len);
    /* Bytes that wait for the client. */
    size_t (*queued)(void *arg);
    bool (*drives)(void *arg); /* whether it is no mere observer */
};

/* Whether a client's first message offers to take answers ahead. */
bool ahead_is_offered(const char *json, size_t len);

/* To be shown every message of that client, from that first one on. */
struct ahead *ahead_create(struct loop *loop, const struct ahead_ops *ops, void *arg);
void ahead_destroy(struct ahead **ahead);

/* Of all that follow nothing happens with `ahead` NULL. */

/* A message from the client; true if it is not for the session. */
bool ahead_from_client(struct ahead *ahead, const char *json, size_t len);
/* A message for the client; true if it is not to be sent: the answer to a question of our own. */
bool ahead_to_client(struct ahead *ahead, const char *json, size_t len);
/* Whether a message that is not in one piece must be put together and shown: our own may be it. */
bool ahead_waits(const struct ahead *ahead);
/* Somebody else does, to the same debuggee, what may change something. */
void ahead_disturb(struct ahead *ahead);

/* Whether a request's seq is one of ours. */
bool ahead_is_own(int64_t client_seq);

#endif
