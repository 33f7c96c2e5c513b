/* Every request is answered exactly once, whatever order the answers come in. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "dap/seqmap.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static int one, two; /* owners */

static struct upstream_seq add(struct seqmap *map, void *owner, int64_t client)
{
    return seqmap_add(map, owner, (struct client_seq){client}, "next", NULL);
}

static void test_what_was_noted_comes_back(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    int tag;
    struct pending got = {0};
    struct upstream_seq seq = seqmap_add(map, &one, (struct client_seq){41}, "evaluate", &tag);
    assert_int_equal(seq.value, 1);
    assert_int_equal(seqmap_count(map), 1);
    assert_true(seqmap_take(map, seq, &got));
    assert_int_equal(got.upstream.value, 1);
    assert_int_equal(got.client.value, 41);
    assert_ptr_equal(got.owner, &one);
    assert_ptr_equal(got.tag, &tag);
    assert_string_equal(got.command, "evaluate");
    assert_int_equal(seqmap_count(map), 0);
    seqmap_destroy(&map);
    assert_null(map);
    seqmap_destroy(&map);
}

static void test_an_answer_is_taken_once(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    struct pending got;
    struct upstream_seq a = add(map, &one, 1), b = add(map, &one, 2);
    assert_true(seqmap_take(map, b, &got));
    assert_false(seqmap_take(map, b, &got));
    assert_true(seqmap_take(map, a, &got));
    assert_false(seqmap_take(map, a, &got));
    assert_false(seqmap_take(map, b, &got));
    assert_false(seqmap_take_oldest(map, NULL, true, &got));
    seqmap_destroy(&map);
}

static void test_what_was_not_asked_is_not_taken(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    static const int64_t never[] = {0, -1, 2, 4, INT64_MAX, INT64_MIN};
    struct pending got;
    assert_false(seqmap_take(map, (struct upstream_seq){1}, &got));
    assert_int_equal(add(map, &one, 7).value, 1);
    assert_int_equal(seqmap_next(map).value, 2); /* wants no answer */
    assert_int_equal(add(map, &one, 8).value, 3);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_false(seqmap_take(map, (struct upstream_seq){never[i]}, &got));
    assert_int_equal(seqmap_count(map), 2);
    seqmap_destroy(&map);
}

static void test_the_oldest_first(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    struct pending got;
    add(map, &one, 1);
    add(map, &two, 2);
    add(map, NULL, 3);
    struct upstream_seq fourth = add(map, &one, 4);
    add(map, &one, 5);
    assert_true(seqmap_take_oldest(map, &one, false, &got));
    assert_int_equal(got.client.value, 1);
    assert_true(seqmap_take(map, fourth, &got));
    assert_true(seqmap_take_oldest(map, &one, false, &got));
    assert_int_equal(got.client.value, 5);
    assert_false(seqmap_take_oldest(map, &one, false, &got));
    /* NULL is an owner like any other: the relay. */
    assert_true(seqmap_take_oldest(map, NULL, false, &got));
    assert_int_equal(got.client.value, 3);
    assert_false(seqmap_take_oldest(map, NULL, false, &got));
    assert_true(seqmap_take_oldest(map, NULL, true, &got));
    assert_int_equal(got.client.value, 2);
    assert_false(seqmap_take_oldest(map, NULL, true, &got));
    seqmap_destroy(&map);
}

static void test_a_long_command_is_cut(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    struct pending got;
    char command[3 * DAP_NAME_MAX];
    memset(command, 'c', sizeof command);
    command[sizeof command - 1] = '\0';
    seqmap_add(map, &one, (struct client_seq){1}, command, NULL);
    assert_true(seqmap_take_oldest(map, &one, false, &got));
    assert_int_equal(strlen(got.command), DAP_NAME_MAX - 1);
    seqmap_destroy(&map);
}

/* A model beside the map: which client seqs wait, by upstream seq. */
enum { STEPS = 40000, LIMIT = STEPS + 1 };

struct model {
    bool waits[LIMIT];
    int64_t oldest;
    size_t count;
};

static void expect_taken(struct model *model, const struct pending *got)
{
    assert_true(model->waits[got->upstream.value]);
    assert_int_equal(got->client.value, got->upstream.value * 3);
    model->waits[got->upstream.value] = false;
    model->count--;
}

static void random_step(struct seqmap *map, struct model *model, unsigned *seed)
{
    struct pending got;
    unsigned choice = (unsigned)rand_r(seed) % 16;
    int64_t last = seqmap_next(map).value;
    if (choice < 7) {
        struct upstream_seq seq = add(map, &one, (last + 1) * 3);
        assert_int_equal(seq.value, last + 1);
        model->waits[seq.value] = true;
        model->count++;
    } else if (choice < 14) {
        int64_t guess = 1 + rand_r(seed) % last;
        if (choice < 12 && model->count)
            while (!model->waits[guess])
                guess = guess % last + 1;
        bool taken = seqmap_take(map, (struct upstream_seq){guess}, &got);
        assert_int_equal(taken, model->waits[guess]);
        if (taken)
            expect_taken(model, &got);
    } else if (seqmap_take_oldest(map, &one, choice == 14, &got)) {
        for (int64_t i = model->oldest; i < got.upstream.value; i++)
            assert_false(model->waits[i]);
        model->oldest = got.upstream.value;
        expect_taken(model, &got);
    } else {
        assert_int_equal(model->count, 0);
    }
    assert_int_equal(seqmap_count(map), model->count);
}

static void test_exactly_once_in_any_order(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    struct model *model = mem_alloc(sizeof *model);
    struct pending got;
    unsigned seed = 20;
    for (int i = 0; i < STEPS / 2; i++)
        random_step(map, model, &seed);
    while (seqmap_take_oldest(map, NULL, true, &got))
        expect_taken(model, &got);
    assert_int_equal(model->count, 0);
    assert_int_equal(seqmap_count(map), 0);
    free(model);
    seqmap_destroy(&map);
}

/* 0 where a sanitizer has replaced malloc. */
static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* A request that never gets its answer must not make the map grow with those that do. */
static void test_a_stuck_request_costs_nothing(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    struct pending got;
    struct upstream_seq stuck = add(map, &one, 1);
    size_t before = memory_in_use();
    for (int64_t i = 0; i < 200000; i++)
        assert_true(seqmap_take(map, add(map, &one, i), &got));
    assert_true(memory_in_use() - before < 65536);
    assert_true(seqmap_take(map, stuck, &got));
    assert_int_equal(got.client.value, 1);
    seqmap_destroy(&map);
}

static void test_a_map_goes_on_from_any_seq(void **state)
{
    (void)state;
    struct seqmap *map = seqmap_create();
    struct pending got = {0};
    seqmap_start(map, 1001);
    assert_int_equal(add(map, &one, 5).value, 1001);
    assert_int_equal(seqmap_next(map).value, 1002);
    assert_null(seqmap_find(map, (struct upstream_seq){1000}));
    assert_int_equal(seqmap_find(map, (struct upstream_seq){1001})->client.value, 5);
    assert_int_equal(seqmap_count(map), 1);
    assert_true(seqmap_take(map, (struct upstream_seq){1001}, &got));
    assert_null(seqmap_find(map, (struct upstream_seq){1001}));
    seqmap_destroy(&map);
}

static void test_an_empty_map_has_no_memory(void **state)
{
    (void)state;
    enum { MAPS = 100 };
    struct seqmap *maps[MAPS];
    struct pending got;
    size_t before = memory_in_use();
    for (size_t i = 0; i < MAPS; i++) {
        maps[i] = seqmap_create();
        for (int64_t n = 0; n < 20; n++)
            add(maps[i], &one, n);
        while (seqmap_take_oldest(maps[i], NULL, true, &got))
            continue;
    }
    assert_true(memory_in_use() - before < (size_t)MAPS * 100);
    for (size_t i = 0; i < MAPS; i++)
        seqmap_destroy(&maps[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_noted_comes_back),
        cmocka_unit_test(test_an_answer_is_taken_once),
        cmocka_unit_test(test_what_was_not_asked_is_not_taken),
        cmocka_unit_test(test_the_oldest_first),
        cmocka_unit_test(test_a_long_command_is_cut),
        cmocka_unit_test(test_exactly_once_in_any_order),
        cmocka_unit_test(test_a_stuck_request_costs_nothing),
        cmocka_unit_test(test_a_map_goes_on_from_any_seq),
        cmocka_unit_test(test_an_empty_map_has_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
