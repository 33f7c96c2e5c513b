/* The facts about an attached debuggee that the next relay needs, as text. Pure. */
#ifndef RAYDBG_RELAY_HUB_HUB_SNAPSHOT_H
#define RAYDBG_RELAY_HUB_HUB_SNAPSHOT_H

#include "base/buf.h"
#include "relay/pause/pause.h"

#include <stdbool.h>
#include <stdint.h>

/* The strings belong to the code that has filled it. `events` and `clearing` are never NULL.
 * `capabilities` is NULL or empty if there are none, and NULL when read again; so is `attach`. The
 * pause has what pause_json() writes. */
struct hub_snapshot {
    struct pause pause;
    bool kept; /* held without clients (HUB_ON_PAUSE), also at a user's request */
    char *capabilities;
    char *attach;       /* the debugger's attach arguments, a JSON object */
    char *attached_by;  /* whose they are, or NULL */
    char *events;       /* a JSON array of the `thread` and `stopped` events that hold */
    char *clearing;     /* a JSON array: see breakpoint_union_clearing() */
    int64_t generation; /* the number of relays that had it before */
    int64_t held_since_ms;
    bool torn;           /* a message to the debuggee was sent in part only */
    int64_t cut_s;       /* see struct target_facts; 0: not known, which is not written */
    int64_t adapter_pid; /* the same */
};

void hub_snapshot_write(const struct hub_snapshot *snapshot, struct buf *out);
/* False if the text is no snapshot, or one of an unknown version. */
bool hub_snapshot_read(struct hub_snapshot *out, const char *text, size_t len);
/* The text's limit in bytes, for writing and reading. */
#define HUB_SNAPSHOT_MAX ((size_t)16 * 1024 * 1024)

/* The same, compressed: thousands of them are in shared memory. A text above the limit loses, and
 * that is logged, the events' texts, then the breakpoints to clear, then the capabilities; never
 * the pause and its stops. */
void hub_snapshot_pack(const struct hub_snapshot *snapshot, struct buf *out);
bool hub_snapshot_unpack(struct hub_snapshot *out, const char *bytes, size_t len);
void hub_snapshot_clear(struct hub_snapshot *snapshot);

#endif
