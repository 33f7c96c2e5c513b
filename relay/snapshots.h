/* Snapshots in shared memory: one memfd that the keeper holds and one relay at a time writes.
 *
 * The memory starts with a table of slots. A slot has two halves, each with a sequence number, a
 * checksum and a block of its own; a write goes to the half that is not current, and the last store
 * of it is the sequence number. So a writer that is killed between any two instructions leaves the
 * older snapshot whole, and so does a torn block. What blocks are free is known to the writer alone
 * and is worked out anew by the next one. */
#ifndef RAYDBG_RELAY_SNAPSHOTS_H
#define RAYDBG_RELAY_SNAPSHOTS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SNAPSHOT_SLOTS = 65535,   /* connections at most */
    SNAPSHOT_BLOCK_MIN = 256, /* bytes; a block is this times a power of two */
};

/* One block's place. A slot has two in a row; the first slot's lie behind a header as long. */
struct snapshot_half {
    _Atomic uint64_t seq; /* 0: nothing here; the higher one of a slot's halves is current */
    uint64_t sum;         /* of seq, offset, room, len and the bytes */
    uint64_t offset;      /* from the start of the shared memory */
    uint32_t room;        /* of the block */
    uint32_t len;
};

struct snapshots;

/* A new, empty memory; -1 with `err` set. */
int snapshots_create(struct err *err);
/* Maps what snapshots_create() gave, maybe in another process; `fd` stays the caller's and open.
 * The snapshots of `slots` are kept, every other slot and block is free. */
struct snapshots *snapshots_open(int fd, const uint32_t *slots, size_t count, struct err *err);
void snapshots_close(struct snapshots **snapshots);

/* Appends a slot's latest whole snapshot; false (and nothing) if it has none. */
bool snapshots_read(const struct snapshots *snapshots, uint32_t slot, struct buf *out);
/* Replaces it; false if there is no memory: what was there stays. */
bool snapshots_write(struct snapshots *snapshots, uint32_t slot, const char *bytes, size_t len);
/* Empties a slot. */
void snapshots_clear(struct snapshots *snapshots, uint32_t slot);
/* Bytes of the shared memory's blocks that are reserved, in use or not. */
size_t snapshots_reserved(const struct snapshots *snapshots);

#endif
