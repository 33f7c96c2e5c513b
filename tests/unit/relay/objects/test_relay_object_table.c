/* What is known of each object, by its id. */
#include "cmocka_prelude.h"

#include "relay/objects/object_table.h"

#include <string.h>

enum { COUNT = 3000 };

/* Consecutive objects of a few tasks, as a list of references has them. */
static struct object_id id_of(uint32_t number)
{
    struct object_id id = {{0}};
    uint32_t index = number / 3 + 1;
    id.bytes[0] = (uint8_t)(number % 3);
    memcpy(id.bytes + ID_TASK_BYTES, &index, sizeof index);
    return id;
}

static void each_object_has_one_entry(void **state)
{
    (void)state;
    static struct ray_object_ref refs[COUNT];
    struct object_table table = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        struct object_id id = id_of(i);
        assert_null(object_table_get(&table, &id));
        struct object_entry *entry = object_table_add(&table, &id);
        assert_null(entry->ref);
        assert_null(entry->query);
        entry->ref = &refs[i];
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        struct object_id id = id_of(i);
        struct object_probe probe;
        object_probe(&probe, &id);
        struct object_entry *entry = object_table_find(&table, &probe);
        assert_ptr_equal(entry->ref, &refs[i]);
        assert_memory_equal(&entry->id, &id, sizeof id);
        assert_ptr_equal(object_table_add(&table, &id), entry);
        assert_ptr_equal(object_table_get(&table, &id), entry);
    }
    assert_int_equal(table.count, COUNT);
    object_table_clear(&table);
}

static void what_was_cleared_is_empty(void **state)
{
    (void)state;
    struct object_table table = {0};
    struct object_id id = id_of(1);
    assert_null(object_table_get(&table, &id));
    object_table_add(&table, &id);
    object_table_clear(&table);
    assert_null(object_table_get(&table, &id));
    assert_int_equal(table.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_object_has_one_entry),
        cmocka_unit_test(what_was_cleared_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
