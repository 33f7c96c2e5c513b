/* Who is in a group. */
#include "cmocka_prelude.h"

#include "relay/verbs/task_group.h"

#include <stdio.h>
#include <string.h>

static const struct task_group_subject rank_3 = {
    .thread = 16777219,
    .rank = 3,
    .ranked = true,
    .stopped = true,
    .pid = 811,
    .name = "rank 3 Trainer.step node-2 pid 811",
    .task = "Trainer.step",
    .actor_class = "Trainer",
    .actor_name = "left",
    .node_ip = "10.0.0.9",
    .node_name = "node-2",
    .job = "01",
};

static void test_filters(void **state)
{
    (void)state;
    static const char *const in[] = {
        "all",         "Trainer.*",     "Trainer", "left",          "rank 3 *",        "3",
        "0-5",         "1,3",           "rank=3",  "pid=800-900",   "task=*step",      "actor=lef?",
        "node=node-*", "node=10.0.0.9", "job=01",  "state=stopped", "thread=16777219", "!4",
    };
    static const char *const out[] = {
        "Reader.*",  "step",          "4",        "0-2,4",    "rank=33",  "pid=81", "task=step",
        "node=node", "state=running", "thread=3", "16777219", "!Trainer",
    };
    struct groups *groups = groups_create();
    struct err err;
    assert_true(groups_have(groups, NULL, &rank_3));
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        assert_int_equal(groups_check(groups, in[i], &err), 0);
        if (!groups_have(groups, in[i], &rank_3))
            fail_msg("%s does not fit", in[i]);
    }
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        assert_int_equal(groups_check(groups, out[i], &err), 0);
        if (groups_have(groups, out[i], &rank_3))
            fail_msg("%s fits", out[i]);
    }
    groups_destroy(&groups);
}

static void test_numbers_are_threads_where_nobody_has_a_rank(void **state)
{
    (void)state;
    struct groups *groups = groups_create();
    const struct task_group_subject plain = {.thread = 4, .rank = -1};
    const struct task_group_subject other = {.thread = 4, .rank = -1, .ranked = true};
    assert_true(groups_have(groups, "4", &plain));
    assert_false(groups_have(groups, "4", &other));
    groups_destroy(&groups);
}

static void test_groups(void **state)
{
    (void)state;
    struct groups *groups = groups_create();
    struct err err;
    static const char *const some[] = {"0-7", "!3"}, *const again[] = {"!3", "0-7"};
    static const char *const nested[] = {"some", "loop"}, *const loop[] = {"loop", "all"};
    assert_int_equal(groups_set(groups, "some", some, 2, &err), 0);
    assert_false(groups_have(groups, "some", &rank_3));
    assert_int_equal(groups_set(groups, "some", again, 2, &err), 0); /* the last one decides */
    assert_true(groups_have(groups, "some", &rank_3));
    assert_string_equal(groups_filters(groups, "some"), "!3 0-7");
    assert_int_equal(groups_set(groups, "nested", nested, 2, &err), 0);
    assert_true(groups_have(groups, "nested", &rank_3));
    assert_int_equal(groups_set(groups, "loop", loop, 1, &err), 0); /* it never ends, and does */
    assert_false(groups_have(groups, "loop", &rank_3));
    assert_int_equal(groups_names(groups).count, 3);
    assert_true(groups_remove(groups, "some"));
    assert_false(groups_remove(groups, "some"));
    assert_int_equal(groups_names(groups).count, 2);
    assert_string_equal(groups_names(groups).names[0], "nested");
    assert_null(groups_filters(groups, "some"));
    groups_destroy(&groups);
}

/* Each group is looked through once: 13 names of 13 names would otherwise take billions of steps.
 */
static void test_groups_that_name_groups_many_times(void **state)
{
    (void)state;
    enum { NAMES = 13, NESTED = 12 };
    struct groups *groups = groups_create();
    struct err err;
    char names[NESTED][8];
    const char *filters[NAMES + 1];
    for (int i = 0; i < NAMES; i++)
        filters[i] = "self";
    filters[NAMES] = "0-7";
    assert_int_equal(groups_set(groups, "self", filters, NAMES, &err), 0);
    assert_false(groups_have(groups, "self", &rank_3));
    assert_int_equal(groups_set(groups, "self", filters, NAMES + 1, &err), 0);
    assert_true(groups_have(groups, "self", &rank_3));
    for (int k = 0; k < NESTED; k++) {
        snprintf(names[k], sizeof names[k], "nest%d", k);
        assert_int_equal(groups_set(groups, names[k], filters, NAMES, &err), 0);
        for (int i = 0; i < NAMES; i++)
            filters[i] = names[k];
    }
    assert_true(groups_have(groups, names[NESTED - 1], &rank_3));
    groups_destroy(&groups);
}

static void test_what_is_no_filter(void **state)
{
    (void)state;
    static const char *const wrong[] = {"rank=x", "rank=", "state=asleep", "colour=red", "", "!"};
    struct groups *groups = groups_create();
    struct err err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (groups_set(groups, "g", &wrong[i], 1, &err) != -1)
            fail_msg("'%s' was taken", wrong[i]);
        assert_true(*err.hint);
    }
    assert_int_equal(groups_set(groups, "next", wrong, 0, &err), -1);
    assert_int_equal(groups_names(groups).count, 0);
    groups_destroy(&groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_numbers_are_threads_where_nobody_has_a_rank),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_groups_that_name_groups_many_times),
        cmocka_unit_test(test_what_is_no_filter),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
