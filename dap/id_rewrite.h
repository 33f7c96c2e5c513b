/* Replaces the ids in a message's bytes. A table says for each command and event which members are
 * ids, and of which kind; every other byte stays unchanged. A value that should be an id but is not
 * an integer is left alone, and so are members of the same name elsewhere. One pass over arguments
 * or body, no tree. Pure. */
#ifndef RAYDBG_DAP_ID_REWRITE_H
#define RAYDBG_DAP_ID_REWRITE_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "dap/idmap.h"

/* In each call `envelope` is the result of envelope_read() for `json`. */

/* Rewrites a debuggee's response or event for the client. `thread` is the debuggee's thread that
 * the request was about (0: none), for ids that are new; an event's own threadId takes precedence.
 * True with the message appended to `out`; false if no id in it changes: forward it unchanged.
 * A progressId, which is a text, gets "SLOT/" in front; in slot 0 only if it starts like that. */
bool id_rewrite_out(struct idmap *map, uint32_t slot, int64_t thread, const char *json, size_t len,
                    const struct envelope *envelope, struct buf *out);

enum id_route {
    ID_ROUTE_NONE,    /* it has no id (thread, frame, …), so its debuggee is not known */
    ID_ROUTE_SLOT,    /* for `to.slot`, about `to.thread` (0: its ids live in no thread's stop) */
    ID_ROUTE_UNKNOWN, /* it has an id that the session does not have */
    ID_ROUTE_MIXED,   /* it has ids of different debuggees */
};

/* Rewrites a client's request for a debuggee. On ID_ROUTE_SLOT the message with the debuggee's own
 * ids is appended to `out` (the same bytes where the ids are equal), otherwise nothing.
 * `to->foreign` is not set. */
enum id_route id_rewrite_in(const struct idmap *map, const char *json, size_t len,
                            const struct envelope *envelope, struct idmap_entry *to,
                            struct buf *out);

/* True if a message of this kind and name can have ids; any other may be forwarded in parts. */
bool id_rewrite_applies(enum dap_kind kind, const char *name);

#endif
