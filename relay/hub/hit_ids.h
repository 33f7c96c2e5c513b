/* The ids of breakpoints in `stopped` events (hitBreakpointIds). A debuggee gives all breakpoints
 * of a source new ids each time that they are set, by whichever client; a client knows the ids of
 * the answer that it got itself. Pure. */
#ifndef RAYDBG_RELAY_HUB_HIT_IDS_H
#define RAYDBG_RELAY_HUB_HIT_IDS_H

#include "base/buf.h"
#include "base/hash_index.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>

/* The breakpoints of one request, which are known by line or name and get their ids later. */
struct hit_set;

/* One for each owner and source. */
struct hit_sets {
    struct hit_set *first;
    struct hash_index by_key; /* of owner and source; an item is the address of a set */
};

/* All zero is valid; must not be moved. */
struct hit_ids {
    struct hit_sets current; /* the debuggee's ids, a set for each source */
    struct hash_index by_id; /* of these; an item is the address of the set that has the id */
    struct hit_sets owned;   /* the ids that the owners know */
    struct hit_set *asked;   /* requests of no owner that are not answered, the oldest first */
};

void hit_ids_clear(struct hit_ids *ids);

/* Reads a setBreakpoints or setFunctionBreakpoints request that is about to be sent; NULL for any
 * other. `own`: how many elements, from the first, its owner has named. */
struct hit_set *hit_set_read(const char *command, const char *json, struct span arguments,
                             const void *owner, size_t own);
void hit_set_free(struct hit_set **set);

/* A request of no owner; hit_ids_answer_asked() takes them in their order. `set` may be NULL. */
void hit_ids_ask(struct hit_ids *ids, struct hit_set *set);
/* `json` NULL: there is no answer. */
void hit_ids_answer_asked(struct hit_ids *ids, const char *json, const struct envelope *response);
/* Notes the ids of the answer. Takes `set`, which may be NULL. */
void hit_ids_answer(struct hit_ids *ids, struct hit_set *set, const char *json,
                    const struct envelope *response);
/* The owner is gone. */
void hit_ids_drop(struct hit_ids *ids, const void *owner);

/* Appends the `stopped` event with the ids that the owner knows; the hits of other owners'
 * breakpoints are left out. False, and nothing is appended, if nothing changes. An id that no
 * answer had stays. */
bool hit_ids_rewrite(const struct hit_ids *ids, const void *owner, const char *json, size_t len,
                     const struct envelope *event, struct buf *out);

#endif
