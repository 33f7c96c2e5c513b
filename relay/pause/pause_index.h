/* The rows of a list of pauses, found by pause_same(). */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_INDEX_H
#define RAYDBG_RELAY_PAUSE_PAUSE_INDEX_H

#include "base/hash_index.h"
#include "relay/pause/pause.h"

/* Borrows the list, which must not change. */
struct pause_index {
    const struct pause_list *list;
    struct hash_index rows;
};

void pause_index_make(struct pause_index *index, const struct pause_list *list);
/* The row that is the same pause, or NULL. */
const struct pause *pause_index_find(const struct pause_index *index, const struct pause *pause);
void pause_index_clear(struct pause_index *index);

#endif
