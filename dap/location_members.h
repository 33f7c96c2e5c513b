/* Finds the members of DAP messages that are part of a source location: paths, lines and columns.
 * Pure. */
#ifndef RAYDBG_DAP_LOCATION_MEMBERS_H
#define RAYDBG_DAP_LOCATION_MEMBERS_H

#include "dap/envelope.h"

enum location_member_kind {
    LOCATION_MEMBER_PATH,
    LOCATION_MEMBER_LINE,
    LOCATION_MEMBER_COLUMN,
};

struct location_member {
    enum location_member_kind kind;
    struct span at;        /* a value of any type */
    struct span reference; /* of a path: the sourceReference beside it; len 0 if there is none */
};

/* In the order of the text: a reference may precede its path. */
struct location_members {
    struct location_member *items;
    size_t count, room;
};

/* Finds them in a response, an event or a client's request. A CompletionItem's `start` is not
 * among them: debugpy counts it from 0 for every client, and editors expect that. */
void location_members_find(const char *json, const struct envelope *envelope,
                           struct location_members *out);
void location_members_clear(struct location_members *members);

/* True if messages of this kind and name may have any. */
bool location_members_any(enum dap_kind kind, const char *name);

#endif
