#include "relay/keeper/keeper_snapshots.h"

#include "base/mem.h"
#include "relay/keeper/free_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TABLE_STEP = 256 * 1024, /* the table gets memory in steps of this size */
    GROW_MIN = 1024 * 1024,  /* the blocks grow by at least this, or by a quarter */
    LEN_MAX = 1024 * 1024 * 1024,
};

/* Precedes the first slot. */
struct header {
    uint32_t slots; /* no slot from here on was ever written */
    uint32_t unused[15];
};

#define SLOT_BYTES (2 * sizeof(struct snapshot_half))
#define TABLE_BYTES ((SNAPSHOT_SLOTS + 1) * SLOT_BYTES)
_Static_assert(sizeof(struct header) == SLOT_BYTES, "the header takes one slot's place");

/* The header of a piece that was added behind a snapshot. */
struct piece {
    _Atomic uint64_t sum; /* of the half's seq, the piece's offset, len, the bytes; 0: no piece */
    uint64_t len;
};

struct keeper_snapshots {
    int fd;
    char *base;
    size_t size;       /* of the mapping; after trim() the file may be larger */
    size_t table_size; /* of the table's part that has memory */
    uint64_t top;      /* every block from here on is unused, and in no free list */
    size_t used;       /* slots with a block */
    struct free_blocks free;
    uint32_t *ends; /* by slot: where its next piece goes in the block; 0: not known */
    size_t end_count;
};

struct extent {
    uint64_t offset;
    uint64_t room;
};

int keeper_snapshots_create(struct err *err)
{
    int fd = memfd_create("raydbg-keeper", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)TABLE_BYTES) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        err_set(err, ERR_FAILED, "no shared memory for the keeper's snapshots");
        return err_why(err, "%s", strerror(why));
    }
    return fd;
}

static struct snapshot_half *half_of(const struct keeper_snapshots *snapshots, uint32_t slot,
                                     size_t which)
{
    return (struct snapshot_half *)(void *)snapshots->base + ((size_t)slot + 1) * 2 + which;
}

static struct header *header_of(const struct keeper_snapshots *snapshots)
{
    return (struct header *)(void *)snapshots->base;
}

/* Eight bytes a round; good enough to detect tears by a killed process or a stray write. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9E3779B97F4A7C15U;
    return sum ^ (sum >> 29);
}

static uint64_t mix_bytes(uint64_t sum, const char *bytes, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        sum = mix(sum, word);
    }
    uint64_t rest = 0;
    if (i < len)
        memcpy(&rest, bytes + i, len - i);
    return mix(sum, rest);
}

static uint64_t half_sum(const struct snapshot_half *half, uint64_t seq, const char *bytes)
{
    uint64_t sum = mix(mix(mix(mix(1, seq), half->offset), half->room), half->len);
    return mix_bytes(sum, bytes, half->len);
}

/* The half's sequence number if it is whole, else 0. */
static uint64_t half_check(const struct keeper_snapshots *snapshots,
                           const struct snapshot_half *half)
{
    uint64_t seq = atomic_load_explicit(&half->seq, memory_order_acquire);
    if (!seq || half->len > half->room || half->offset < TABLE_BYTES ||
        half->offset > snapshots->size || half->room > snapshots->size - half->offset)
        return 0;
    return half_sum(half, seq, snapshots->base + half->offset) == half->sum ? seq : 0;
}

static const struct snapshot_half *current_of(const struct keeper_snapshots *snapshots,
                                              uint32_t slot)
{
    const struct snapshot_half *a = half_of(snapshots, slot, 0);
    const struct snapshot_half *b = half_of(snapshots, slot, 1);
    uint64_t a_seq = half_check(snapshots, a);
    uint64_t b_seq = half_check(snapshots, b);
    if (!a_seq && !b_seq)
        return NULL;
    return a_seq > b_seq ? a : b;
}

/* --- blocks --- */

/* Allocates memory for the file's bytes up to `size` now, so that no write to them can fail later,
 * and maps them. */
static bool grow(struct keeper_snapshots *snapshots, size_t size)
{
    if (size <= snapshots->size)
        return true;
    size_t step = (size - TABLE_BYTES) / 4;
    size = (size + (step > GROW_MIN ? step : GROW_MIN) + 4095) & ~(size_t)4095;
    if (fallocate(snapshots->fd, 0, (off_t)snapshots->size, (off_t)(size - snapshots->size)) != 0)
        return false;
    void *base = mremap(snapshots->base, snapshots->size, size, MREMAP_MAYMOVE);
    if (base == MAP_FAILED)
        return false;
    snapshots->base = base;
    snapshots->size = size;
    return true;
}

/* Returns the block's offset, or 0 if there is no memory. */
static uint64_t block_take(struct keeper_snapshots *snapshots, size_t class)
{
    uint64_t offset = free_blocks_take(&snapshots->free, class);
    if (offset)
        return offset;
    offset = snapshots->top;
    if (!grow(snapshots, offset + free_blocks_room(class)))
        return 0;
    snapshots->top += free_blocks_room(class);
    return offset;
}

/* The fence orders later stores after this one. */
static void half_invalidate(struct snapshot_half *half)
{
    atomic_store_explicit(&half->seq, 0, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
}

/* Invalidates a half and frees its block. */
static void half_release(struct keeper_snapshots *snapshots, struct snapshot_half *half)
{
    half_invalidate(half);
    if (half->room)
        free_blocks_add(&snapshots->free, half->offset, free_blocks_class(half->room));
    half->room = 0;
}

/* Maps no more than the blocks below `top`; grow() allocates and maps the rest again. */
static void trim(struct keeper_snapshots *snapshots)
{
    size_t size = ((size_t)snapshots->top + 4095) & ~(size_t)4095;
    void *base = mremap(snapshots->base, snapshots->size, size, 0);
    if (base != MAP_FAILED)
        snapshots->size = size;
}

/* Gives the memory back to the system, once no block is in use. */
static void forget_blocks(struct keeper_snapshots *snapshots)
{
    free_blocks_forget(&snapshots->free);
    fallocate(snapshots->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)TABLE_BYTES,
              (off_t)(snapshots->size - TABLE_BYTES));
    snapshots->top = TABLE_BYTES;
    trim(snapshots);
}

/* --- opening --- */

static int by_offset(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Empties torn halves, and slots for which no connection is held. Gives the blocks of the others;
 * returns their number. */
static size_t sift(struct keeper_snapshots *snapshots, const uint32_t *slots, size_t count,
                   struct extent **extents)
{
    uint32_t end = header_of(snapshots)->slots;
    if (end > SNAPSHOT_SLOTS)
        end = SNAPSHOT_SLOTS;
    bool *wanted = mem_array(end, sizeof *wanted);
    for (size_t i = 0; i < count; i++)
        if (slots[i] < end)
            wanted[slots[i]] = true;
    *extents = mem_array((size_t)end * 2, sizeof **extents);
    size_t used = 0;
    for (uint32_t slot = 0; slot < end; slot++) {
        size_t before = used;
        for (size_t which = 0; which < 2; which++) {
            struct snapshot_half *half = half_of(snapshots, slot, which);
            if (wanted[slot] && half_check(snapshots, half)) {
                (*extents)[used++] = (struct extent){half->offset, half->room};
            } else {
                half_invalidate(half);
                half->room = 0;
            }
        }
        snapshots->used += used > before;
    }
    free(wanted);
    return used;
}

/* Adopts the blocks that an earlier writer has left in `slots`. */
static void adopt(struct keeper_snapshots *snapshots, const uint32_t *slots, size_t count)
{
    struct extent *extents;
    size_t used = sift(snapshots, slots, count, &extents);
    qsort(extents, used, sizeof *extents, by_offset);
    for (size_t i = 0; i < used; i++) {
        if (extents[i].offset > snapshots->top)
            free_blocks_add_run(&snapshots->free, snapshots->top, extents[i].offset);
        snapshots->top = extents[i].offset + extents[i].room;
    }
    free(extents);
    trim(snapshots);
}

struct keeper_snapshots *keeper_snapshots_open(int fd, const uint32_t *slots, size_t count,
                                               struct err *err)
{
    struct stat file;
    void *base = MAP_FAILED;
    if (fstat(fd, &file) == 0 && (size_t)file.st_size >= TABLE_BYTES)
        base = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        err_set(err, ERR_FAILED, "the keeper's snapshots cannot be mapped");
        err_why(err, "%s", strerror(errno));
        return NULL;
    }
    struct keeper_snapshots *snapshots = mem_alloc(sizeof *snapshots);
    snapshots->fd = fd;
    snapshots->base = base;
    snapshots->size = (size_t)file.st_size;
    snapshots->top = TABLE_BYTES;
    adopt(snapshots, slots, count);
    return snapshots;
}

void keeper_snapshots_close(struct keeper_snapshots **snapshots)
{
    if (!*snapshots)
        return;
    munmap((*snapshots)->base, (*snapshots)->size);
    free_blocks_clear(&(*snapshots)->free);
    free((*snapshots)->ends);
    free(*snapshots);
    *snapshots = NULL;
}

/* --- pieces behind a snapshot --- */

static size_t padded(size_t len)
{
    return (len + 7) & ~(size_t)7;
}

static struct piece *piece_at(const struct keeper_snapshots *snapshots,
                              const struct snapshot_half *half, size_t at)
{
    return (struct piece *)(void *)(snapshots->base + half->offset + at);
}

static uint64_t piece_sum(uint64_t seq, size_t at, const char *bytes, size_t len)
{
    uint64_t sum = mix_bytes(mix(mix(mix(2, seq), at), len), bytes, len);
    return sum ? sum : 1;
}

static void read_pieces(const struct keeper_snapshots *snapshots, const struct snapshot_half *half,
                        struct buf *out)
{
    uint64_t seq = atomic_load(&half->seq);
    size_t at = padded(half->len);
    while (at + sizeof(struct piece) <= half->room) {
        struct piece *piece = piece_at(snapshots, half, at);
        const char *bytes = (const char *)(piece + 1);
        uint64_t sum = atomic_load_explicit(&piece->sum, memory_order_acquire);
        size_t len = piece->len;
        if (!sum || len > half->room - at - sizeof *piece || piece_sum(seq, at, bytes, len) != sum)
            return;
        buf_add(out, bytes, len);
        at += sizeof *piece + padded(len);
    }
}

/* The next piece goes to `at`. Marks that place as empty, whatever an earlier use of the block has
 * left there. */
static void end_at(struct keeper_snapshots *snapshots, uint32_t slot,
                   const struct snapshot_half *half, size_t at)
{
    if (slot >= snapshots->end_count) {
        size_t count = snapshots->end_count ? snapshots->end_count : 64;
        while (count <= slot)
            count *= 2;
        snapshots->ends = mem_resize(snapshots->ends, count, sizeof *snapshots->ends);
        memset(snapshots->ends + snapshots->end_count, 0,
               (count - snapshots->end_count) * sizeof *snapshots->ends);
        snapshots->end_count = count;
    }
    bool room = at && at + sizeof(struct piece) <= half->room;
    if (room)
        atomic_store(&piece_at(snapshots, half, at)->sum, 0);
    snapshots->ends[slot] = room ? (uint32_t)at : 0;
}

/* --- reading and writing --- */

bool keeper_snapshots_read(const struct keeper_snapshots *snapshots, uint32_t slot, struct buf *out)
{
    const struct snapshot_half *half =
        slot < header_of(snapshots)->slots ? current_of(snapshots, slot) : NULL;
    if (!half)
        return false;
    buf_add(out, snapshots->base + half->offset, half->len);
    read_pieces(snapshots, half, out);
    return true;
}

/* Empties slots that a damaged header may have hidden from sift(). */
static void empty_halves(struct keeper_snapshots *snapshots, uint32_t first, uint32_t last)
{
    for (uint32_t slot = first; slot <= last; slot++)
        for (size_t which = 0; which < 2; which++)
            *half_of(snapshots, slot, which) = (struct snapshot_half){0};
}

/* Allocates memory for the table up to this slot, and marks the slot as used in the header. */
static bool reach(struct keeper_snapshots *snapshots, uint32_t slot)
{
    size_t end = ((size_t)slot + 2) * SLOT_BYTES;
    if (end > snapshots->table_size) {
        size_t size = (end + TABLE_STEP - 1) / TABLE_STEP * TABLE_STEP;
        if (fallocate(snapshots->fd, 0, 0, (off_t)size) != 0)
            return false;
        snapshots->table_size = size;
    }
    if (header_of(snapshots)->slots <= slot) {
        empty_halves(snapshots, header_of(snapshots)->slots, slot);
        header_of(snapshots)->slots = slot + 1;
        atomic_thread_fence(memory_order_seq_cst);
    }
    return true;
}

/* Gives the half a block for `len` bytes; keeps its present one if that is large enough and at most
 * 8 times as large as needed. */
static bool make_room(struct keeper_snapshots *snapshots, uint32_t slot, size_t which, size_t len)
{
    struct snapshot_half *half = half_of(snapshots, slot, which);
    size_t class = free_blocks_class(len);
    if (half->room >= free_blocks_room(class) && half->room / 8 <= free_blocks_room(class))
        return true;
    half_release(snapshots, half);
    uint64_t offset = block_take(snapshots, class);
    if (!offset)
        return false;
    half = half_of(snapshots, slot, which); /* the memory may have moved */
    half->offset = offset;
    half->room = (uint32_t)free_blocks_room(class);
    return true;
}

bool keeper_snapshots_write(struct keeper_snapshots *snapshots, uint32_t slot, const char *bytes,
                            size_t len, size_t spare)
{
    if (slot >= SNAPSHOT_SLOTS || len > LEN_MAX || spare > LEN_MAX - len || !reach(snapshots, slot))
        return false;
    const struct snapshot_half *first = half_of(snapshots, slot, 0);
    const struct snapshot_half *second = half_of(snapshots, slot, 1);
    /* Cheaper than current_of(): a half that this process wrote, or adopt() kept, is whole. */
    uint64_t seq = atomic_load(&first->seq);
    size_t which = 1;
    if (atomic_load(&second->seq) > seq) {
        seq = atomic_load(&second->seq);
        which = 0;
    }
    bool fresh = !first->room && !second->room;
    half_invalidate(half_of(snapshots, slot, which));
    if (!make_room(snapshots, slot, which, len + spare))
        return false;
    snapshots->used += fresh;
    struct snapshot_half *half = half_of(snapshots, slot, which);
    if (len)
        memcpy(snapshots->base + half->offset, bytes, len);
    half->len = (uint32_t)len;
    half->sum = half_sum(half, seq + 1, snapshots->base + half->offset);
    end_at(snapshots, slot, half, len ? padded(len) : 0);
    atomic_store_explicit(&half->seq, seq + 1, memory_order_seq_cst);
    return true;
}

bool keeper_snapshots_add(struct keeper_snapshots *snapshots, uint32_t slot, const char *bytes,
                          size_t len)
{
    size_t at = slot < snapshots->end_count ? snapshots->ends[slot] : 0;
    const struct snapshot_half *first = half_of(snapshots, slot, 0);
    const struct snapshot_half *second = half_of(snapshots, slot, 1);
    if (!at)
        return false;
    const struct snapshot_half *half =
        atomic_load(&first->seq) > atomic_load(&second->seq) ? first : second;
    if (len > half->room || at + sizeof(struct piece) + padded(len) > half->room)
        return false;
    struct piece *piece = piece_at(snapshots, half, at);
    piece->len = len;
    memcpy(piece + 1, bytes, len);
    end_at(snapshots, slot, half, at + sizeof *piece + padded(len));
    atomic_store(&piece->sum, piece_sum(atomic_load(&half->seq), at, bytes, len));
    return true;
}

void keeper_snapshots_clear(struct keeper_snapshots *snapshots, uint32_t slot)
{
    if (slot < snapshots->end_count)
        snapshots->ends[slot] = 0;
    if (slot >= header_of(snapshots)->slots)
        return;
    struct snapshot_half *first = half_of(snapshots, slot, 0);
    struct snapshot_half *second = half_of(snapshots, slot, 1);
    if (!first->room && !second->room)
        return;
    half_release(snapshots, first);
    half_release(snapshots, second);
    if (--snapshots->used == 0)
        forget_blocks(snapshots);
}

size_t keeper_snapshots_reserved(const struct keeper_snapshots *snapshots)
{
    return snapshots->size - TABLE_BYTES;
}
