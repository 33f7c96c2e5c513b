/* Lines that a client types into the debug console of one task and that begin with "/", as no
 * Python expression does: "/help", "/next". A verb that steps does what the client's own request
 * would do. A session over many tasks has verbs of its own (relay/verbs/verb.h). */
#ifndef RAYDBG_RELAY_SESSION_SESSION_VERBS_H
#define RAYDBG_RELAY_SESSION_SESSION_VERBS_H

#include "dap/envelope.h"
#include "dap/seqmap.h"

#include <stdbool.h>

struct session;

/* True: the request was such a line, or asked for its completion, and is answered. */
bool session_verbs_request(struct session *session, const char *json,
                           const struct envelope *envelope);
/* True: the response answers a verb's request to the debuggee. */
bool session_verbs_response(struct session *session, const struct pending *pending,
                            const char *json, const struct envelope *envelope);
/* True if a request without an answer is a verb's, and no client waits for it. */
bool session_verbs_forgets(const struct pending *pending);

#endif
