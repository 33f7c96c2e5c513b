/* Ids, names, and the pool of strings. */
#include "cmocka_prelude.h"

#include "base/hash.h"
#include "proto/object_records.h"
#include "proto/string_pool.h"

#include <stdio.h>
#include <string.h>

static const char hex[] = "c2668a65bda616c1ffffffffffffffffffffffff0100000001E1F505";

static void ids_are_parsed_and_written(void **state)
{
    (void)state;
    struct object_id id;
    char text[ID_TEXT(ID_OBJECT_BYTES)], task[ID_TEXT(ID_TASK_BYTES)];
    assert_true(object_id_parse(hex, strlen(hex), &id));
    object_id_hex(&id, text);
    assert_string_equal(text, "c2668a65bda616c1ffffffffffffffffffffffff0100000001e1f505");
    object_id_task(&id, task);
    assert_string_equal(task, "c2668a65bda616c1ffffffffffffffffffffffff01000000");
    assert_int_equal(id.bytes[27], 5);
}

static void what_is_no_id_is_refused(void **state)
{
    (void)state;
    struct object_id id;
    char text[64];
    assert_false(object_id_parse(hex, strlen(hex) - 1, &id));
    assert_false(object_id_parse(hex, 0, &id));
    snprintf(text, sizeof text, "%s)", hex);
    assert_true(object_id_parse(text, strlen(text), &id)); /* followed by anything */
    text[55] = 'g';
    assert_false(object_id_parse(text, strlen(text), &id));
    text[55] = '\0';
    assert_false(object_id_parse(text, 56, &id));
}

static struct object_id id_of(const char *text)
{
    struct object_id id;
    assert_true(object_id_parse(text, strlen(text), &id));
    return id;
}

static void an_id_tells_what_made_it(void **state)
{
    (void)state;
    char actor[ID_TEXT(ID_ACTOR_BYTES)];
    /* Recorded: a result, a put in a task, a put in the driver, an actor's handle. */
    struct object_id result = id_of("c2668a65bda616c1ffffffffffffffffffffffff0100000001000000");
    struct object_id put = id_of("00402ec78d3a2607ffffffffffffffffffffffff0100000002e1f505");
    struct object_id driver = id_of("00ffffffffffffffffffffffffffffffffffffff0100000001e1f505");
    struct object_id handle = id_of("ffffffffffffffff8444d4ac582ef8c82b494e460100000001000000");
    assert_true(object_id_is_put(&put) && object_id_is_put(&driver));
    assert_false(object_id_is_put(&result) || object_id_is_put(&handle));
    result.bytes[27] = 5;
    result.bytes[26] = 0xf5;
    result.bytes[25] = 0xe1; /* 100,000,001 */
    assert_true(object_id_is_put(&result));
    result.bytes[24] = 0;
    assert_false(object_id_is_put(&result));
    assert_true(object_id_is_actor_handle(&handle, actor));
    assert_string_equal(actor, "8444d4ac582ef8c82b494e4601000000");
    assert_false(object_id_is_actor_handle(&put, actor));
    driver.bytes[0] = 0xff; /* what a driver's task would return */
    assert_false(object_id_is_actor_handle(&driver, actor));
}

static void an_id_tells_its_task(void **state)
{
    (void)state;
    struct object_id result = id_of("c2668a65bda616c1ffffffffffffffffffffffff0100000001000000");
    struct object_id put = id_of("00402ec78d3a2607ffffffffffffffffffffffff0100000002e1f505");
    assert_true(object_id_made_by(&result, "c2668a65bda616c1ffffffffffffffffffffffff01000000"));
    assert_false(object_id_made_by(&result, "c3668a65bda616c1ffffffffffffffffffffffff01000000"));
    assert_true(object_id_made_by(&put, "91402ec78d3a2607ffffffffffffffffffffffff01000000"));
    assert_false(object_id_made_by(&put, "00412ec78d3a2607ffffffffffffffffffffffff01000000"));
    assert_false(object_id_made_by(&put, ""));
}

static void a_status_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(ray_task_status_name(RAY_TASK_NIL), "NIL");
    assert_string_equal(ray_task_status_name(5), "SUBMITTED_TO_WORKER");
    assert_string_equal(ray_task_status_name(RAY_TASK_FINISHED), "FINISHED");
    assert_string_equal(ray_task_status_name(RAY_TASK_FAILED), "FAILED");
    assert_string_equal(ray_task_status_name(13), "GETTING_AND_PINNING_ARGS");
    assert_string_equal(ray_task_status_name(14), "UNKNOWN");
    assert_string_equal(ray_task_status_name(-1), "UNKNOWN");
}

static void equal_strings_are_kept_once(void **state)
{
    (void)state;
    enum { DIFFERENT = 5000 };
    static const char *first[DIFFERENT];
    struct ray_string_pool *pool = ray_string_pool_create();
    char text[64];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < DIFFERENT; i++) {
            int len = snprintf(text, sizeof text, "(task call) | train.py:step:%d", i);
            const char *kept = ray_string_pool_add(pool, text, (size_t)len);
            assert_string_equal(kept, text);
            assert_ptr_not_equal(kept, text);
            if (round)
                assert_ptr_equal(kept, first[i]);
            first[i] = kept;
        }
    assert_ptr_equal(ray_string_pool_add(pool, "a\0b", 3), ray_string_pool_add(pool, "a\0b", 3));
    assert_ptr_not_equal(ray_string_pool_add(pool, "a\0b", 3),
                         ray_string_pool_add(pool, "a\0c", 3));
    assert_string_equal(ray_string_pool_add(pool, NULL, 0), "");
    ray_string_pool_free(pool);
    ray_string_pool_free(NULL);
}

/* Two words whose hash is that of every other number's. */
static void collide(uint64_t number, uint64_t words[2])
{
    words[0] = number;
    words[1] = hash_mix(hash_mix(16) ^ number);
    assert_true(hash_bytes(words, 16, 0) == hash_number(0));
}

static void strings_that_collide_are_kept_again(void **state)
{
    (void)state;
    enum { DIFFERENT = 1000 };
    static const char *kept[DIFFERENT];
    struct ray_string_pool *pool = ray_string_pool_create();
    uint64_t words[2];
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < DIFFERENT; i++) {
            collide(i, words);
            const char *copy = ray_string_pool_add(pool, words, sizeof words);
            assert_memory_equal(copy, words, sizeof words);
            if (round && i == 0)
                assert_ptr_equal(copy, kept[i]);
            if (round && i == DIFFERENT - 1)
                assert_ptr_not_equal(copy, kept[i]);
            kept[i] = copy;
        }
    assert_ptr_equal(ray_string_pool_add(pool, words, sizeof words), kept[DIFFERENT - 1]);
    const char *other = ray_string_pool_add(pool, "other", 5);
    ray_string_pool_add(pool, words, sizeof words);
    assert_ptr_equal(ray_string_pool_add(pool, "other", 5), other);
    ray_string_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_parsed_and_written),
        cmocka_unit_test(what_is_no_id_is_refused),
        cmocka_unit_test(an_id_tells_what_made_it),
        cmocka_unit_test(an_id_tells_its_task),
        cmocka_unit_test(a_status_has_a_name),
        cmocka_unit_test(equal_strings_are_kept_once),
        cmocka_unit_test(strings_that_collide_are_kept_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
