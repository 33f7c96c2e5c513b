/* Which pauses a session over many takes. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/pause/pause_filter.h"

#include <string.h>

#define TASK "c2668a65bda616c1ffffffffffffffffffffffff01000000"

static struct pause sample(void)
{
    struct pause pause = {.task_id = TASK,
                          .task_name = "Trainer.step",
                          .actor_class = "Trainer",
                          .actor_name = "rank-3",
                          .job_id = "01000000",
                          .node_ip = "10.0.0.7",
                          .node_name = "node-7",
                          .pid = 811};
    return pause;
}

static bool task_matches(const char *task)
{
    struct pause_filter filter = {0};
    struct pause pause = sample();
    pause_filter_add(&filter, task);
    bool matches = pause_filter_matches(&filter, &pause);
    pause_filter_clear(&filter);
    return matches;
}

static void test_tasks(void **state)
{
    (void)state;
    static const char *const good[] = {"*",          "Trainer.*", "Trainer.step", "Trainer",
                                       "rank-?",     "rank-[34]", "c2668a",       "811@10.0.0.7",
                                       "811@node-7", "811"};
    static const char *const bad[] = {"trainer.*", "Other*", "step",      "rank-[56]",
                                      "c2668b",    "812",    "811@node-8"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!task_matches(good[i]))
            fail_msg("%s does not match", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (task_matches(bad[i]))
            fail_msg("%s matches", bad[i]);
}

static void test_nameless_pause_is_one_of_all(void **state)
{
    (void)state;
    struct pause pause = {.pid = 5};
    struct pause_filter filter = {0};
    assert_true(pause_filter_matches(&filter, &pause));
    pause_filter_add(&filter, "Trainer.*");
    assert_false(pause_filter_matches(&filter, &pause));
    pause_filter_add(&filter, "*");
    assert_true(pause_filter_matches(&filter, &pause));
    pause_filter_clear(&filter);
}

static void test_all_of_the_others_must_hold(void **state)
{
    (void)state;
    static const struct {
        char *job, *actor, *node;
        bool matches;
    } cases[] = {
        {"01", NULL, NULL, true},          {"02", NULL, NULL, false},
        {NULL, "Trainer", NULL, true},     {NULL, "Train*", NULL, true},
        {NULL, "rank-3", NULL, true},      {NULL, "Other", NULL, false},
        {NULL, NULL, "node-7", true},      {NULL, NULL, "10.0.0.*", true},
        {NULL, NULL, "node-8", false},     {"01", "Trainer", "node-8", false},
        {"01", "Trainer", "node-7", true},
    };
    struct pause pause = sample();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pause_filter filter = {
            .job = cases[i].job, .actor = cases[i].actor, .node = cases[i].node};
        assert_int_equal(pause_filter_matches(&filter, &pause), cases[i].matches);
        assert_true(pause_filter_is_open(&filter));
    }
}

static void test_open_and_named(void **state)
{
    (void)state;
    struct pause_filter filter = {0};
    char text[100];
    assert_false(pause_filter_is_set(&filter));
    assert_true(pause_filter_is_open(&filter));
    pause_filter_describe(&filter, text, sizeof text);
    assert_string_equal(text, "*");
    pause_filter_add(&filter, "square");
    assert_true(pause_filter_is_set(&filter));
    assert_false(pause_filter_is_open(&filter));
    pause_filter_add(&filter, "Train*");
    assert_true(pause_filter_is_open(&filter));
    pause_filter_describe(&filter, text, sizeof text);
    assert_string_equal(text, "square, Train*");
    pause_filter_clear(&filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_nameless_pause_is_one_of_all),
        cmocka_unit_test(test_all_of_the_others_must_hold),
        cmocka_unit_test(test_open_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
