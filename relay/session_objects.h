/* What a session adds to what its client sees: Ray's own words on the objects that the variables
 * refer to (relay/objects.h). Responses with references wait for them, at most
 * SESSION_OBJECTS_PATIENCE_MS, and what comes later is announced by `invalidated`; a reference has
 * children that say all that is known of it; each frame has one more scope, the object store.
 *
 * The client still gets exactly one response to each request, in whatever order. A session that
 * asked for no variables has nothing of this; nor has one without a cluster. */
#ifndef RAYDBG_RELAY_SESSION_OBJECTS_H
#define RAYDBG_RELAY_SESSION_OBJECTS_H

#include "dap/envelope.h"
#include "dap/seqmap.h"

#include <stdbool.h>
#include <stddef.h>

enum { SESSION_OBJECTS_PATIENCE_MS = 50 };

struct session;
struct session_objects;

/* False: the request is for debuggee as it is. True: it was forwarded or answered. Its refusals
 * have been looked at. */
bool session_objects_request(struct session *session, const char *json, size_t len,
                             const struct envelope *envelope);
/* `raydbg/objects`: a handler of the session's. */
void session_objects_on_list(struct session *session, const char *json,
                             const struct envelope *envelope);
/* False: the response is for the client as it is. */
bool session_objects_response(struct session *session, const struct pending *pending,
                              const char *json, size_t len, const struct envelope *envelope);
/* Whether a response of `total` bytes is wanted whole, because it may be annotated. */
bool session_objects_collects(const struct session *session, const struct pending *pending,
                              size_t total);
/* The same for one that comes in parts (struct link_ops), and has begun. True: its parts are for
 * session_objects_part(). False: let it be collected, if it is wanted whole. */
bool session_objects_gather(struct session *session, const struct pending *pending,
                            const char *head, size_t head_len, size_t total);
/* False: it is not of one that is gathered. */
bool session_objects_part(struct session *session, const char *bytes, size_t len);
typedef void (*session_objects_whole_fn)(void *session, const struct pending *pending,
                                         const char *json, size_t len,
                                         const struct envelope *envelope);
/* The same; what was gathered is given to `fn` if it is whole. Else its request is still to be
 * refused. */
bool session_objects_part_end(struct session *session, bool whole, session_objects_whole_fn fn);
/* Refuses the request whose answer is being gathered, if there is one: it will not be whole. */
void session_objects_refuse_gathered(struct session *session, const char *why);

/* Sends what waits, with what is known: something is about to be sent that must not come first, or
 * nothing more will be known. */
void session_objects_flush(struct session *session);
/* The same, and what was learned of a stop that is over is forgotten: thousands may be idle. */
void session_objects_go_on(struct session *session);
/* The same as a flush, and the hub is not listened to any more: the session leaves it. */
void session_objects_leave(struct session *session);
/* What waits is dropped. */
void session_objects_destroy(struct session *session);

#endif
