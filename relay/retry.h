/* When to ask again for what was not there: in each look at first, because Ray tells some things a
 * second or so later, and more and more seldom then. Pure: times are the caller's clock. */
#ifndef RAYDBG_RELAY_RETRY_H
#define RAYDBG_RELAY_RETRY_H

#include "base/hash_index.h"
#include "proto/records.h"

struct retry_row {
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    int64_t first_us, next_us;
    bool used; /* since the last retry_sweep() */
};

/* All zero is an empty one. */
struct retry {
    struct retry_row *rows;
    size_t count, room;
    struct hash_index ids;
};

/* Whether this is to be asked now; a true answer counts as having asked. */
bool retry_due(struct retry *retry, const char *id, int64_t now_us);
/* Forgets what nobody has wanted since the last sweep. */
void retry_sweep(struct retry *retry);
void retry_clear(struct retry *retry);

#endif
