/* The join: what a reference is called, which are rows, who owns what. */
#include "cmocka_prelude.h"
#include "object_sample.h"

/* --- one reference --- */

static const struct kind_case {
    bool pinned, handle;
    int64_t local, submitted;
    uint32_t contained;
    const char *kind; /* NULL: no row */
} kinds[] = {
    {.kind = NULL},
    {.local = 1, .kind = "LOCAL_REFERENCE"},
    {.local = -1, .kind = "UNKNOWN_STATUS"},
    {.submitted = 2, .kind = "USED_BY_PENDING_TASK"},
    {.submitted = 1, .local = 1, .contained = 1, .kind = "USED_BY_PENDING_TASK"},
    {.contained = 1, .kind = "CAPTURED_IN_OBJECT"},
    {.contained = 1, .local = 1, .kind = "LOCAL_REFERENCE"},
    {.pinned = true, .kind = "PINNED_IN_MEMORY"},
    {.pinned = true, .local = 1, .submitted = 1, .contained = 1, .kind = "PINNED_IN_MEMORY"},
    {.handle = true, .local = 1, .kind = "ACTOR_HANDLE"},
    {.handle = true, .pinned = true, .submitted = 1, .kind = "ACTOR_HANDLE"},
    {.handle = true, .kind = NULL},
};

static void kinds_are_those_of_ray_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind_case *it = &kinds[i];
        struct object_sweep *sweep = sample_sweep(1);
        struct object_id id = sample_id("a1", 1);
        if (it->handle)
            memset(id.bytes, 0xFF, 8);
        struct ray_object_ref *ref =
            sample_ref(sample_process(sweep, 0, 7, RAY_WORKER), id, 5, RAY_TASK_NIL);
        ref->pinned = it->pinned;
        ref->local = it->local;
        ref->submitted = it->submitted;
        ref->contained_in = it->contained;
        object_sweep_join(sweep);
        assert_int_equal(sweep->row_count, it->kind != NULL);
        if (it->kind)
            assert_string_equal(object_reference_name(sweep->rows[0].reference), it->kind);
        object_sweep_free(&sweep);
    }
}

/* A driver's task id begins as an actor's creation does, and its objects are no handles. */
static void what_a_driver_puts_is_no_actor(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(1);
    struct ray_worker_objects *driver = sample_process(sweep, 0, 7, RAY_DRIVER);
    struct object_id nil;
    memset(nil.bytes, 0xFF, sizeof nil.bytes);
    sample_ref(driver, sample_id("d", 1), 5, RAY_TASK_FINISHED);
    sample_ref(driver, sample_put("d", 1), 5, RAY_TASK_FINISHED);
    sample_ref(driver, nil, 5, RAY_TASK_FINISHED);
    object_sweep_join(sweep);
    assert_int_equal(sweep->row_count, 2);
    for (size_t i = 0; i < 2; i++) {
        char job_id[ID_TEXT(ID_JOB_BYTES)];
        assert_int_equal(sweep->rows[i].reference, OBJECT_LOCAL_REFERENCE);
        assert_true(object_id_is_drivers(&sweep->rows[i].ref->id, job_id));
        assert_string_equal(job_id, "01000000");
    }
    object_sweep_free(&sweep);
}

/* --- who owns it --- */

static const struct object_row *row_of(const struct object_sweep *sweep, struct object_id id,
                                       size_t expected)
{
    size_t count, first = object_sweep_rows_of(sweep, &id, &count);
    assert_int_equal(count, expected);
    return &sweep->rows[first];
}

static void rows_of_one_object_are_neighbours(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(2);
    static const char *const tasks[] = {"c3", "a1", "b2", "00", "d"};
    for (int64_t i = 0; i < 3; i++) {
        struct ray_worker_objects *worker =
            sample_process(sweep, (size_t)i % 2, 100 + i, RAY_WORKER);
        for (size_t k = 0; k < 5; k++)
            for (unsigned index = 300; index > 0; index -= 100)
                sample_ref(worker, sample_id(tasks[k], index + (unsigned)i), -1, RAY_TASK_NIL);
        sample_ref(worker, sample_id("b2", 7), -1, RAY_TASK_NIL);
    }
    object_sweep_join(sweep);
    assert_int_equal(sweep->row_count, 3 * 16);
    for (size_t i = 1; i < sweep->row_count; i++) {
        const struct object_row *a = &sweep->rows[i - 1], *b = &sweep->rows[i];
        int order = memcmp(a->ref->id.bytes, b->ref->id.bytes, ID_OBJECT_BYTES);
        assert_true(order < 0 || (order == 0 && a->process < b->process));
    }
    const struct object_row *rows = row_of(sweep, sample_id("b2", 7), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(rows[i].process, i);
    row_of(sweep, sample_id("d", 302), 1);
    row_of(sweep, sample_id("d", 303), 0);
    row_of(sweep, sample_id("ff", 1), 0);
    object_sweep_free(&sweep);
}

/* A borrower knows no size. The owner does, even if it keeps the object only for the borrower. */
static void an_owner_without_a_row_is_found(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(2);
    struct ray_worker_objects *borrower = sample_process(sweep, 0, 7, RAY_DRIVER);
    struct ray_worker_objects *owner = sample_process(sweep, 1, 8, RAY_WORKER);
    sample_ref(borrower, sample_id("a1", 2), -1, RAY_TASK_NIL);
    sample_ref(borrower, sample_id("b2", 1), -1, RAY_TASK_NIL);
    sample_ref(owner, sample_id("a1", 2), 4096, RAY_TASK_FINISHED)->local = 0;
    object_sweep_join(sweep);
    assert_int_equal(sweep->row_count, 2);
    const struct object_row *row = row_of(sweep, sample_id("a1", 2), 1);
    assert_int_equal(row->process, 0);
    assert_int_equal(row->owner, 1);
    assert_int_equal(row->size, 4096);
    assert_int_equal(row->ref->size, -1);
    row = row_of(sweep, sample_id("b2", 1), 1);
    assert_int_equal(row->owner, -1);
    assert_int_equal(row->size, -1);
    object_sweep_free(&sweep);
}

/* The driver has called a task and still knows it, by what it returned. What the task has put is
 * its worker's, also where the driver says the task's status of it: the task's id begins with the
 * number of the attempt, then. */
static void a_submitter_does_not_own_what_its_task_has_put(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct object_sweep *sweep = sample_sweep(1);
        struct ray_worker_objects *first = sample_process(sweep, 0, 7, RAY_DRIVER);
        struct ray_worker_objects *second = sample_process(sweep, 0, 8, RAY_WORKER);
        struct ray_worker_objects *driver = turned ? second : first;
        sample_ref(driver, sample_id("00", 1), 10, RAY_TASK_FINISHED);
        sample_ref(driver, sample_id("00", 2), 10, RAY_TASK_FINISHED);
        sample_ref(first, sample_put("00", 1), 10, RAY_TASK_FINISHED);
        sample_ref(second, sample_put("00", 1), 10, RAY_TASK_FINISHED);
        sample_ref(driver, sample_put("00", 2), 10, RAY_TASK_FINISHED);
        object_sweep_join(sweep);
        assert_int_equal(row_of(sweep, sample_id("00", 1), 1)->owner, turned ? 1 : 0);
        assert_int_equal(row_of(sweep, sample_id("00", 2), 1)->owner, turned ? 1 : 0);
        assert_int_equal(row_of(sweep, sample_put("00", 1), 2)->owner, turned ? 0 : 1);
        assert_int_equal(row_of(sweep, sample_put("00", 2), 1)->owner, -1);
        object_sweep_free(&sweep);
    }
}

/* --- what was asked afterwards --- */

static void nothing_is_found_in_nothing(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(0);
    struct object_id id = sample_id("a1", 1);
    object_sweep_join(sweep);
    assert_int_equal(sweep->row_count, 0);
    row_of(sweep, id, 0);
    assert_null(object_sweep_location(sweep, &id));
    assert_null(object_sweep_task(sweep, &id));
    object_sweep_free(&sweep);
    object_sweep_free(&sweep);
}

static void locations_and_tasks_are_found(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(1);
    static const char *const tasks[] = {"a1", "b2", "c3"};
    sweep->locations = mem_array(3, sizeof *sweep->locations);
    sweep->tasks = mem_array(3, sizeof *sweep->tasks);
    sweep->location_count = sweep->task_count = 3;
    for (size_t i = 0; i < 3; i++) {
        sweep->locations[i].id = sample_id(tasks[i], 2);
        object_id_task(&sweep->locations[i].id, sweep->tasks[i].task_id);
    }
    for (size_t i = 0; i < 3; i++) {
        struct object_id id = sample_id(tasks[i], 2), other = sample_id(tasks[i], 3);
        struct object_id put = sample_put(tasks[i], 1), near = other;
        near.bytes[0] = 0;
        assert_ptr_equal(object_sweep_location(sweep, &id), &sweep->locations[i]);
        assert_null(object_sweep_location(sweep, &other));
        assert_ptr_equal(object_sweep_task(sweep, &other), &sweep->tasks[i]);
        assert_ptr_equal(object_sweep_task(sweep, &put), &sweep->tasks[i]);
        assert_null(object_sweep_task(sweep, &near));
    }
    struct object_id id = sample_id("d", 1), put = sample_put("d4", 1);
    assert_null(object_sweep_task(sweep, &id));
    assert_null(object_sweep_task(sweep, &put));
    object_sweep_free(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_those_of_ray_memory),
        cmocka_unit_test(what_a_driver_puts_is_no_actor),
        cmocka_unit_test(rows_of_one_object_are_neighbours),
        cmocka_unit_test(an_owner_without_a_row_is_found),
        cmocka_unit_test(a_submitter_does_not_own_what_its_task_has_put),
        cmocka_unit_test(nothing_is_found_in_nothing),
        cmocka_unit_test(locations_and_tasks_are_found),
    };
    return cmocka_run_group_tests_name("object_sweep", tests, NULL, NULL);
}
