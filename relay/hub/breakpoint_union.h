/* The sets of each of a debuggee's clients: breakpoints by source, function breakpoints, exception
 * filters. DAP's set requests replace the whole set, so those of several clients must be merged:
 * each client keeps its own, and leaving takes away only its own. Pure.
 *
 * A set applies to the debuggee only while it is armed: an observer's is remembered, not sent. What
 * a client has armed stays armed when another one drives, until the client sets that source anew.
 */
#ifndef RAYDBG_RELAY_HUB_BREAKPOINT_UNION_H
#define RAYDBG_RELAY_HUB_BREAKPOINT_UNION_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>

struct breakpoint_union;

struct breakpoint_union *breakpoint_union_create(void);
/* Without owners' exception filters there are none: for a process of the user's own, which a filter
 * would stop where it ends with an error. Otherwise `uncaught` stays. */
void breakpoint_union_no_filters(struct breakpoint_union *sets);
void breakpoint_union_destroy(struct breakpoint_union **sets);

/* True for setBreakpoints, setFunctionBreakpoints and setExceptionBreakpoints. */
bool breakpoint_union_is_set(const char *command);

/* Remembers the owner's set, armed, in place of its earlier one for the same source. */
void breakpoint_union_note(struct breakpoint_union *sets, const void *owner, const char *json,
                           const struct envelope *request);
/* True if an owner has armed exception filters. */
bool breakpoint_union_has_filters(const struct breakpoint_union *sets);
/* Appends the request with the armed elements of the other owners for the same source added. False,
 * and nothing appended, if there are none. `*own` is the number of the owner's elements, which come
 * first in the answer. */
bool breakpoint_union_merge(const struct breakpoint_union *sets, const void *owner,
                            const char *json, size_t len, const struct envelope *request,
                            struct buf *out, size_t *own);
/* Appends the response with the first `own` elements of its `breakpoints` only; false, and nothing
 * appended, if there are no more. */
bool breakpoint_union_trim(const char *json, size_t len, const struct envelope *response,
                           size_t own, struct buf *out);
/* Appends the body of the response to an observer: nothing is verified, because `why`. */
void breakpoint_union_unarmed_body(const char *json, const struct envelope *request,
                                   const char *why, struct buf *out);

/* Gets a set request to send to the debuggee. */
typedef void (*breakpoint_union_fn)(void *arg, const char *command, const char *arguments);
/* Remembers an observer's set, unarmed, in place of its earlier one for the same source. If that
 * was armed, `fn` gets the request that takes it out of the debuggee, with the armed elements of
 * all other owners, and the result is true. */
bool breakpoint_union_keep(struct breakpoint_union *sets, const void *owner, const char *json,
                           const struct envelope *request, breakpoint_union_fn fn, void *arg);
/* Arms the owner's sets; `fn` gets the requests for them, with the armed elements of all owners. */
void breakpoint_union_arm(struct breakpoint_union *sets, const void *owner, breakpoint_union_fn fn,
                          void *arg);
/* `fn` gets the requests that bring the owner's sets, armed or not, to another debuggee. */
void breakpoint_union_each(const struct breakpoint_union *sets, const void *owner,
                           breakpoint_union_fn fn, void *arg);
/* Drops the owner's sets; `fn` gets the requests for those that were armed, with the armed elements
 * of all other owners. */
void breakpoint_union_drop(struct breakpoint_union *sets, const void *owner, breakpoint_union_fn fn,
                           void *arg);

/* Appends a JSON array of {"command", "arguments"} that clears every armed set. A relay that takes
 * the debuggee over must send these, since the clients that set them are gone. */
void breakpoint_union_clearing(struct breakpoint_union *sets, struct buf *out);
/* Appends the elements, with commas between, for the sets armed since the last
 * breakpoint_union_clearing() or breakpoint_union_newly_clearing(). */
void breakpoint_union_newly_clearing(struct breakpoint_union *sets, struct buf *out);

#endif
