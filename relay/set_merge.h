/* One set of breakpoints as the client named it (of one source, of functions, of exceptions), and
 * what each of many debuggees made of it: the client sees one breakpoint for each entry, with one
 * id of the session's, verified if it is so anywhere. Pure.
 *
 * A set is made from the request, asked what to send, told each debuggee's answer and `breakpoint`
 * events, and asked for the response (once) and from then on for events:
 *
 *   set = set_merge_create(ids, json, request);
 *   … set_merge_command(set), set_merge_arguments(set) to each debuggee, present and future …
 *   set_merge_answer(set, ids, slot, json, response);      each answer, early or late
 *   set_merge_body(set, &body);                            when the client is answered
 *   while (set_merge_next_event(set, &body)) …             after each answer or event from then on
 *   if (set_merge_event(set, slot, json, event)) while (set_merge_next_event(…)) … */
#ifndef RAYDBG_RELAY_SET_MERGE_H
#define RAYDBG_RELAY_SET_MERGE_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "dap/idmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct set_merge;

/* From a setBreakpoints, setFunctionBreakpoints, setExceptionBreakpoints, … request; each entry
 * gets an id of `ids`. Borrows nothing. */
struct set_merge *set_merge_create(struct idmap *ids, const char *json,
                                   const struct envelope *request);
void set_merge_destroy(struct set_merge **set);

/* What was asked: for debuggees that come later. `arguments` is JSON, "{}" if there were none. */
const char *set_merge_command(const struct set_merge *set);
const char *set_merge_arguments(const struct set_merge *set);
/* How many entries the client named; an answer may have more, which are not the client's. */
size_t set_merge_count(const struct set_merge *set);
/* The session's id of an entry. */
int64_t set_merge_id(const struct set_merge *set, size_t index);
/* Whether the two are for the same place, so that the later one replaces the earlier one: the same
 * command and, of setBreakpoints, the same source. */
bool set_merge_replaces(const struct set_merge *later, const struct set_merge *earlier);

/* What the debuggee answered, in place of what it had said before; `response` has its own ids, may
 * have failed, and may have fewer entries. NULL: it will not answer. Its breakpoints' ids are from
 * now on the session's in `ids` (idmap_alias()): hitBreakpointIds come out right. */
void set_merge_answer(struct set_merge *set, struct idmap *ids, uint32_t slot, const char *json,
                      const struct envelope *response);
/* Takes in a debuggee's `breakpoint` event (its own ids); false if it is about none of this set. */
bool set_merge_event(struct set_merge *set, uint32_t slot, const char *json,
                     const struct envelope *event);
/* The debuggee is gone. What the last one of all has said stays. */
void set_merge_gone(struct set_merge *set, uint32_t slot);

/* Appends the body of the response to the client, as it stands now. */
void set_merge_body(struct set_merge *set, struct buf *out);
/* NULL, or why the client's request failed: everybody who answered has failed. Worth asking when
 * all have answered. */
const char *set_merge_failure(const struct set_merge *set);
/* Appends the body of a `breakpoint` event for one entry that is not any more as the client was
 * told last; false, and nothing appended, if there is none, or set_merge_body() was not called yet.
 */
bool set_merge_next_event(struct set_merge *set, struct buf *out);

#endif
