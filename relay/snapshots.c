#include "relay/snapshots.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CLASSES = 23,            /* 256 B … 1 GiB */
    TABLE_STEP = 256 * 1024, /* the table is backed with memory in such steps */
    GROW_MIN = 1024 * 1024,  /* and the blocks in these, or by a quarter */
    LEN_MAX = 1024 * 1024 * 1024,
};

/* Before the first slot. */
struct header {
    uint32_t slots; /* no slot from here on was ever written */
    uint32_t unused[15];
};

#define SLOT_BYTES (2 * sizeof(struct snapshot_half))
#define TABLE_BYTES ((SNAPSHOT_SLOTS + 1) * SLOT_BYTES)
_Static_assert(sizeof(struct header) == SLOT_BYTES, "the header takes one slot's place");

/* Blocks of one size that nobody uses, by offset. */
struct free_list {
    uint64_t *offsets;
    size_t count;
    size_t room;
};

struct snapshots {
    int fd;
    char *base;
    size_t size;       /* mapped, and the file's */
    size_t table_size; /* of the table, backed */
    uint64_t top;      /* no block was ever taken from here on */
    size_t used;       /* slots with a block */
    struct free_list free[CLASSES];
};

struct extent {
    uint64_t offset;
    uint64_t room;
};

int snapshots_create(struct err *err)
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

static struct snapshot_half *half_of(const struct snapshots *snapshots, uint32_t slot, size_t which)
{
    return (struct snapshot_half *)(void *)snapshots->base + ((size_t)slot + 1) * 2 + which;
}

static struct header *header_of(const struct snapshots *snapshots)
{
    return (struct header *)(void *)snapshots->base;
}

/* Eight bytes a round; good enough to find what a killed process or a stray write has torn. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9E3779B97F4A7C15U;
    return sum ^ (sum >> 29);
}

static uint64_t half_sum(const struct snapshot_half *half, uint64_t seq, const char *bytes)
{
    uint64_t sum = mix(mix(mix(mix(1, seq), half->offset), half->room), half->len);
    size_t i = 0;
    for (; i + 8 <= half->len; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        sum = mix(sum, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, bytes + i, half->len - i);
    return mix(sum, rest);
}

/* The half's sequence number if it is whole, else 0. */
static uint64_t half_check(const struct snapshots *snapshots, const struct snapshot_half *half)
{
    uint64_t seq = atomic_load_explicit(&half->seq, memory_order_acquire);
    if (!seq || half->len > half->room || half->offset < TABLE_BYTES ||
        half->offset > snapshots->size || half->room > snapshots->size - half->offset)
        return 0;
    return half_sum(half, seq, snapshots->base + half->offset) == half->sum ? seq : 0;
}

static const struct snapshot_half *current_of(const struct snapshots *snapshots, uint32_t slot)
{
    const struct snapshot_half *a = half_of(snapshots, slot, 0);
    const struct snapshot_half *b = half_of(snapshots, slot, 1);
    uint64_t a_seq = half_check(snapshots, a);
    uint64_t b_seq = half_check(snapshots, b);
    if (!a_seq && !b_seq)
        return NULL;
    return a_seq > b_seq ? a : b;
}

/* --- which blocks are free --- */

static size_t class_room(size_t class)
{
    return (size_t)SNAPSHOT_BLOCK_MIN << class;
}

static size_t class_of(size_t len)
{
    size_t class = 0;
    while (class_room(class) < len)
        class ++;
    return class;
}

static void free_add(struct snapshots *snapshots, uint64_t offset, size_t class)
{
    struct free_list *list = &snapshots->free[class];
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 16;
        list->offsets = mem_resize(list->offsets, list->room, sizeof *list->offsets);
    }
    list->offsets[list->count++] = offset;
}

/* Cuts a run of unused memory into blocks. */
static void free_add_run(struct snapshots *snapshots, uint64_t from, uint64_t to)
{
    size_t class = CLASSES - 1;
    while (to - from >= SNAPSHOT_BLOCK_MIN) {
        while (class_room(class) > to - from)
            class --;
        free_add(snapshots, from, class);
        from += class_room(class);
    }
}

/* Backs the file's bytes up to `size` with memory now, so that none can be missing when they are
 * written, and maps them. */
static bool grow(struct snapshots *snapshots, size_t size)
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

/* 0 if there is no memory. */
static uint64_t block_take(struct snapshots *snapshots, size_t class)
{
    for (size_t larger = class; larger < CLASSES; larger++) {
        struct free_list *list = &snapshots->free[larger];
        if (!list->count)
            continue;
        uint64_t offset = list->offsets[--list->count];
        free_add_run(snapshots, offset + class_room(class), offset + class_room(larger));
        return offset;
    }
    uint64_t offset = snapshots->top;
    if (!grow(snapshots, offset + class_room(class)))
        return 0;
    snapshots->top += class_room(class);
    return offset;
}

/* The fence keeps later stores from being done before this one. */
static void half_invalidate(struct snapshot_half *half)
{
    atomic_store_explicit(&half->seq, 0, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
}

/* Invalidates a half and frees its block. */
static void half_release(struct snapshots *snapshots, struct snapshot_half *half)
{
    half_invalidate(half);
    if (half->room)
        free_add(snapshots, half->offset, class_of(half->room));
    half->room = 0;
}

/* Maps no more than the blocks below `top`; grow() maps the rest again, and backs it. */
static void trim(struct snapshots *snapshots)
{
    size_t size = ((size_t)snapshots->top + 4095) & ~(size_t)4095;
    void *base = mremap(snapshots->base, snapshots->size, size, 0);
    if (base != MAP_FAILED)
        snapshots->size = size;
}

/* With nothing in use any more the memory goes back to the system. */
static void forget_blocks(struct snapshots *snapshots)
{
    for (size_t i = 0; i < CLASSES; i++)
        snapshots->free[i].count = 0;
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

/* Empties what no longer counts: halves that were torn, slots that nothing is kept for. Gives the
 * blocks of the others. */
static size_t sift(struct snapshots *snapshots, const uint32_t *slots, size_t count,
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

/* Takes in what an earlier writer left in `slots`. */
static void adopt(struct snapshots *snapshots, const uint32_t *slots, size_t count)
{
    struct extent *extents;
    size_t used = sift(snapshots, slots, count, &extents);
    qsort(extents, used, sizeof *extents, by_offset);
    for (size_t i = 0; i < used; i++) {
        if (extents[i].offset > snapshots->top)
            free_add_run(snapshots, snapshots->top, extents[i].offset);
        snapshots->top = extents[i].offset + extents[i].room;
    }
    free(extents);
    trim(snapshots);
}

struct snapshots *snapshots_open(int fd, const uint32_t *slots, size_t count, struct err *err)
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
    struct snapshots *snapshots = mem_alloc(sizeof *snapshots);
    snapshots->fd = fd;
    snapshots->base = base;
    snapshots->size = (size_t)file.st_size;
    snapshots->top = TABLE_BYTES;
    adopt(snapshots, slots, count);
    return snapshots;
}

void snapshots_close(struct snapshots **snapshots)
{
    if (!*snapshots)
        return;
    munmap((*snapshots)->base, (*snapshots)->size);
    for (size_t i = 0; i < CLASSES; i++)
        free((*snapshots)->free[i].offsets);
    free(*snapshots);
    *snapshots = NULL;
}

/* --- reading and writing --- */

bool snapshots_read(const struct snapshots *snapshots, uint32_t slot, struct buf *out)
{
    const struct snapshot_half *half =
        slot < header_of(snapshots)->slots ? current_of(snapshots, slot) : NULL;
    if (!half)
        return false;
    buf_add(out, snapshots->base + half->offset, half->len);
    return true;
}

/* Backs the table's part for this slot with memory, and says in the header that it is used. */
static bool reach(struct snapshots *snapshots, uint32_t slot)
{
    size_t end = ((size_t)slot + 2) * SLOT_BYTES;
    if (end > snapshots->table_size) {
        size_t size = (end + TABLE_STEP - 1) / TABLE_STEP * TABLE_STEP;
        if (fallocate(snapshots->fd, 0, 0, (off_t)size) != 0)
            return false;
        snapshots->table_size = size;
    }
    if (header_of(snapshots)->slots <= slot) {
        header_of(snapshots)->slots = slot + 1;
        atomic_thread_fence(memory_order_seq_cst);
    }
    return true;
}

/* Gives the half a block for `len` bytes, the one it has if that fits well. */
static bool make_room(struct snapshots *snapshots, uint32_t slot, size_t which, size_t len)
{
    struct snapshot_half *half = half_of(snapshots, slot, which);
    size_t class = class_of(len);
    if (half->room >= class_room(class) && half->room / 8 <= class_room(class))
        return true;
    half_release(snapshots, half);
    uint64_t offset = block_take(snapshots, class);
    if (!offset)
        return false;
    half = half_of(snapshots, slot, which); /* the memory may have moved */
    half->offset = offset;
    half->room = (uint32_t)class_room(class);
    return true;
}

bool snapshots_write(struct snapshots *snapshots, uint32_t slot, const char *bytes, size_t len)
{
    if (slot >= SNAPSHOT_SLOTS || len > LEN_MAX || !reach(snapshots, slot))
        return false;
    const struct snapshot_half *first = half_of(snapshots, slot, 0);
    const struct snapshot_half *second = half_of(snapshots, slot, 1);
    /* Cheaper than current_of(): what this process wrote, or adopt() let stand, is whole. */
    uint64_t seq = atomic_load(&first->seq);
    size_t which = 1;
    if (atomic_load(&second->seq) > seq) {
        seq = atomic_load(&second->seq);
        which = 0;
    }
    bool fresh = !first->room && !second->room;
    half_invalidate(half_of(snapshots, slot, which));
    if (!make_room(snapshots, slot, which, len))
        return false;
    snapshots->used += fresh;
    struct snapshot_half *half = half_of(snapshots, slot, which);
    if (len)
        memcpy(snapshots->base + half->offset, bytes, len);
    half->len = (uint32_t)len;
    half->sum = half_sum(half, seq + 1, snapshots->base + half->offset);
    atomic_store_explicit(&half->seq, seq + 1, memory_order_seq_cst);
    return true;
}

void snapshots_clear(struct snapshots *snapshots, uint32_t slot)
{
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

size_t snapshots_reserved(const struct snapshots *snapshots)
{
    return snapshots->size - TABLE_BYTES;
}
