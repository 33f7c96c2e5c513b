/* Snapshots in shared memory: whole whatever happens to the writer. */
#include "cmocka_prelude.h"

#include "relay/snapshots.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static struct snapshots *reopen(int fd, struct snapshots *old, const uint32_t *slots, size_t count)
{
    struct err err;
    snapshots_close(&old);
    struct snapshots *snapshots = snapshots_open(fd, slots, count, &err);
    assert_non_null(snapshots);
    return snapshots;
}

static void assert_holds(const struct snapshots *snapshots, uint32_t slot, const char *text)
{
    struct buf out = {0};
    assert_true(snapshots_read(snapshots, slot, &out));
    assert_int_equal(out.len, strlen(text));
    if (out.len)
        assert_memory_equal(out.data, text, out.len);
    buf_free(&out);
}

static void assert_empty(const struct snapshots *snapshots, uint32_t slot)
{
    struct buf out = {0};
    assert_false(snapshots_read(snapshots, slot, &out));
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
    int fd = snapshots_create(NULL);
    struct snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_empty(snapshots, 3);
    assert_empty(snapshots, SNAPSHOT_SLOTS);
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %d", i);
        assert_true(snapshots_write(snapshots, 3, text, strlen(text)));
        assert_holds(snapshots, 3, text);
    }
    assert_true(snapshots_write(snapshots, SNAPSHOT_SLOTS - 1, "", 0));
    assert_holds(snapshots, SNAPSHOT_SLOTS - 1, "");
    assert_false(snapshots_write(snapshots, SNAPSHOT_SLOTS, "x", 1));
    assert_empty(snapshots, 2);
    snapshots_clear(snapshots, 3);
    assert_empty(snapshots, 3);
    snapshots_close(&snapshots);
    close(fd);
}

/* Every byte of the newer half, and of its block, counts. */
static void test_a_torn_one_gives_the_one_before(void **state)
{
    (void)state;
    int fd = snapshots_create(NULL);
    struct snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    static const char older[] = "{\"what\":\"older\"}";
    static const char newer[] = "{\"what\":\"newer, and longer\"}";
    const uint32_t slot = 5;
    assert_true(snapshots_write(snapshots, slot, older, strlen(older)));
    assert_true(snapshots_write(snapshots, slot, newer, strlen(newer)));
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
    assert_true(snapshots_write(snapshots, slot, "after", 5));
    assert_holds(snapshots, slot, "after");
    munmap(base, size);
    snapshots_close(&snapshots);
    close(fd);
}

static void test_both_torn_is_none(void **state)
{
    (void)state;
    int fd = snapshots_create(NULL);
    struct snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_true(snapshots_write(snapshots, 0, "one", 3));
    assert_true(snapshots_write(snapshots, 0, "two", 3));
    size_t size;
    char *base = map(fd, &size);
    base[half_with(base, 0, "one")->offset] = 'O';
    base[half_with(base, 0, "two")->offset] = 'T';
    assert_empty(snapshots, 0);
    munmap(base, size);
    snapshots_close(&snapshots);
    close(fd);
}

/* A writer that is stopped after each of its instructions: what another process reads then is the
 * one before or the new one. */
static void test_a_writer_killed_between_any_two_instructions(void **state)
{
    (void)state;
    static char older[2000], newer[3000];
    memset(older, 'o', sizeof older - 1);
    memset(newer, 'n', sizeof newer - 1);
    const uint32_t slot = 1;
    int fd = snapshots_create(NULL);
    struct snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_true(snapshots_write(snapshots, slot, "first", 5));
    assert_true(snapshots_write(snapshots, slot, older, strlen(older)));
    pid_t child = fork();
    if (child == 0) {
        struct snapshots *own = snapshots_open(fd, &slot, 1, NULL);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(!snapshots_write(own, slot, newer, strlen(newer)));
    }
    int status;
    long steps = 0;
    bool was_newer = false;
    assert_int_equal(waitpid(child, &status, 0), child);
    while (WIFSTOPPED(status)) {
        struct buf out = {0};
        assert_true(snapshots_read(snapshots, slot, &out));
        bool is_newer = out.len == strlen(newer) && memcmp(out.data, newer, out.len) == 0;
        if (!is_newer)
            assert_true(out.len == strlen(older) && memcmp(out.data, older, out.len) == 0);
        assert_false(was_newer && !is_newer);
        was_newer = is_newer;
        buf_free(&out);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        steps++;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(was_newer);
    assert_true(steps > 300);
    snapshots_close(&snapshots);
    close(fd);
}

/* What is written, cleared, grown and reopened at random is what a plain array has. */
static void test_blocks_are_never_shared(void **state)
{
    (void)state;
    enum { SLOTS = 40 };
    static char *model[SLOTS];
    int fd = snapshots_create(NULL);
    struct snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    srandom(7);
    for (int round = 0; round < 4000; round++) {
        uint32_t slot = (uint32_t)random() % SLOTS;
        long what = random() % 20;
        free(model[slot]);
        model[slot] = NULL;
        if (what < 3) {
            snapshots_clear(snapshots, slot);
        } else {
            size_t len = (size_t)random() % (what == 19 ? 300000 : 3000);
            model[slot] = malloc(len + 1);
            memset(model[slot], 'a' + (int)(random() % 26), len);
            model[slot][len] = '\0';
            assert_true(snapshots_write(snapshots, slot, model[slot], len));
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
    assert_true(snapshots_reserved(snapshots) < 48 * 1024 * 1024);
    for (uint32_t i = 0; i < SLOTS; i++) {
        snapshots_clear(snapshots, i);
        free(model[i]);
    }
    assert_int_equal(snapshots_reserved(snapshots), 0);
    snapshots_close(&snapshots);
    close(fd);
}

static void test_a_slot_that_is_not_kept_is_empty_for_the_next(void **state)
{
    (void)state;
    int fd = snapshots_create(NULL);
    struct snapshots *snapshots = reopen(fd, NULL, NULL, 0);
    assert_true(snapshots_write(snapshots, 0, "zero", 4));
    assert_true(snapshots_write(snapshots, 1, "one", 3));
    uint32_t kept = 1;
    snapshots = reopen(fd, snapshots, &kept, 1);
    assert_empty(snapshots, 0);
    assert_holds(snapshots, 1, "one");
    assert_true(snapshots_write(snapshots, 0, "new", 3));
    snapshots_clear(snapshots, 0);
    assert_true(snapshots_write(snapshots, 2, "two", 3));
    assert_holds(snapshots, 1, "one");
    snapshots_close(&snapshots);
    close(fd);
}

static void test_what_is_no_such_memory_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    int fd = memfd_create("short", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_null(snapshots_open(fd, NULL, 0, &err));
    assert_int_equal(err.code, ERR_FAILED);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_one_is_read),
        cmocka_unit_test(test_a_torn_one_gives_the_one_before),
        cmocka_unit_test(test_both_torn_is_none),
        cmocka_unit_test(test_a_writer_killed_between_any_two_instructions),
        cmocka_unit_test(test_blocks_are_never_shared),
        cmocka_unit_test(test_a_slot_that_is_not_kept_is_empty_for_the_next),
        cmocka_unit_test(test_what_is_no_such_memory_is_refused),
    };
    return cmocka_run_group_tests_name("snapshots", tests, NULL, NULL);
}
