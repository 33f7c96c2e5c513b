/* Adds to a client's variables what Ray knows of the objects that they refer to
 * (relay/objects/worker_objects.h). Responses with references wait for these facts, at most
 * VARIABLES_PATIENCE_MS, and later facts are announced by `invalidated`. A reference has children
 * with all that is known of it, and each frame has one more scope, the object store.
 *
 * The client still gets exactly one response to each request, in any order. A session that was
 * asked for no variables has no such state, and neither has one without a cluster. */
#ifndef RAYDBG_RELAY_VARIABLES_VARIABLES_H
#define RAYDBG_RELAY_VARIABLES_VARIABLES_H

#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/variables/variables_context.h"

#include <stdbool.h>
#include <stddef.h>

enum { VARIABLES_PATIENCE_MS = 50 };

/* False: the request goes to the debuggee unchanged. True: it was forwarded or answered. The caller
 * has checked it for refusals. */
bool variables_request(struct variables_context *context, const char *json, size_t len,
                       const struct envelope *envelope);
/* The request `raydbg/objects`. */
void variables_on_list(struct variables_context *context, const char *json,
                       const struct envelope *envelope);
/* False: the response goes to the client unchanged. */
bool variables_response(struct variables_context *context, const struct pending *pending,
                        const char *json, size_t len, const struct envelope *envelope);
/* True if a response of `total` bytes is to be collected whole, because it may be annotated. */
bool variables_collects(const struct variables_context *context, const struct pending *pending,
                        size_t total);
/* The same for a response that has begun to come in parts (struct link_ops). True: its parts are
 * for variables_part(). False: the caller collects it, if variables_collects(). */
bool variables_gather(struct variables_context *context, const struct pending *pending,
                      const char *head, size_t head_len, size_t total);
/* The response to this request does not come to variables_response(), as when it passes in
 * parts. */
void variables_forget(struct variables_context *context, const struct pending *pending);
/* False: no response is being gathered. */
bool variables_part(struct variables_context *context, const char *bytes, size_t len);
typedef void (*variables_whole_fn)(void *arg, const struct pending *pending, const char *json,
                                   size_t len, const struct envelope *envelope);
/* The same; gives a gathered response to `fn` if it is whole. Otherwise its request is still to be
 * refused (variables_refuse_gathered()). */
bool variables_part_end(struct variables_context *context, bool whole, variables_whole_fn fn,
                        void *arg);
/* Refuses the request whose response is being gathered, if there is one: it will not be whole. */
void variables_refuse_gathered(struct variables_context *context, const char *why);

/* Sends the held messages with what is known: before a message that must not overtake them, or when
 * nothing more will be known. */
void variables_flush(struct variables_context *context);
/* The same, and drops what was learned of a stop that is over: thousands of them may be idle. */
void variables_go_on(struct variables_context *context);
/* Like variables_flush(), and stops listening to the hub's objects: the session leaves the hub. */
void variables_leave(struct variables_context *context);
/* Drops the held messages. */
void variables_destroy(struct variables_context *context);

#endif
