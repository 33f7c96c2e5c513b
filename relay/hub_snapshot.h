/* What the next relay must know of a debuggee that this one is attached to, as text. Pure. */
#ifndef RAYDBG_RELAY_HUB_SNAPSHOT_H
#define RAYDBG_RELAY_HUB_SNAPSHOT_H

#include "base/buf.h"
#include "relay/pause.h"

#include <stdbool.h>
#include <stdint.h>

/* Strings are owned by who filled it. `events` and `clearing` are always there; the other JSON
 * texts are NULL, or empty, where there is none, and NULL when read again. Of the pause there is
 * what pause_json() writes. */
struct hub_snapshot {
    struct pause pause;
    bool kept; /* held by a user's word */
    char *capabilities;
    char *events;       /* a JSON array of the `thread` and `stopped` events that are true */
    char *clearing;     /* a JSON array: see breakpoints_clearing() */
    int64_t generation; /* how many relays have had it before */
    int64_t held_since_ms;
    bool torn; /* a message to the debuggee had left in part only */
};

void hub_snapshot_write(const struct hub_snapshot *snapshot, struct buf *out);
/* False if it is none, or of a version that this relay does not know. */
bool hub_snapshot_read(struct hub_snapshot *out, const char *text, size_t len);
/* The same compressed: thousands of them lie in shared memory. */
void hub_snapshot_pack(const struct hub_snapshot *snapshot, struct buf *out);
bool hub_snapshot_unpack(struct hub_snapshot *out, const char *bytes, size_t len);
void hub_snapshot_clear(struct hub_snapshot *snapshot);

#endif
