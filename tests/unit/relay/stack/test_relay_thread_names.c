/* What the threads of one task's worker are called. */
#include "cmocka_prelude.h"

#include "relay/stack/thread_names.h"

#include <stdlib.h>
#include <string.h>

#define LIST(threads)                                                                              \
    "{\"seq\": 3, \"type\": \"response\", \"request_seq\": 2, \"success\": true, "                 \
    "\"command\": \"threads\", \"body\": {\"threads\": [" threads "]}}"
#define THREAD(id, name) "{\"id\": " #id ", \"name\": \"" name "\"}"

static void check(const struct thread_names *names, const char *in, const char *expected)
{
    struct envelope envelope;
    struct buf out = {0};
    const char *problem;
    assert_int_equal(envelope_read(&envelope, in, strlen(in), &problem), 0);
    bool edited = thread_names_edit(in, strlen(in), &envelope, names, &out);
    assert_int_equal(edited, expected != NULL);
    if (expected) {
        buf_add(&out, "", 1);
        assert_string_equal(out.data, expected);
    } else {
        assert_int_equal(out.len, 0);
    }
    buf_free(&out);
}

static void the_main_thread_is_the_task(void **state)
{
    const struct thread_names names = {.task = "rank 3 square"};
    (void)state;
    check(&names, LIST(THREAD(1, "MainThread") ", " THREAD(2, "loader")),
          LIST(THREAD(1, "rank 3 square") ", " THREAD(2, "loader")));
    check(&names, LIST(THREAD(2, "loader")), NULL);
}

static void rays_own_thread_is_left_out_unless_it_is_asked_for(void **state)
{
    const struct thread_names names = {.task = "square"};
    const struct thread_names stopped = {.task = "square", .stopped = 4};
    const struct thread_names all = {.task = "square", .all = true};
    static const char list[] = LIST(THREAD(4, "PythonGCThread") ", " THREAD(1, "loader"));
    (void)state;
    check(&names, list, LIST(THREAD(1, "loader")));
    check(&stopped, list, NULL);
    check(&all, list, NULL);
}

static void a_thread_of_an_actors_pool_says_so(void **state)
{
    const struct thread_names pool = {.task = "Pool.work pid 3", .pool = "Pool.work"};
    const struct thread_names task = {.task = "square"};
    (void)state;
    check(&pool, LIST(THREAD(1, "MainThread") ", " THREAD(2, "Dummy-1") ", " THREAD(3, "Dummy-12")),
          LIST(THREAD(1, "Pool.work pid 3") ", " THREAD(2, "Pool.work thread-1") ", " THREAD(
              3, "Pool.work thread-12")));
    check(&task, LIST(THREAD(2, "Dummy-1")), NULL);
}

static void a_label_keeps_a_name_that_somebody_gave(void **state)
{
    static const char *const rows[][2] = {
        {"Dummy-7", "thread-7"}, {"Thread-7 (run)", "Thread-7 (run)"}, {"dummy-7", "dummy-7"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *label = thread_label(rows[i][0]);
        assert_string_equal(label, rows[i][1]);
        free(label);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_main_thread_is_the_task),
        cmocka_unit_test(rays_own_thread_is_left_out_unless_it_is_asked_for),
        cmocka_unit_test(a_thread_of_an_actors_pool_says_so),
        cmocka_unit_test(a_label_keeps_a_name_that_somebody_gave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
