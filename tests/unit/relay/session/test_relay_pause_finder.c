/* The one pause that an attach means, or why there is none. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "relay/session/pause_finder.h"

#include <string.h>

static const struct cluster_address address = {.text = "10.0.0.1:6379"};

static struct pause samples[] = {
    {.task_id = TASK_ID("c1"), .task_name = "square", .node_ip = "10.0.0.7", .pid = 1},
    {.task_id = TASK_ID("c2"), .task_name = "cube", .node_ip = "10.0.0.8", .pid = 2},
    {.task_id = TASK_ID("c3"), .task_name = "square", .node_ip = "10.0.0.8", .pid = 3},
};

static int choose(struct pause *items, size_t count, const char *task, const struct pause **out,
                  struct err *err)
{
    struct pause_list list = {items, count};
    *out = NULL;
    *err = (struct err){0};
    int rc = pause_finder_choose(&list, task, &address, out, err);
    assert_int_equal(rc == 0, *out != NULL);
    assert_int_equal(rc == 0, err->code == ERR_NONE);
    return rc;
}

static void nothing_is_paused(void **state)
{
    const struct pause *pause;
    struct err err;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(choose(NULL, 0, i ? "square" : NULL, &pause, &err), -1);
        assert_int_equal(err.code, ERR_NOT_FOUND);
        assert_string_equal(err.what, "no task is paused on 10.0.0.1:6379");
        assert_non_null(strstr(err.hint, "debugpy"));
    }
}

static void one_is_named(void **state)
{
    const struct pause *pause;
    struct err err;
    (void)state;
    assert_int_equal(choose(samples, 3, "cube", &pause, &err), 0);
    assert_ptr_equal(pause, &samples[1]);
    assert_int_equal(choose(samples, 3, "c3c3c3", &pause, &err), 0);
    assert_ptr_equal(pause, &samples[2]);
    assert_int_equal(choose(samples, 3, "1@10.0.0.7", &pause, &err), 0);
    assert_ptr_equal(pause, &samples[0]);
}

static void none_is_named(void **state)
{
    const struct pause *pause;
    struct err err;
    (void)state;
    assert_int_equal(choose(samples, 3, "sphere", &pause, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.what, "no paused task is called 'sphere'");
    assert_string_equal(err.why, "3 are paused: square (c1c1c1), cube (c2c2c2), square (c3c3c3)");
}

static void a_name_that_is_near(void **state)
{
    const struct pause *pause;
    struct err err;
    (void)state;
    assert_int_equal(choose(samples, 3, "cuba", &pause, &err), -1);
    assert_string_equal(err.what, "no paused task is called 'cuba'; did you mean cube (c2c2c2)?");
    assert_int_equal(choose(samples, 3, "c", &pause, &err), -1); /* too short to guess */
    assert_string_equal(err.what, "no paused task is called 'c'");
}

static void several_are_named(void **state)
{
    const struct pause *pause;
    struct err err;
    (void)state;
    assert_int_equal(choose(samples, 3, "square", &pause, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.what, "'square' names 2 paused tasks");
    assert_string_equal(err.why, "square (c1c1c1), square (c3c3c3)");
    assert_non_null(strstr(err.hint, "PID@NODE"));
}

/* Workers whose task is over are no paused tasks, and so not several. */
static void idle_workers_are_not_meant(void **state)
{
    const struct pause *pause;
    struct err err;
    struct pause items[3];
    (void)state;
    memcpy(items, samples, sizeof items);
    items[0].state = items[2].state = PAUSE_IDLE;
    assert_int_equal(choose(items, 3, "square", &pause, &err), -1);
    assert_string_equal(err.what, "no paused task is called 'square'");
    assert_string_equal(err.why, "1 is paused: cube (c2c2c2)");
    items[2].state = PAUSE_WAITING;
    assert_int_equal(choose(items, 3, "square", &pause, &err), 0);
    assert_ptr_equal(pause, &items[2]);
}

static void the_only_one_needs_no_name(void **state)
{
    const struct pause *pause;
    struct err err;
    (void)state;
    assert_int_equal(choose(samples + 1, 1, NULL, &pause, &err), 0);
    assert_ptr_equal(pause, &samples[1]);
}

/* Without a name only those that wait are meant: not what somebody has attached to. */
static void the_only_one_that_waits_needs_no_name(void **state)
{
    const struct pause *pause;
    struct err err;
    struct pause items[3];
    (void)state;
    memcpy(items, samples, sizeof items);
    items[0].state = PAUSE_ATTACHED;
    items[2].state = PAUSE_IDLE;
    assert_int_equal(choose(items, 3, NULL, &pause, &err), 0);
    assert_ptr_equal(pause, &items[1]);
    assert_int_equal(choose(items, 3, "1@10.0.0.7", &pause, &err), 0);
    assert_ptr_equal(pause, &items[0]); /* but by name they can be had */
}

static void several_and_no_name(void **state)
{
    const struct pause *pause;
    struct err err;
    struct pause items[3];
    (void)state;
    assert_int_equal(choose(samples, 2, NULL, &pause, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.what, "2 tasks are paused: which one?");
    assert_string_equal(err.why, "square (c1c1c1), cube (c2c2c2)");
    memcpy(items, samples, sizeof items);
    items[2].state = PAUSE_ATTACHED; /* not counted, not listed */
    assert_int_equal(choose(items, 3, NULL, &pause, &err), -1);
    assert_string_equal(err.what, "2 tasks are paused: which one?");
    assert_string_equal(err.why, "square (c1c1c1), cube (c2c2c2)");
}

/* Nobody waits: whom to name is all that can be said. */
static void none_waits(void **state)
{
    const struct pause *pause;
    struct err err;
    struct pause item = samples[0];
    (void)state;
    item.state = PAUSE_ATTACHED;
    assert_int_equal(choose(&item, 1, NULL, &pause, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.what, "no task waits for a debugger on 10.0.0.1:6379");
    assert_string_equal(err.why, "others are, or were, attached to square (c1c1c1)");
    assert_non_null(strstr(err.hint, "PID@NODE"));
}

static void long_lists_are_cut(void **state)
{
    const struct pause *pause;
    struct err err;
    struct pause items[9] = {{.task_id = ""}};
    (void)state;
    for (size_t i = 0; i < 9; i++)
        memset(items[i].task_id, (int)('1' + i), 48);
    assert_int_equal(choose(items, 9, NULL, &pause, &err), -1);
    assert_string_equal(err.what, "9 tasks are paused: which one?");
    assert_string_equal(err.why, "? (111111), ? (222222), ? (333333), ? (444444), ? (555555), "
                                 "and 4 more");
}

static void pdb_on_another_localhost_is_refused(void **state)
{
    const struct pause *pause;
    struct err err;
    struct pause item = samples[0];
    (void)state;
    item.debugger = PAUSE_PDB;
    item.host = "localhost";
    assert_int_equal(choose(&item, 1, NULL, &pause, &err), -1);
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_string_equal(err.what,
                        "square (c1c1c1) on 10.0.0.7 pid 1 waits in Ray's pdb, which listens "
                        "on its own node's localhost only");
    assert_non_null(strstr(err.hint, "relay"));
    item.host = "10.0.0.7"; /* --ray-debugger-external */
    assert_int_equal(choose(&item, 1, NULL, &pause, &err), 0);
    item.host = "localhost";
    item.state = PAUSE_HELD; /* the relay there is connected to it */
    assert_int_equal(choose(&item, 1, NULL, &pause, &err), 0);
    item.state = samples[0].state;
    item.node_ip = "127.0.0.1";
    assert_int_equal(choose(&item, 1, NULL, &pause, &err), 0);
}

/* Anybody can name a task. */
static void names_are_made_printable(void **state)
{
    const struct pause *pause;
    struct err err;
    struct pause items[2];
    (void)state;
    memcpy(items, samples, sizeof items);
    items[0].task_name = "a\033[2Jb\nc\302\233";
    assert_int_equal(choose(items, 2, NULL, &pause, &err), -1);
    assert_string_equal(err.why, "a?[2Jb?c? (c1c1c1), cube (c2c2c2)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_paused),
        cmocka_unit_test(one_is_named),
        cmocka_unit_test(none_is_named),
        cmocka_unit_test(a_name_that_is_near),
        cmocka_unit_test(several_are_named),
        cmocka_unit_test(idle_workers_are_not_meant),
        cmocka_unit_test(the_only_one_needs_no_name),
        cmocka_unit_test(the_only_one_that_waits_needs_no_name),
        cmocka_unit_test(several_and_no_name),
        cmocka_unit_test(none_waits),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(pdb_on_another_localhost_is_refused),
        cmocka_unit_test(names_are_made_printable),
    };
    return cmocka_run_group_tests_name("finder", tests, NULL, NULL);
}
