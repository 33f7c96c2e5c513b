/* Rows filtered, grouped and sorted. */
#include "cmocka_prelude.h"
#include "object_sample.h"

#include "relay/sweep/sweep_query.h"

#include <stdlib.h>

/* Two nodes; a driver (pid 70) with three objects, an actor (pid 60) that borrows the first and has
 * put one, and a plain worker (pid 80) with one whose size nobody knows and whose owner is gone. */
static struct object_sweep *cluster(void)
{
    static const char train[] = "train.py:5", load[] = "load.py:9";
    struct object_sweep *sweep = sample_sweep(2);
    struct ray_worker_objects *driver = sample_process(sweep, 0, 70, RAY_DRIVER);
    struct ray_worker_objects *actor = sample_process(sweep, 1, 60, RAY_WORKER);
    struct ray_worker_objects *worker = sample_process(sweep, 1, 80, RAY_WORKER);
    text_copy(actor->actor_id, sizeof actor->actor_id, ACTOR_ID("e5"));
    text_copy(worker->job_id, sizeof worker->job_id, "02000000");
    free(sweep->processes[1].actor_class);
    free(sweep->processes[1].actor_name);
    sweep->processes[1].actor_class = mem_string("Trainer");
    sweep->processes[1].actor_name = mem_string("bob");
    sample_ref(driver, sample_id("a1", 1), 1000, RAY_TASK_FINISHED)->call_site = train;
    sample_ref(driver, sample_id("b2", 1), 500, RAY_TASK_FINISHED)->call_site = load;
    sample_ref(driver, sample_put("d", 1), 20, RAY_TASK_FINISHED)->pinned = true;
    sample_ref(actor, sample_id("a1", 1), -1, RAY_TASK_NIL);
    sample_ref(actor, sample_put("e5", 2), 5000, RAY_TASK_FINISHED)->call_site = "train.py:5";
    sample_ref(worker, sample_id("c3", 1), -1, RAY_TASK_NIL)->submitted = 1;
    sweep->tasks = mem_array(2, sizeof *sweep->tasks);
    sweep->task_count = 2;
    text_copy(sweep->tasks[0].task_id, sizeof sweep->tasks[0].task_id, TASK_ID("a1"));
    text_copy(sweep->tasks[1].task_id, sizeof sweep->tasks[1].task_id, TASK_ID("b2"));
    sweep->tasks[0].name = mem_string("make");
    sweep->tasks[1].name = mem_string("make");
    sweep->tasks[0].running_ms = 2000;
    sweep->tasks[1].running_ms = 1000;
    object_sweep_join(sweep);
    return sweep;
}

/* "key rows/objects/bytes, …" of the groups in their order. */
static void check(struct sweep_query query, const char *expected)
{
    struct object_sweep *sweep = cluster();
    struct object_report *report = sweep_query_run(&query, sweep);
    struct buf text = {0};
    size_t rows = 0;
    buf_add_string(&text, "");
    for (size_t i = 0; i < report->group_count; i++) {
        const struct object_group *group = &report->groups[i];
        buf_printf(&text, "%s%s %zu/%zu/%lld", i ? ", " : "", group->key, group->row_count,
                   group->objects, (long long)group->bytes);
        rows += group->row_count;
    }
    assert_string_equal(text.data, expected);
    assert_int_equal(report->rows, rows);
    buf_free(&text);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

/* What is left of TASK_ID("e5") without three bytes. */
#define OF_E5 FOUR_TIMES("e5e5e5e5e5") "e5"

static void grouped(void **state)
{
    (void)state;
    check((struct sweep_query){0}, "all 6/5/6520");
    check((struct sweep_query){.group_by = OBJECT_BY_NODE},
          "10.0.0.2 (node-2) 3/3/6000, 10.0.0.1 (node-1) 3/3/1520");
    check((struct sweep_query){.group_by = OBJECT_BY_CALL_SITE},
          "train.py:5 2/2/6000, disabled 3/3/1020, load.py:9 1/1/500");
    check((struct sweep_query){.group_by = OBJECT_BY_OWNER},
          "pid 60@node-2, Trainer 1/1/5000, pid 70@node-1, driver 4/3/1520, unknown owner 1/1/0");
    check((struct sweep_query){.group_by = OBJECT_BY_TASK},
          "??e5e5" OF_E5
          " 1/1/5000, make 3/2/1500, driver of job 01000000 1/1/20, " TASK_ID("c3") " 1/1/0");
    check((struct sweep_query){.group_by = OBJECT_BY_ACTOR},
          "Trainer (bob) " ACTOR_ID("e5") " 2/2/6000, no actor 4/4/1520");
    check((struct sweep_query){.group_by = OBJECT_BY_JOB}, "01000000 5/4/6520, 02000000 1/1/0");
}

static void groups_are_sorted(void **state)
{
    (void)state;
    check((struct sweep_query){.group_by = OBJECT_BY_CALL_SITE, .sort_by = OBJECT_SORT_REFS},
          "disabled 3/3/1020, train.py:5 2/2/6000, load.py:9 1/1/500");
    check((struct sweep_query){.group_by = OBJECT_BY_NODE, .sort_by = OBJECT_SORT_PID},
          "10.0.0.2 (node-2) 3/3/6000, 10.0.0.1 (node-1) 3/3/1520");
    check((struct sweep_query){.group_by = OBJECT_BY_CALL_SITE, .sort_by = OBJECT_SORT_AGE},
          "load.py:9 1/1/500, train.py:5 2/2/6000, disabled 3/3/1020");
}

static void filtered(void **state)
{
    (void)state;
    check((struct sweep_query){.filter = "LOAD.PY"}, "all 1/1/500");
    check((struct sweep_query){.filter = "pinned"}, "all 1/1/20");
    check((struct sweep_query){.filter = "10.0.0.2"}, "all 3/3/6000");
    check((struct sweep_query){.filter = "node-1"}, "all 3/3/1520");
    check((struct sweep_query){.filter = "80"}, "all 1/1/0");
    check((struct sweep_query){.filter = "trainer"}, "all 2/2/6000");
    check((struct sweep_query){.filter = "make"}, "all 3/2/1500");
    check((struct sweep_query){.filter = "C3C3"}, "all 1/1/0");
    check((struct sweep_query){.filter = "nowhere"}, "");
    check((struct sweep_query){.filter = "load", .group_by = OBJECT_BY_NODE},
          "10.0.0.1 (node-1) 1/1/500");
}

static void of_a_task(void **state)
{
    (void)state;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    snprintf(worker_id, sizeof worker_id, "%0*x", 2 * ID_UNIQUE_BYTES, 3);
    check((struct sweep_query){.task = "make"}, "all 3/2/1500");
    check((struct sweep_query){.task = "mak"}, "");
    check((struct sweep_query){.task = "a1A1a1"}, "all 2/1/1000");
    check((struct sweep_query){.task = ""}, "");
    check((struct sweep_query){.task = "a1", .task_worker = worker_id}, "all 3/2/1000");
    check((struct sweep_query){.worker_id = worker_id}, "all 1/1/0");
    check((struct sweep_query){.task = "e5e5e5"}, "all 1/1/5000");
    check((struct sweep_query){.task = "e5e5f"}, "");
    check((struct sweep_query){.task = "e5"}, ""); /* it may be any put's */
    check((struct sweep_query){.worker_id = worker_id, .task = "make"}, "");
}

/* The first rows' pids and sizes, as "pid:size …". */
static void check_order(enum object_sort_by by, const char *expected)
{
    struct object_sweep *sweep = cluster();
    struct sweep_query query = {.sort_by = by};
    struct object_report *report = sweep_query_run(&query, sweep);
    struct buf text = {0};
    for (size_t i = 0; i < report->groups[0].row_count; i++) {
        const struct object_row *row = report->groups[0].rows[i];
        buf_printf(&text, "%s%lld:%lld", i ? " " : "",
                   (long long)sweep->processes[row->process].worker->pid, (long long)row->size);
    }
    assert_string_equal(text.data, expected);
    buf_free(&text);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void rows_are_sorted(void **state)
{
    (void)state;
    check_order(OBJECT_SORT_SIZE, "60:5000 70:1000 60:1000 70:500 70:20 80:-1");
    check_order(OBJECT_SORT_REFS, "70:1000 60:1000 60:5000 70:500 70:20 80:-1");
    check_order(OBJECT_SORT_PID, "60:5000 60:1000 70:1000 70:500 70:20 80:-1");
    check_order(OBJECT_SORT_AGE, "70:500 70:1000 60:1000 60:5000 70:20 80:-1");
}

static void each_kind_is_counted(void **state)
{
    (void)state;
    struct object_sweep *sweep = cluster();
    struct sweep_query query = {0};
    struct object_report *report = sweep_query_run(&query, sweep);
    const struct object_group *all = &report->groups[0];
    assert_int_equal(all->by_reference[OBJECT_LOCAL_REFERENCE], 4);
    assert_int_equal(all->bytes_by_reference[OBJECT_LOCAL_REFERENCE], 6500);
    assert_int_equal(all->by_reference[OBJECT_PINNED_IN_MEMORY], 1);
    assert_int_equal(all->bytes_by_reference[OBJECT_PINNED_IN_MEMORY], 20);
    assert_int_equal(all->by_reference[OBJECT_USED_BY_PENDING], 1);
    assert_int_equal(all->unknown, 1);
    assert_int_equal(report->objects, 5);
    assert_int_equal(report->bytes, 6520);
    object_report_free(&report);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void an_empty_sweep(void **state)
{
    (void)state;
    for (size_t i = 0; i < OBJECT_BY_COUNT; i++) {
        struct object_sweep *sweep = sample_sweep(0);
        object_sweep_join(sweep);
        struct sweep_query query = {.group_by = (enum object_group_by)i, .filter = "x"};
        struct object_report *report = sweep_query_run(&query, sweep);
        assert_int_equal(report->group_count, 0);
        assert_int_equal(report->rows, 0);
        object_report_free(&report);
        object_sweep_free(&sweep);
    }
}

/* As many groups as rows: the numbers of keys grow. */
static void many_groups(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    static char sites[ROWS][16];
    struct object_sweep *sweep = sample_sweep(1);
    struct ray_worker_objects *driver = sample_process(sweep, 0, 70, RAY_DRIVER);
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(sites[i], sizeof sites[i], "site %u", i / 2);
        sample_ref(driver, sample_id("d", i), i, RAY_TASK_FINISHED)->call_site = sites[i];
    }
    object_sweep_join(sweep);
    struct sweep_query query = {.group_by = OBJECT_BY_CALL_SITE};
    struct object_report *report = sweep_query_run(&query, sweep);
    assert_int_equal(report->group_count, ROWS / 2);
    for (size_t i = 0; i < report->group_count; i++) {
        char key[16];
        snprintf(key, sizeof key, "site %zu", ROWS / 2 - 1 - i);
        assert_string_equal(report->groups[i].key, key);
        assert_int_equal(report->groups[i].objects, 2);
    }
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void names(void **state)
{
    (void)state;
    enum object_group_by by;
    enum object_sort_by sort;
    for (size_t i = 0; i < OBJECT_BY_COUNT; i++) {
        assert_true(object_group_parse(object_group_name((enum object_group_by)i), &by));
        assert_int_equal(by, i);
    }
    for (size_t i = 0; i < OBJECT_SORT_COUNT; i++) {
        assert_true(sweep_query_sort_parse(sweep_query_sort_name((enum object_sort_by)i), &sort));
        assert_int_equal(sort, i);
    }
    assert_null(object_group_name(OBJECT_BY_COUNT));
    assert_null(sweep_query_sort_name(OBJECT_SORT_COUNT));
    assert_false(object_group_parse("call_site", &by));
    assert_false(sweep_query_sort_parse("", &sort));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grouped),         cmocka_unit_test(groups_are_sorted),
        cmocka_unit_test(filtered),        cmocka_unit_test(of_a_task),
        cmocka_unit_test(rows_are_sorted), cmocka_unit_test(each_kind_is_counted),
        cmocka_unit_test(an_empty_sweep),  cmocka_unit_test(many_groups),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("object_query", tests, NULL, NULL);
}
