/* Decides when to ask again for a record that Ray did not have: in each refresh at first, because
 * Ray has some records only a second or so later, then less and less often. Pure: times are the
 * caller's clock. */
#ifndef RAYDBG_RELAY_CLUSTER_BACKOFF_H
#define RAYDBG_RELAY_CLUSTER_BACKOFF_H

#include "base/hash_index.h"
#include "proto/records.h"

struct backoff_row {
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    int64_t first_us, next_us;
    bool used; /* since the last backoff_sweep() */
};

/* All zero is an empty backoff. */
struct backoff {
    struct backoff_row *rows;
    size_t count, room;
    struct hash_index ids;
};

/* True if `id` is to be asked for now; that counts as having asked. */
bool backoff_due(struct backoff *retry, const char *id, int64_t now_us);
/* Forgets the ids that backoff_due() was not called for since the last sweep. */
void backoff_sweep(struct backoff *retry);
void backoff_clear(struct backoff *retry);

#endif
