/* Snapshots in shared memory: whole whatever happens to the writer. */
#include "cmocka_prelude.h"

#include "relay/keeper/keeper_snapshots.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static struct keeper_snapshots *reopen(int fd, struct keeper_snapshots *old, const uint32_t *slots,
                                       size_t count)
{
    struct err err;
    keeper_snapshots_close(&old);
    struct keeper_snapshots *snapshots = keeper_snapshots_open(fd, slots, count, &err);
    assert_non_null(snapshots);
    return snapshots;
}

static void assert_holds(const struct keeper_snapshots *snapshots, uint32_t slot, const char *text)
{
    struct buf out = {0};
    assert_true(keeper_snapshots_read(snapshots, slot, &out));
    assert_int_equal(out.len, strlen(text));
    if (out.len)
        assert_memory_equal(out.data, text, out.len);
    buf_free(&out);
}

static void assert_empty(const struct keeper_snapshots *snapshots, uint32_t slot)
{
    struct buf out = {0};
    assert_false(keeper_snapshots_read(snapshots, slot, &out));
    assert_int_equal(out.len, 0);
}

/* The half that `text` was written to, found by what it points to. */
static struct snapshot_half *half_with(char *base, uint32_t slot, const char *text)
{
    struct snapshot_half *half = (struct snapshot_half *)(void *)base + (slot + 1) * 2;
    for (int i = 0; i < 2; i++, half++)
        if (half->seq && half->len == strlen(text) &&
            memcmp(base + half->offset, text, half->len) == 0)
            return half;
    fail();
    return NULL;
}

static char *map(int fd, size_t *size)
{
    *size = (size_t)lseek(fd, 0, SEEK_END);
    char *base = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(base, MAP_FAILED);
    return base;
}

static void test_the_last_one_is_read(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_empty(snapshots, 3);
    assert_empty(snapshots, SNAPSHOT_SLOTS);
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %d", i);
        assert_true(keeper_snapshots_write(snapshots, 3, text, strlen(text), 0));
        assert_holds(snapshots, 3, text);
    }
    assert_true(keeper_snapshots_write(snapshots, SNAPSHOT_SLOTS - 1, "", 0, 0));
    assert_holds(snapshots, SNAPSHOT_SLOTS - 1, "");
    assert_false(keeper_snapshots_write(snapshots, SNAPSHOT_SLOTS, "x", 1, 0));
    assert_empty(snapshots, 2);
    keeper_snapshots_clear(snapshots, 3);
    assert_empty(snapshots, 3);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* Every byte of the newer half, and of its block, counts. */
static void test_a_torn_one_gives_the_one_before(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    static const char older[] = "{\"what\":\"older\"}";
    static const char newer[] = "{\"what\":\"newer, and longer\"}";
    const uint32_t slot = 5;
    assert_true(keeper_snapshots_write(snapshots, slot, older, strlen(older), 0));
    assert_true(keeper_snapshots_write(snapshots, slot, newer, strlen(newer), 0));
    size_t size;
    char *base = map(fd, &size);
    struct snapshot_half *half = half_with(base, slot, newer);
    char *header = (char *)half;
    for (size_t i = 0; i < sizeof *half; i++) {
        header[i] ^= 0x55;
        assert_holds(snapshots, slot, older);
        header[i] ^= 0x55;
    }
    for (size_t i = 0; i < strlen(newer); i++) {
        base[half->offset + i] ^= 1;
        assert_holds(snapshots, slot, older);
        base[half->offset + i] ^= 1;
    }
    assert_holds(snapshots, slot, newer);
    /* The next relay goes on from there, and never from the torn one. */
    base[half->offset] ^= 1;
    snapshots = reopen(fd, snapshots, &slot, 1);
    assert_holds(snapshots, slot, older);
    assert_true(keeper_snapshots_write(snapshots, slot, "after", 5, 0));
    assert_holds(snapshots, slot, "after");
    munmap(base, size);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

static void test_both_torn_is_none(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_true(keeper_snapshots_write(snapshots, 0, "one", 3, 0));
    assert_true(keeper_snapshots_write(snapshots, 0, "two", 3, 0));
    size_t size;
    char *base = map(fd, &size);
    base[half_with(base, 0, "one")->offset] = 'O';
    base[half_with(base, 0, "two")->offset] = 'T';
    assert_empty(snapshots, 0);
    munmap(base, size);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* Every byte of a piece counts: what comes before it is there all the same. */
static void test_a_torn_piece_is_none(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    const uint32_t slot = 5;
    assert_false(keeper_snapshots_add(snapshots, slot, "x", 1));
    assert_true(keeper_snapshots_write(snapshots, slot, "base", 4, 400));
    assert_true(keeper_snapshots_add(snapshots, slot, " and one", 8));
    assert_true(keeper_snapshots_add(snapshots, slot, " and another", 12));
    assert_holds(snapshots, slot, "base and one and another");
    size_t size;
    char *base = map(fd, &size);
    struct snapshot_half *half = half_with(base, slot, "base");
    char *second = base + half->offset + 8 + 16 + 8;
    for (size_t i = 0; i < 16 + 12; i++) {
        second[i] ^= 0x55;
        assert_holds(snapshots, slot, "base and one");
        second[i] ^= 0x55;
    }
    assert_holds(snapshots, slot, "base and one and another");
    /* Nothing of it comes back when the block is used again. */
    assert_true(keeper_snapshots_write(snapshots, slot, "othr", 4, 400));
    assert_true(keeper_snapshots_write(snapshots, slot, "base", 4, 400));
    assert_holds(snapshots, slot, "base");
    assert_true(keeper_snapshots_add(snapshots, slot, " and one", 8));
    assert_holds(snapshots, slot, "base and one");
    /* Another process does not add to what it has not written. */
    snapshots = reopen(fd, snapshots, &slot, 1);
    assert_holds(snapshots, slot, "base and one");
    assert_false(keeper_snapshots_add(snapshots, slot, "x", 1));
    munmap(base, size);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

static void test_pieces_to_the_end_of_the_block(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    struct buf all = {0};
    char piece[64];
    for (size_t spare = 0; spare < 3000; spare += 700) {
        size_t count = 0;
        buf_clear(&all, SIZE_MAX);
        buf_add_string(&all, "start");
        assert_true(keeper_snapshots_write(snapshots, 1, "start", 5, spare));
        for (size_t len = 1; len < 60; len += 7) {
            memset(piece, 'a' + (int)len % 26, len);
            piece[len] = '\0';
            if (!keeper_snapshots_add(snapshots, 1, piece, len))
                continue;
            count++;
            buf_add_string(&all, piece);
            assert_holds(snapshots, 1, all.data);
        }
        assert_true(count >= (spare ? 9U : 1U));
    }
    buf_free(&all);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* Steps a child through an act on the slot, instruction by instruction: what another process reads
 * is `before`, then `after`. */
static void check_every_instruction(struct keeper_snapshots *snapshots, pid_t child, uint32_t slot,
                                    const char *before, const char *after)
{
    int status;
    long steps = 0;
    bool was_after = false;
    assert_int_equal(waitpid(child, &status, 0), child);
    while (WIFSTOPPED(status)) {
        struct buf out = {0};
        assert_true(keeper_snapshots_read(snapshots, slot, &out));
        bool is_after = out.len == strlen(after) && memcmp(out.data, after, out.len) == 0;
        if (!is_after)
            assert_true(out.len == strlen(before) && memcmp(out.data, before, out.len) == 0);
        assert_false(was_after && !is_after);
        was_after = is_after;
        buf_free(&out);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        steps++;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(was_after);
    assert_true(steps > 300);
}

/* A writer that is killed after any of its instructions. */
static void test_a_writer_killed_between_any_two_instructions(void **state)
{
    (void)state;
    static char older[2000], newer[3000], more[700], both[4000];
    memset(older, 'o', sizeof older - 1);
    memset(newer, 'n', sizeof newer - 1);
    memset(more, 'm', sizeof more - 1);
    snprintf(both, sizeof both, "%s%s", newer, more);
    const uint32_t slot = 1;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_true(keeper_snapshots_write(snapshots, slot, "first", 5, 0));
    assert_true(keeper_snapshots_write(snapshots, slot, older, strlen(older), 0));
    pid_t child = fork();
    if (child == 0) {
        struct keeper_snapshots *own = keeper_snapshots_open(fd, &slot, 1, NULL);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(!keeper_snapshots_write(own, slot, newer, strlen(newer), 0));
    }
    check_every_instruction(snapshots, child, slot, older, newer);
    /* The same for what is added. */
    child = fork();
    if (child == 0) {
        struct keeper_snapshots *own = keeper_snapshots_open(fd, &slot, 1, NULL);
        bool written = keeper_snapshots_write(own, slot, newer, strlen(newer), strlen(more) + 64);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(!written || !keeper_snapshots_add(own, slot, more, strlen(more)));
    }
    check_every_instruction(snapshots, child, slot, newer, both);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* What is written, cleared, grown and reopened at random is what a plain array has. */
static void test_blocks_are_never_shared(void **state)
{
    (void)state;
    enum { SLOTS = 40 };
    static char *model[SLOTS];
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    srandom(7);
    for (int round = 0; round < 4000; round++) {
        uint32_t slot = (uint32_t)random() % SLOTS;
        long what = random() % 20;
        free(model[slot]);
        model[slot] = NULL;
        if (what < 3) {
            keeper_snapshots_clear(snapshots, slot);
        } else {
            size_t len = (size_t)random() % (what == 19 ? 300000 : 3000);
            model[slot] = malloc(len + 1);
            memset(model[slot], 'a' + (int)(random() % 26), len);
            model[slot][len] = '\0';
            assert_true(keeper_snapshots_write(snapshots, slot, model[slot], len, 0));
        }
        if (round % 50 == 0) {
            uint32_t slots[SLOTS];
            size_t count = 0;
            for (uint32_t i = 0; i < SLOTS; i++)
                if (model[i])
                    slots[count++] = i;
            snapshots = reopen(fd, snapshots, slots, count);
        }
        for (uint32_t i = 0; i < SLOTS && round % 25 == 0; i++) {
            if (model[i])
                assert_holds(snapshots, i, model[i]);
            else
                assert_empty(snapshots, i);
        }
    }
    /* At most 40 × 2 halves of some hundred KB were ever in use at once. */
    assert_true(keeper_snapshots_reserved(snapshots) < 48 * 1024 * 1024);
    for (uint32_t i = 0; i < SLOTS; i++) {
        keeper_snapshots_clear(snapshots, i);
        free(model[i]);
    }
    assert_int_equal(keeper_snapshots_reserved(snapshots), 0);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* A block that is used again has another slot's piece where the first of its own would be. */
static void test_a_piece_of_an_earlier_slot_is_none(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_true(keeper_snapshots_write(snapshots, 2, "other", 5, 0)); /* keeps the memory in use */
    assert_true(keeper_snapshots_write(snapshots, 0, "base", 4, 400));
    assert_true(keeper_snapshots_add(snapshots, 0, " and more", 9));
    assert_holds(snapshots, 0, "base and more");
    keeper_snapshots_clear(snapshots, 0);
    assert_true(keeper_snapshots_write(snapshots, 1, "othr", 4, 400));
    assert_holds(snapshots, 1, "othr");
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* The memory in front of the blocks that an earlier writer left serves others. */
static void test_a_gap_is_used_after_a_restart(void **state)
{
    (void)state;
    static char bytes[(1 << 20) - 64];
    const uint32_t kept = 1;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(keeper_snapshots_write(snapshots, i / 2, bytes, sizeof bytes, 0));
    snapshots = reopen(fd, snapshots, &kept, 1);
    size_t reserved = keeper_snapshots_reserved(snapshots);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(keeper_snapshots_write(snapshots, 0, bytes, sizeof bytes, 0));
    assert_int_equal(keeper_snapshots_reserved(snapshots), reserved);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* The block of a slot whose snapshot has shrunk serves others. */
static void test_a_small_one_gives_a_large_block_back(void **state)
{
    (void)state;
    enum { SLOTS = 16, LARGE = 1 << 20, MEDIUM = 1 << 18 };
    static char bytes[LARGE - 64];
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    static const size_t sizes[] = {sizeof bytes, 100};
    for (size_t size = 0; size < 2; size++)
        for (uint32_t i = 0; i < 2 * SLOTS; i++) /* both halves of each */
            assert_true(keeper_snapshots_write(snapshots, i / 2, bytes, sizes[size], 0));
    size_t reserved = keeper_snapshots_reserved(snapshots);
    for (uint32_t i = 0; i < 4 * 2 * SLOTS; i++)
        assert_true(keeper_snapshots_write(snapshots, SLOTS + i / 2, bytes, MEDIUM - 64, 0));
    assert_true(keeper_snapshots_reserved(snapshots) < reserved + 4 * LARGE);
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* When nothing is in use the memory goes back to the system; no block from before is one after. */
static void test_memory_that_was_given_back_is_used_anew(void **state)
{
    (void)state;
    enum { SLOTS = 3 };
    static char texts[SLOTS][5000];
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        memset(texts[slot], 'a' + (int)slot, 40 + 2000 * slot);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 2 * SLOTS; i++) /* both halves of each */
            assert_true(
                keeper_snapshots_write(snapshots, i / 2, texts[i / 2], strlen(texts[i / 2]), 0));
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            assert_holds(snapshots, slot, texts[slot]);
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            keeper_snapshots_clear(snapshots, slot);
        assert_int_equal(keeper_snapshots_reserved(snapshots), 0);
    }
    keeper_snapshots_close(&snapshots);
    close(fd);
}

static void test_a_slot_that_is_not_kept_is_empty_for_the_next(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_true(keeper_snapshots_write(snapshots, 0, "zero", 4, 0));
    assert_true(keeper_snapshots_write(snapshots, 1, "one", 3, 0));
    uint32_t kept = 1;
    snapshots = reopen(fd, snapshots, &kept, 1);
    assert_empty(snapshots, 0);
    assert_holds(snapshots, 1, "one");
    assert_true(keeper_snapshots_write(snapshots, 0, "new", 3, 0));
    keeper_snapshots_clear(snapshots, 0);
    assert_true(keeper_snapshots_write(snapshots, 2, "two", 3, 0));
    assert_holds(snapshots, 1, "one");
    keeper_snapshots_close(&snapshots);
    close(fd);
}

/* The count of slots in the header is as good as lost: the slots behind it are new ones. */
static void test_a_damaged_count_of_slots(void **state)
{
    (void)state;
    int fd = keeper_snapshots_create(NULL);
    struct keeper_snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    const uint32_t slots[] = {0, 7};
    char large[5000];
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 3; i++)
        assert_true(keeper_snapshots_write(snapshots, 7, large, sizeof large, 0));
    assert_true(keeper_snapshots_write(snapshots, 0, "0", 1, 0));
    const uint32_t few = 1;
    assert_int_equal(pwrite(fd, &few, sizeof few, 0), sizeof few);
    snapshots = reopen(fd, snapshots, slots, 2);
    assert_holds(snapshots, 0, "0");
    assert_empty(snapshots, 7);
    assert_true(keeper_snapshots_write(snapshots, 8, "8", 1, 0));
    assert_empty(snapshots, 7);
    assert_true(keeper_snapshots_write(snapshots, 7, "7", 1, 0));
    assert_holds(snapshots, 0, "0");
    assert_holds(snapshots, 7, "7");
    assert_holds(snapshots, 8, "8");
    keeper_snapshots_close(&snapshots);
    close(fd);
}

static void test_what_is_no_such_memory_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    int fd = memfd_create("short", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_null(keeper_snapshots_open(fd, NULL, 0, &err));
    assert_int_equal(err.code, ERR_FAILED);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_one_is_read),
        cmocka_unit_test(test_a_torn_one_gives_the_one_before),
        cmocka_unit_test(test_both_torn_is_none),
        cmocka_unit_test(test_a_torn_piece_is_none),
        cmocka_unit_test(test_pieces_to_the_end_of_the_block),
        cmocka_unit_test(test_a_writer_killed_between_any_two_instructions),
        cmocka_unit_test(test_blocks_are_never_shared),
        cmocka_unit_test(test_a_piece_of_an_earlier_slot_is_none),
        cmocka_unit_test(test_a_gap_is_used_after_a_restart),
        cmocka_unit_test(test_a_small_one_gives_a_large_block_back),
        cmocka_unit_test(test_memory_that_was_given_back_is_used_anew),
        cmocka_unit_test(test_a_slot_that_is_not_kept_is_empty_for_the_next),
        cmocka_unit_test(test_a_damaged_count_of_slots),
        cmocka_unit_test(test_what_is_no_such_memory_is_refused),
    };
    return cmocka_run_group_tests_name("snapshots", tests, NULL, NULL);
}
