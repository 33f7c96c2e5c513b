/* Which pauses are shown, and in which order. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/pauses/pause_select.h"

#include <string.h>

/* `line` is what they are told apart by. */
static struct pause samples[] = {
    {.line = 1,
     .task_name = "square",
     .job_id = "02000000",
     .node_id = UNIQUE_ID("b2"),
     .node_ip = "10.0.0.8",
     .node_name = "beta",
     .pid = 30,
     .state = PAUSE_ATTACHED,
     .since_ms = 300},
    {.line = 2,
     .task_name = "Trainer.step",
     .actor_class = "Trainer",
     .actor_name = "bob",
     .actor_id = ACTOR_ID("d1"),
     .job_id = "01000000",
     .node_id = UNIQUE_ID("b1"),
     .node_ip = "10.0.0.7",
     .node_name = "alpha",
     .pid = 20,
     .state = PAUSE_WAITING,
     .since_ms = 400},
    {.line = 3,
     .job_id = "01000000",
     .node_id = UNIQUE_ID("b1"),
     .node_ip = "10.0.0.7",
     .node_name = "alpha",
     .pid = 3000000000, /* no int holds it */
     .state = PAUSE_IDLE,
     .since_ms = 0},
    {.line = 4, .task_name = "cube", .pid = 40, .state = PAUSE_WAITING, .since_ms = 9000000000000},
};

/* `expected` has the lines, as "2 1 ". */
static void check(const struct pause_select *select, const char *expected)
{
    const struct pause_list list = {samples, sizeof samples / sizeof *samples};
    struct pause_list shown;
    char found[20] = "";
    pause_select_apply(select, &list, &shown);
    for (size_t i = 0; i < shown.count; i++) {
        const char digit[] = {(char)('0' + shown.items[i].line), ' ', '\0'};
        strcat(found, digit);
        if (samples[shown.items[i].line - 1].task_name) /* a copy */
            assert_ptr_not_equal(shown.items[i].task_name,
                                 samples[shown.items[i].line - 1].task_name);
    }
    pause_list_clear(&shown);
    assert_string_equal(found, expected);
}

#define SELECT(...) (&(const struct pause_select){__VA_ARGS__})

static void idle_workers_only_on_demand(void **state)
{
    (void)state;
    check(SELECT(.all = false), "1 2 4 ");
    check(SELECT(.all = true), "1 2 3 4 ");
}

static void by_state(void **state)
{
    struct pause_select select = {.all = false};
    (void)state;
    assert_true(pause_select_state(&select, "waiting"));
    check(&select, "2 4 ");
    assert_true(pause_select_state(&select, "attached"));
    check(&select, "1 ");
    assert_true(pause_select_state(&select, "idle")); /* whoever asks for it need not say --all */
    check(&select, "3 ");
    select.all = true;
    assert_true(pause_select_state(&select, "waiting")); /* --all adds nothing to it */
    check(&select, "2 4 ");
    assert_false(pause_select_state(&select, "paused"));
    assert_false(pause_select_state(&select, ""));
}

static void by_job_node_and_actor(void **state)
{
    (void)state;
    check(SELECT(.job = "01", .all = true), "2 3 ");
    check(SELECT(.job = "01"), "2 ");
    check(SELECT(.job = "02000000"), "1 ");
    check(SELECT(.job = "0"), "");
    check(SELECT(.job = ""), "");
    check(SELECT(.node = "10.0.0.7", .all = true), "2 3 ");
    check(SELECT(.node = "beta"), "1 ");
    check(SELECT(.node = "b1b1b1"), "2 ");
    check(SELECT(.actor = "Trainer"), "2 ");
    check(SELECT(.actor = "bob"), "2 ");
    check(SELECT(.actor = "d1d1"), "2 ");
    check(SELECT(.actor = "alice"), "");
    check(SELECT(.job = "01", .node = "beta"), "");
    check(SELECT(.job = "01", .node = "alpha", .actor = "bob"), "2 ");
}

static void check_order(const char *key, const char *expected)
{
    struct pause_select select = {.all = true};
    assert_true(pause_select_sort(&select, key));
    check(&select, expected);
}

static void orders(void **state)
{
    (void)state;
    check_order("node", "4 2 3 1 "); /* unknown first, then by pid */
    check_order("pid", "2 1 4 3 ");
    check_order("age", "3 1 2 4 ");
    check_order("name", "3 2 4 1 ");
    check_order("state", "4 2 1 3 ");
    check_order("job", "4 2 3 1 ");
}

static void unknown_orders(void **state)
{
    struct pause_select select = {.all = true};
    (void)state;
    assert_false(pause_select_sort(&select, "size"));
    assert_false(pause_select_sort(&select, ""));
    assert_null(select.order);
    static const char *const keys[] = {"node", "age", "name", "state", "job", "pid"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(strstr(pause_select_sorts(), keys[i]));
}

static void nothing_of_nothing(void **state)
{
    const struct pause_list list = {0};
    struct pause_select select = {.all = true};
    struct pause_list shown;
    (void)state;
    assert_true(pause_select_sort(&select, "age"));
    pause_select_apply(&select, &list, &shown);
    assert_int_equal(shown.count, 0);
    pause_list_clear(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_workers_only_on_demand),
        cmocka_unit_test(by_state),
        cmocka_unit_test(by_job_node_and_actor),
        cmocka_unit_test(orders),
        cmocka_unit_test(unknown_orders),
        cmocka_unit_test(nothing_of_nothing),
    };
    return cmocka_run_group_tests_name("pause_select", tests, NULL, NULL);
}
