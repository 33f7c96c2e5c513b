/* Who is meant, in few words. */
#include "cmocka_prelude.h"

#include "relay/verbs/task_set.h"

#include <stdio.h>

static const char *text_of(const int64_t *ranks, size_t count, struct buf *out)
{
    struct task_list list = {0};
    struct task_set set = {0};
    for (size_t i = 0; i < count; i++) {
        char name[32];
        if (ranks[i] < 0)
            snprintf(name, sizeof name, "task-%zu", i);
        else
            snprintf(name, sizeof name, "rank %lld of it", (long long)ranks[i]);
        task_set_add(&set, task_list_add(&list, (int64_t)i + 1, ranks[i], name));
    }
    task_set_sort(&list, &set);
    buf_clear(out, 4096);
    task_set_text(&list, &set, 2, out);
    task_set_clear(&set);
    task_list_clear(&list);
    return out->data;
}

#define TEXT_OF(...)                                                                               \
    text_of((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8, &out)

static void test_ranks_are_ranges(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_string_equal(TEXT_OF(3, 0, 2, 1), "rank 0-3");
    assert_string_equal(TEXT_OF(8, 0, 2, 1), "rank 0-2, 8");
    assert_string_equal(TEXT_OF(5, 4), "rank 4, 5");
    assert_string_equal(TEXT_OF(4, 4, 5, 6), "rank 4-6"); /* a rank with two threads */
    assert_string_equal(TEXT_OF(4, 4), "rank 4");
    buf_free(&out);
}

static void test_who_has_no_rank_is_named(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_string_equal(TEXT_OF(7), "rank 7 of it");
    assert_string_equal(TEXT_OF(-1, 3, 4, 5), "rank 3-5, task-0");
    assert_string_equal(TEXT_OF(-1, -1, -1, -1), "task-0, task-1 and 2 more");
    buf_free(&out);
}

static void test_ids(void **state)
{
    (void)state;
    struct task_list list = {0};
    struct task_set set = {0};
    struct buf out = {0};
    task_set_add(&set, task_list_add(&list, 16777217, 1, "b"));
    task_set_add(&set, task_list_add(&list, 5, 0, "a"));
    task_set_sort(&list, &set);
    task_set_json(&list, &set, &out);
    assert_string_equal(out.data, "[5,16777217]");
    buf_free(&out);
    task_set_clear(&set);
    task_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_are_ranges),
        cmocka_unit_test(test_who_has_no_rank_is_named),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
