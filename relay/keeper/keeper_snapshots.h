/* Snapshots in shared memory: one memfd that the keeper holds and one relay at a time writes.
 *
 * The memory starts with a table of slots. A slot has two halves, each with a sequence number, a
 * checksum and a block of its own. A write goes to the half that is not current, and its last store
 * is the sequence number, so that a writer killed between any two instructions leaves the older
 * snapshot whole; so does a torn block. Pieces with a checksum each can be added behind a snapshot,
 * in the rest of its block; they count up to the first piece that is not whole. Only the writer
 * knows which blocks are free; the next writer works that out anew. */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_SNAPSHOTS_H
#define RAYDBG_RELAY_KEEPER_KEEPER_SNAPSHOTS_H

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

/* The location of one block. A slot has two in a row; a header of the same size precedes the first
 * slot's. */
struct snapshot_half {
    _Atomic uint64_t seq; /* 0: empty; the half of a slot with the higher one is current */
    uint64_t sum;         /* of seq, offset, room, len and the bytes */
    uint64_t offset;      /* from the start of the shared memory */
    uint32_t room;        /* of the block */
    uint32_t len;
};

struct keeper_snapshots;

/* A new, empty memory; -1 with `err` set. */
int keeper_snapshots_create(struct err *err);
/* Maps the memory that keeper_snapshots_create() made, perhaps in another process; `fd` stays the
 * caller's and open. The snapshots of `slots` are kept, every other slot and block is free. */
struct keeper_snapshots *keeper_snapshots_open(int fd, const uint32_t *slots, size_t count,
                                               struct err *err);
void keeper_snapshots_close(struct keeper_snapshots **snapshots);

/* Appends a slot's latest whole snapshot and its pieces; false, and nothing appended, if there is
 * none. */
bool keeper_snapshots_read(const struct keeper_snapshots *snapshots, uint32_t slot,
                           struct buf *out);
/* Replaces a slot's snapshot, with room for `spare` bytes of pieces (each takes some 20 bytes more
 * than its own). False if there is no memory: the old snapshot stays. */
bool keeper_snapshots_write(struct keeper_snapshots *snapshots, uint32_t slot, const char *bytes,
                            size_t len, size_t spare);
/* Adds a piece; false, and nothing done, if there is no room, or this process has not written the
 * snapshot itself. */
bool keeper_snapshots_add(struct keeper_snapshots *snapshots, uint32_t slot, const char *bytes,
                          size_t len);
/* Empties a slot. */
void keeper_snapshots_clear(struct keeper_snapshots *snapshots, uint32_t slot);
/* The bytes that are reserved for blocks, in use or not. */
size_t keeper_snapshots_reserved(const struct keeper_snapshots *snapshots);

#endif
