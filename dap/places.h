/* Finds the source paths, the lines and the columns in DAP messages. Pure. */
#ifndef RAYDBG_DAP_PLACES_H
#define RAYDBG_DAP_PLACES_H

#include "dap/envelope.h"

enum place_kind {
    PLACE_PATH,
    PLACE_LINE,
    PLACE_COLUMN,
};

struct place {
    enum place_kind kind;
    struct span at;        /* a value of any type */
    struct span reference; /* of a path: the sourceReference beside it; len 0 if there is none */
};

/* In the order of the text: a reference may precede its path. */
struct places {
    struct place *items;
    size_t count, room;
};

/* Finds them in a response, an event or a client's request. A CompletionItem's `start` is not
 * among them: debugpy counts it from 0 for every client, and editors expect that. */
void places_find(const char *json, const struct envelope *envelope, struct places *out);
void places_clear(struct places *places);

/* True if messages of this kind and name may have any. */
bool places_any(enum dap_kind kind, const char *name);

#endif
