/* One DAP session over many debuggees: each paused task's threads are threads of the session.
 *
 *   client ── session ── many ──┬── session ── hub ── debuggee
 *                       idmap   ├── session ── hub ── debuggee
 *                               └── …
 *
 * Each task has an inner session: annotations, guards, holding and sharing are the same as in any
 * session. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_MANY_MANY_H
#define RAYDBG_RELAY_MANY_MANY_H

#include "relay/session/session_mode.h"

struct many;
struct many_hooks; /* many_hooks.h */

/* The mode of a session over many tasks (session_mode.h). leave() leaves each debuggee as a session
 * of its own would; session_left() follows when all are left, after 1.5 s at the latest. pause() is
 * the task that the client looks at, or one of the others, or NULL. */
extern const struct session_mode_ops many_mode_ops;

/* Called after an `attach` that names many (attach_arguments_many()), and answers it. Looks for
 * pauses until the session ends; those that match join. `session` is the client's, and outlives the
 * result. */
struct many *many_open(struct session *session, const struct many_hooks *hooks);

#endif
