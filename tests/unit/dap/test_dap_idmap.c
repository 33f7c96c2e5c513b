/* An id of the client's is one debuggee's id, or nobody's: never another's. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "dap/idmap.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LAST_ID INT64_C(0x7FFFFFFF)

static void expect(const struct idmap *map, enum id_kind kind, int64_t id, uint32_t slot,
                   int64_t foreign, int64_t thread)
{
    struct idmap_entry entry = {0};
    assert_true(idmap_in(map, kind, id, &entry));
    assert_int_equal(entry.slot, slot);
    assert_int_equal(entry.foreign, foreign);
    assert_int_equal(entry.thread, thread);
}

static void expect_unknown(const struct idmap *map, enum id_kind kind, int64_t id)
{
    struct idmap_entry entry;
    assert_false(idmap_in(map, kind, id, &entry));
}

static void test_one_debuggee_is_the_identity(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    expect_unknown(map, ID_FRAME, 7);
    for (int64_t id = 1; id < ID_FIRST_MAPPED; id = id * 3 + 1)
        for (int kind = 0; kind < ID_KIND_COUNT; kind++)
            assert_int_equal(idmap_out(map, 0, (enum id_kind)kind, id, 2), id);
    expect(map, ID_FRAME, 4, 0, 4, 2);
    expect_unknown(map, ID_FRAME, 5); /* it never gave this one */
    /* What the relay numbers itself is far above. */
    int64_t high = idmap_out(map, 0, ID_VARIABLES, 0x40000000, 2);
    assert_int_equal(high, ID_FIRST_MAPPED);
    expect(map, ID_VARIABLES, high, 0, 0x40000000, 2);
    expect_unknown(map, ID_VARIABLES, 0x40000000);
    idmap_destroy(&map);
    assert_null(map);
    idmap_destroy(&map);
}

static void test_nothing_stays_nothing(void **state)
{
    (void)state;
    static const int64_t none[] = {0, -1, INT64_MIN, LAST_ID + 1, INT64_MAX};
    struct idmap *map = idmap_create();
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(idmap_out(map, 3, ID_VARIABLES, none[i], 1), none[i]);
        expect_unknown(map, ID_VARIABLES, none[i]);
        idmap_end_stop(map, 3, none[i]);
    }
    assert_int_equal(idmap_count(map), 0);
    assert_true(idmap_out(map, 3, ID_VARIABLES, LAST_ID, 1) >= ID_FIRST_MAPPED);
    idmap_destroy(&map);
}

static void test_others_have_numbers_of_their_own(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    int64_t zero = idmap_out(map, 0, ID_FRAME, 1, 1), one = idmap_out(map, 1, ID_FRAME, 1, 1),
            two = idmap_out(map, 2, ID_FRAME, 1, 1);
    assert_true(zero == 1 && one == ID_FIRST_MAPPED && two == ID_FIRST_MAPPED + 1);
    assert_int_equal(idmap_out(map, 1, ID_FRAME, 1, 9), one); /* where it was is where it is */
    assert_int_equal(idmap_out(map, 1, ID_THREAD, 1, 0), ID_FIRST_MAPPED); /* another kind */
    expect(map, ID_FRAME, two, 2, 1, 1);
    expect(map, ID_THREAD, ID_FIRST_MAPPED, 1, 1, 1);
    expect_unknown(map, ID_THREAD, two);
    assert_int_equal(idmap_count(map), 4);
    idmap_destroy(&map);
}

static void test_a_stop_ends_with_its_ids(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    int64_t frame = idmap_out(map, 5, ID_FRAME, 10, 1), other = idmap_out(map, 5, ID_FRAME, 11, 2),
            thread = idmap_out(map, 5, ID_THREAD, 1, 1),
            neighbour = idmap_out(map, 6, ID_FRAME, 10, 1),
            source = idmap_out(map, 5, ID_SOURCE, 10, 1);
    int64_t lasting = idmap_out(map, 5, ID_VARIABLES, 10, 0);
    idmap_end_stop(map, 5, 1);
    idmap_end_stop(map, 5, 1);
    idmap_end_stop(map, 5, 77);
    idmap_end_stop(map, 500, 1);
    expect_unknown(map, ID_FRAME, frame);
    expect(map, ID_FRAME, other, 5, 11, 2);
    expect(map, ID_FRAME, neighbour, 6, 10, 1);
    expect(map, ID_THREAD, thread, 5, 1, 1);
    expect(map, ID_SOURCE, source, 5, 10, 0);
    expect(map, ID_VARIABLES, lasting, 5, 10, 0);
    assert_int_equal(idmap_count(map), 5);
    /* The debuggee uses the number again: to the client it is a new one. */
    int64_t again = idmap_out(map, 5, ID_FRAME, 10, 1);
    assert_true(again > neighbour);
    expect(map, ID_FRAME, again, 5, 10, 1);
    idmap_destroy(&map);
}

static void test_a_slot_is_used_again(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    int64_t first[2], then[2];
    for (uint32_t slot = 0; slot < 2; slot++) {
        first[slot] = idmap_out(map, slot, ID_THREAD, 1, 0);
        idmap_out(map, slot, ID_FRAME, 2, 1);
    }
    for (uint32_t slot = 0; slot < 2; slot++) {
        idmap_drop(map, slot);
        idmap_drop(map, slot);
    }
    idmap_drop(map, 100);
    assert_int_equal(idmap_count(map), 0);
    for (uint32_t slot = 0; slot < 2; slot++) {
        then[slot] = idmap_out(map, slot, ID_THREAD, 1, 0);
        assert_true(then[slot] >= ID_FIRST_MAPPED && then[slot] != first[slot]);
        expect(map, ID_THREAD, then[slot], slot, 1, 1);
        expect_unknown(map, ID_THREAD, first[slot]);
    }
    idmap_destroy(&map);
}

static void test_numbers_start_again_at_2_31(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    idmap_start(map, LAST_ID - 1);
    int64_t stays = idmap_out(map, 1, ID_FRAME, 1, 9);
    assert_int_equal(stays, LAST_ID - 1);
    assert_int_equal(idmap_out(map, 1, ID_FRAME, 2, 1), LAST_ID);
    idmap_end_stop(map, 1, 1);
    assert_int_equal(idmap_out(map, 1, ID_FRAME, 3, 9), ID_FIRST_MAPPED);
    assert_int_equal(idmap_out(map, 2, ID_FRAME, 1, 1), ID_FIRST_MAPPED + 1);
    idmap_destroy(&map);

    /* Those in use are passed over. */
    map = idmap_create();
    idmap_start(map, LAST_ID);
    assert_int_equal(idmap_out(map, 1, ID_FRAME, 1, 1), LAST_ID);
    assert_int_equal(idmap_out(map, 1, ID_FRAME, 2, 9), ID_FIRST_MAPPED);
    idmap_start(map, LAST_ID);
    assert_int_equal(idmap_out(map, 1, ID_FRAME, 3, 1), ID_FIRST_MAPPED + 1);
    expect(map, ID_FRAME, LAST_ID, 1, 1, 1);
    expect(map, ID_FRAME, ID_FIRST_MAPPED, 1, 2, 9);
    idmap_destroy(&map);
}

static void test_many_ids_of_one_name(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    int64_t before = idmap_out(map, 1, ID_BREAKPOINT, 1, 0), id = idmap_number(map, ID_BREAKPOINT);
    assert_true(id > before);
    for (uint32_t slot = 0; slot < 3; slot++)
        idmap_alias(map, slot, ID_BREAKPOINT, 1, id);
    for (uint32_t slot = 0; slot < 3; slot++)
        assert_int_equal(idmap_out(map, slot, ID_BREAKPOINT, 1, 0), id);
    assert_true(idmap_out(map, 1, ID_BREAKPOINT, 2, 0) > id);
    assert_int_equal(idmap_out(map, 1, ID_FRAME, 1, 0), ID_FIRST_MAPPED);
    expect_unknown(map, ID_BREAKPOINT, id);
    expect_unknown(map, ID_BREAKPOINT, before);
    idmap_alias(map, 2, ID_BREAKPOINT, 0, id); /* nothing stays nothing */
    assert_int_equal(idmap_out(map, 2, ID_BREAKPOINT, 0, 0), 0);
    for (uint32_t slot = 0; slot < 3; slot++)
        idmap_drop(map, slot);
    assert_int_equal(idmap_count(map), 0);
    assert_true(idmap_out(map, 1, ID_BREAKPOINT, 1, 0) > id + 1);
    idmap_destroy(&map);
}

/* --- a model beside the map --- */

enum { SLOTS = 5, THREADS = 3, FOREIGN = 60, STEPS = 60000 };

struct model {
    int64_t id[SLOTS][ID_KIND_COUNT][FOREIGN];
    int64_t thread[SLOTS][ID_KIND_COUNT][FOREIGN];
    int64_t newest[ID_KIND_COUNT];
    size_t count;
};

static void model_end(struct model *model, uint32_t slot, int64_t thread, bool all)
{
    for (int kind = 0; kind < ID_KIND_COUNT; kind++) {
        for (int64_t foreign = 0; foreign < FOREIGN; foreign++) {
            int64_t *id = &model->id[slot][kind][foreign];
            if (*id && (all || model->thread[slot][kind][foreign] == thread)) {
                model->count--;
                *id = 0;
            }
        }
    }
}

static void random_out(struct idmap *map, struct model *model, uint32_t slot, unsigned *seed)
{
    int kind = rand_r(seed) % ID_KIND_COUNT;
    int64_t foreign = 1 + rand_r(seed) % (FOREIGN - 1);
    int64_t thread = rand_r(seed) % (THREADS + 1), *id = &model->id[slot][kind][foreign];
    int64_t given = idmap_out(map, slot, (enum id_kind)kind, foreign * 7, thread);
    if (*id) {
        assert_int_equal(given, *id);
        return;
    }
    bool lasts =
        kind == ID_THREAD || kind == ID_SOURCE || kind == ID_BREAKPOINT || kind == ID_MODULE;
    model->thread[slot][kind][foreign] = lasts ? 0 : thread;
    model->count++;
    *id = given;
    if (given == foreign * 7 && slot == 0)
        return;
    assert_true(given > model->newest[kind]); /* never one that was there before */
    model->newest[kind] = given;
}

static void expect_model(const struct idmap *map, const struct model *model)
{
    assert_int_equal(idmap_count(map), model->count);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        for (int kind = 0; kind < ID_KIND_COUNT; kind++) {
            for (int64_t foreign = 0; foreign < FOREIGN; foreign++) {
                int64_t id = model->id[slot][kind][foreign];
                int64_t thread = model->thread[slot][kind][foreign];
                if (id)
                    expect(map, (enum id_kind)kind, id, slot, foreign * 7,
                           kind == ID_THREAD ? foreign * 7 : thread);
            }
        }
    }
}

static void test_like_the_model(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    struct model *model = mem_alloc(sizeof *model);
    unsigned seed = 7;
    for (int i = 0; i < STEPS; i++) {
        uint32_t slot = (uint32_t)rand_r(&seed) % SLOTS;
        int choice = rand_r(&seed) % 1000;
        if (choice < 20) {
            int64_t thread = 1 + rand_r(&seed) % THREADS;
            idmap_end_stop(map, slot, thread);
            model_end(model, slot, thread, false);
        } else if (choice == 20) {
            idmap_drop(map, slot);
            model_end(model, slot, 0, true);
        } else {
            random_out(map, model, slot, &seed);
        }
        if (i % 100 == 0)
            expect_model(map, model);
    }
    expect_model(map, model);
    free(model);
    idmap_destroy(&map);
}

/* --- size and speed --- */

/* 0 where a sanitizer has replaced malloc. */
static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fill(struct idmap *map, uint32_t slots, int64_t ids)
{
    for (int64_t foreign = 1; foreign <= ids; foreign++)
        for (uint32_t slot = 0; slot < slots; slot++)
            idmap_out(map, slot, ID_VARIABLES, foreign, 1 + foreign % 4);
}

/* Were anything linear, 100 times as many would be 100 times as slow each: minutes of processor
 * time, not the five seconds that it is under a sanitizer. */
static void test_a_thousand_debuggees(void **state)
{
    (void)state;
    enum { DEBUGGEES = 1000, IDS = 10000 };
    struct idmap *map = idmap_create();
    size_t before = memory_in_use();
    double start = cpu_s();
    fill(map, DEBUGGEES, IDS);
    double filled = cpu_s();
    assert_int_equal(idmap_count(map), (size_t)DEBUGGEES * IDS);
    size_t bytes = memory_in_use() - before;
    expect(map, ID_VARIABLES, ID_FIRST_MAPPED, 1, 1, 2);
    for (uint32_t slot = 0; slot < DEBUGGEES; slot++)
        idmap_end_stop(map, slot, 1);
    assert_int_equal(idmap_count(map), (size_t)DEBUGGEES * IDS / 4 * 3);
    for (uint32_t slot = 0; slot < DEBUGGEES; slot++)
        idmap_drop(map, slot);
    assert_int_equal(idmap_count(map), 0);
    print_message("%.0f ns and %.1f bytes an id, %.0f ns to free it\n",
                  1e9 * (filled - start) / DEBUGGEES / IDS, (double)bytes / DEBUGGEES / IDS,
                  1e9 * (cpu_s() - filled) / DEBUGGEES / IDS);
    assert_true(bytes < (size_t)DEBUGGEES * IDS * 50);
    assert_true(filled - start < 60);
    idmap_destroy(&map);
}

/* What a session of days does: every stop has its ids, and they go. */
static void test_a_long_session_takes_no_more(void **state)
{
    (void)state;
    struct idmap *map = idmap_create();
    int64_t held = idmap_out(map, 1, ID_VARIABLES, 1, 1);
    size_t before = memory_in_use();
    for (int stop = 0; stop < 20000; stop++) {
        for (int64_t foreign = 1; foreign <= 50; foreign++)
            idmap_out(map, 2, ID_VARIABLES, stop * INT64_C(50) + foreign, 3);
        idmap_end_stop(map, 2, 3);
    }
    assert_int_equal(idmap_count(map), 1);
    expect(map, ID_VARIABLES, held, 1, 1, 1);
    assert_true(memory_in_use() - before < 65536);
    idmap_end_stop(map, 1, 1);
    assert_int_equal(idmap_count(map), 0);
    idmap_destroy(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_debuggee_is_the_identity),
        cmocka_unit_test(test_nothing_stays_nothing),
        cmocka_unit_test(test_others_have_numbers_of_their_own),
        cmocka_unit_test(test_a_stop_ends_with_its_ids),
        cmocka_unit_test(test_a_slot_is_used_again),
        cmocka_unit_test(test_numbers_start_again_at_2_31),
        cmocka_unit_test(test_many_ids_of_one_name),
        cmocka_unit_test(test_like_the_model),
        cmocka_unit_test(test_a_thousand_debuggees),
        cmocka_unit_test(test_a_long_session_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
