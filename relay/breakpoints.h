/* What each of a debuggee's clients has set: breakpoints by source, function breakpoints, exception
 * filters. DAP's set requests replace the whole set, so that of several clients must be merged:
 * each keeps its own, and leaving takes away only its own. Pure.
 *
 * A set counts for the debuggee only while it is armed: an observer's is remembered, not sent. */
#ifndef RAYDBG_RELAY_BREAKPOINTS_H
#define RAYDBG_RELAY_BREAKPOINTS_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>

struct breakpoints;

struct breakpoints *breakpoints_create(void);
void breakpoints_destroy(struct breakpoints **sets);

/* Whether the command is one of setBreakpoints, setFunctionBreakpoints, setExceptionBreakpoints. */
bool breakpoints_is_set(const char *command);

/* Remembers what `owner` asks for; what it had for the same source is forgotten. */
void breakpoints_note(struct breakpoints *sets, const void *owner, bool armed, const char *json,
                      const struct envelope *request);
/* Appends the request with what the other armed owners have for the same source. False, and nothing
 * appended, if they have nothing. `*own` is the number of the owner's elements: the answer has
 * these first. */
bool breakpoints_merge(const struct breakpoints *sets, const void *owner, const char *json,
                       size_t len, const struct envelope *request, struct buf *out, size_t *own);
/* Appends the response with the first `own` elements of its `breakpoints` only; false, and nothing
 * appended, if there are no more. */
bool breakpoints_trim(const char *json, size_t len, const struct envelope *response, size_t own,
                      struct buf *out);
/* The body of the answer to an observer: nothing is verified, and why. */
void breakpoints_unarmed_body(const char *json, const struct envelope *request, const char *why,
                              struct buf *out);

/* `arguments` are what to send for the debuggee to have the armed sets of all. */
typedef void (*breakpoints_fn)(void *arg, const char *command, const char *arguments);
/* Arms the owner's sets and tells what to send for them. */
void breakpoints_arm(struct breakpoints *sets, const void *owner, breakpoints_fn fn, void *arg);
/* What to send for another debuggee to have the owner's sets, armed or not, and nobody else's. */
void breakpoints_each(const struct breakpoints *sets, const void *owner, breakpoints_fn fn,
                      void *arg);
/* Forgets the owner's sets and tells what to send for those that were armed. */
void breakpoints_drop(struct breakpoints *sets, const void *owner, breakpoints_fn fn, void *arg);

/* A JSON array of {"command", "arguments"} that clears every armed set: what a relay that takes a
 * debuggee over must send, since the clients that set them are gone. */
void breakpoints_clearing(const struct breakpoints *sets, struct buf *out);

#endif
