/* Exchanges the ids in a message, in its bytes: a table says for each command and event which
 * members are ids, and of which kind; every other byte stays as it came. What is no integer where
 * an id should be is left alone, and so are members of the same name elsewhere. One pass over
 * arguments or body, no tree. Pure. */
#ifndef RAYDBG_DAP_ID_REWRITE_H
#define RAYDBG_DAP_ID_REWRITE_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "dap/idmap.h"

/* In each call `envelope` is what envelope_read() says of `json`. */

/* What a debuggee says, for the client. `thread` is the debuggee's thread that the request was
 * about (0: none), for ids that are new; an event's own threadId counts before it. True with the
 * message in `out` (appended), false if no id in it changes: pass the message as it came.
 * A progressId, which is a text, gets "SLOT/" in front. */
bool id_rewrite_out(struct idmap *map, uint32_t slot, int64_t thread, const char *json, size_t len,
                    const struct envelope *envelope, struct buf *out);

enum id_route {
    ID_ROUTE_NONE,    /* it names no thread, frame, … : which debuggee it is for is not said */
    ID_ROUTE_SLOT,    /* for `to.slot`, about `to.thread` (0: of no thread's stop) */
    ID_ROUTE_UNKNOWN, /* it names an id that nobody has (any more) */
    ID_ROUTE_MIXED,   /* it names ids of different debuggees */
};

/* What a client asks, for a debuggee; on ID_ROUTE_SLOT `out` has the message with the debuggee's
 * own ids (appended; the same bytes where they are equal), else nothing. `to->foreign` is not set.
 */
enum id_route id_rewrite_in(const struct idmap *map, const char *json, size_t len,
                            const struct envelope *envelope, struct idmap_entry *to,
                            struct buf *out);

/* Whether a message of this kind and name can have ids: others can pass in parts. */
bool id_rewrite_applies(enum dap_kind kind, const char *name);

#endif
