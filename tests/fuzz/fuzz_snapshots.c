/* The shared memory of snapshots: an input is a row of steps (write, clear, open again as the next
 * relay does, damage a few bytes between two relays). Whatever is damaged, a slot gives one of the
 * texts that were written to it since it was cleared, or none. */
#include "fuzz.h"

#include "relay/keeper/keeper_snapshots.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 4, STEPS_MAX = 200, DAMAGE_MAX = 8 };

static struct keeper_snapshots *snapshots;
static int memory;
static uint32_t written[SLOTS]; /* texts so far */
static uint32_t cleared[SLOTS]; /* how many were, at the last clear */
static bool damaged;

/* A text says its slot and its number, and is as long as both make it. */
static size_t make_text(char *out, uint32_t slot, uint32_t number)
{
    size_t len = sizeof slot + sizeof number + (size_t)(number * 37 + slot * 101) % 700;
    memset(out, (int)(number + slot), len);
    memcpy(out, &slot, sizeof slot);
    memcpy(out + sizeof slot, &number, sizeof number);
    return len;
}

static void check_slot(uint32_t slot)
{
    struct buf got = {0};
    char want[1024];
    uint32_t number;
    bool there = keeper_snapshots_read(snapshots, slot, &got);
    check(damaged || there == (written[slot] > cleared[slot]));
    if (there) {
        memcpy(&number, got.data + sizeof slot, sizeof number);
        check(number < written[slot] && number >= cleared[slot]);
        check(damaged || number == written[slot] - 1);
        size_t len = make_text(want, slot, number);
        check(got.len == len && memcmp(got.data, want, len) == 0);
    }
    buf_free(&got);
}

static void write_slot(uint32_t slot)
{
    char text[1024];
    size_t len = make_text(text, slot, written[slot]++);
    check(keeper_snapshots_write(snapshots, slot, text, len, 0));
}

static void clear_slot(uint32_t slot)
{
    keeper_snapshots_clear(snapshots, slot);
    /* A header that was damaged may have no such slot until it is damaged again. */
    if (!damaged)
        cleared[slot] = written[slot];
}

static void damage(const uint8_t *data, size_t count)
{
    static const size_t table = 2 * (SLOTS + 1) * sizeof(struct snapshot_half);
    size_t blocks = 2 * ((size_t)SNAPSHOT_SLOTS + 1) * sizeof(struct snapshot_half);
    struct stat file;
    check(fstat(memory, &file) == 0);
    for (size_t i = 0; i + 3 <= count; i += 3) {
        size_t at = (size_t)data[i] << 8 | data[i + 1];
        at = at & 0x8000 ? blocks + at % 8192 : at % table;
        if (at < (size_t)file.st_size && pwrite(memory, &data[i + 2], 1, (off_t)at) == 1)
            damaged = true;
    }
}

static void open_again(void)
{
    static const uint32_t slots[SLOTS] = {0, 1, 2, 3};
    struct err err = {0};
    keeper_snapshots_close(&snapshots);
    snapshots = keeper_snapshots_open(memory, slots, SLOTS, &err);
    check(snapshots);
}

static void step(const uint8_t **data, size_t *left)
{
    uint8_t what = *(*data)++;
    uint32_t slot = what % SLOTS;
    size_t count = what / 16 % (DAMAGE_MAX + 1);
    (*left)--;
    switch (what / SLOTS % 4) {
    case 0:
    case 1:
        write_slot(slot);
        break;
    case 2:
        clear_slot(slot);
        break;
    default:
        count = 3 * count < *left ? 3 * count : *left;
        damage(*data, count);
        *data += count;
        *left -= count;
        open_again();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    memory = keeper_snapshots_create(&err);
    check(memory >= 0);
    memset(written, 0, sizeof written);
    memset(cleared, 0, sizeof cleared);
    damaged = false;
    open_again();
    for (int i = 0; size && i < STEPS_MAX; i++) {
        step(&data, &size);
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            check_slot(slot);
    }
    keeper_snapshots_close(&snapshots);
    close(memory);
    return 0;
}
