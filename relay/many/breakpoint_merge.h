/* One set of breakpoints as the client named it (of one source, of functions, of exceptions), and
 * the answers of many debuggees to it: the client sees one breakpoint for each entry, with one id
 * of the session's, verified if any debuggee has verified it. Pure.
 *
 *   set = breakpoint_merge_create(ids, json, request);
 *   breakpoint_merge_command(set), breakpoint_merge_arguments(set)   to send to each debuggee,
 *                                                                    present and future
 *   breakpoint_merge_answer(set, ids, slot, json, response);         each answer, early or late
 *   breakpoint_merge_body(set, &body);                               once: the client's response
 *   breakpoint_merge_event(set, slot, json, event)                   each `breakpoint` event
 *   while (breakpoint_merge_next_event(set, &body)) …                after each answer or event
 *                                                                    that follows the response */
#ifndef RAYDBG_RELAY_MANY_BREAKPOINT_MERGE_H
#define RAYDBG_RELAY_MANY_BREAKPOINT_MERGE_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "dap/idmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct breakpoint_merge;

/* Made from a setBreakpoints, setFunctionBreakpoints, setExceptionBreakpoints, … request; each
 * entry gets an id of `ids`. Borrows nothing. */
struct breakpoint_merge *breakpoint_merge_create(struct idmap *ids, const char *json,
                                                 const struct envelope *request);
void breakpoint_merge_destroy(struct breakpoint_merge **set);

/* The request, for debuggees that come later. `arguments` is JSON, "{}" if there were none. */
const char *breakpoint_merge_command(const struct breakpoint_merge *set);
const char *breakpoint_merge_arguments(const struct breakpoint_merge *set);
/* The number of entries that the client named; further entries of an answer are not its own. */
size_t breakpoint_merge_count(const struct breakpoint_merge *set);
/* The session's id of an entry. */
int64_t breakpoint_merge_id(const struct breakpoint_merge *set, size_t index);
/* True if the two are for the same location, so that the later one replaces the earlier one: the
 * same command and, with setBreakpoints, the same source. */
bool breakpoint_merge_replaces(const struct breakpoint_merge *later,
                               const struct breakpoint_merge *earlier);

/* Takes in a debuggee's answer, in place of its earlier one; `response` has the debuggee's own ids,
 * may have failed, and may have fewer entries. NULL: it will not answer. From now on `ids` maps its
 * breakpoints' ids to the session's (idmap_alias()): hitBreakpointIds come out right. */
void breakpoint_merge_answer(struct breakpoint_merge *set, struct idmap *ids, uint32_t slot,
                             const char *json, const struct envelope *response);
/* Takes in a debuggee's `breakpoint` event (its own ids); false if it is not about this set. */
bool breakpoint_merge_event(struct breakpoint_merge *set, uint32_t slot, const char *json,
                            const struct envelope *event);
/* The debuggee is gone. The last debuggee's answer is kept until another answers. */
void breakpoint_merge_gone(struct breakpoint_merge *set, uint32_t slot);

/* Appends the body of the response to the client, from the answers so far. */
void breakpoint_merge_body(struct breakpoint_merge *set, struct buf *out);
/* NULL, or why the client's request failed: every debuggee that answered has failed. Meaningful
 * when all have answered. */
const char *breakpoint_merge_failure(const struct breakpoint_merge *set);
/* Appends the body of a `breakpoint` event for one entry that has changed since the client was told
 * of it. False, and nothing appended, if none has changed, or before breakpoint_merge_body(). */
bool breakpoint_merge_next_event(struct breakpoint_merge *set, struct buf *out);

#endif
