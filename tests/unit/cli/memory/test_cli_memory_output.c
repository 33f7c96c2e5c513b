/* What `raydbg memory` prints for people. */
#include "cmocka_prelude.h"
#include "memory_sample.h"

#include "cli/common/terminal.h"
#include "cli/memory/memory_output.h"

#include <locale.h>

static const struct memory_style wide = {.width = 200};

/* Exactly this, and no line's end is blank. Frees what was printed. */
static void check(struct buf *out, const char *expected)
{
    assert_string_equal(out->data ? out->data : "", expected);
    buf_free(out);
}

static struct object_report *run(const struct object_sweep *sweep, enum object_group_by by)
{
    struct sweep_query query = {.group_by = by};
    return sweep_query_run(&query, sweep);
}

static void stores_are_bars(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct buf out = {0};
    memory_print_stores(sweep, &wide, &out);
    check(&out, "node-1 (10.0.0.1)  object store  #...................  6.0 MB of 100 MB   "
                "spilled 4.0 MB\n"
                "node-2 (10.0.0.2)  object store  ####################  7.0 MB of 7.0 MB   "
                "fetches wait for memory\n");
    object_sweep_free(&sweep);
}

static void bars_have_colours_on_a_terminal(void **state)
{
    (void)state;
    const struct memory_style colour = {.width = 80, .colour = true, .utf8 = true};
    struct object_sweep *sweep = memory_sample();
    struct buf out = {0};
    memory_print_stores(sweep, &colour, &out);
    assert_non_null(strstr(out.data, "\033[32m\u2588\u2591"));
    assert_non_null(strstr(out.data, "\033[31m\u2588\u2588"));
    buf_free(&out);
    object_sweep_free(&sweep);
}

static void a_silent_node_says_why(void **state)
{
    (void)state;
    struct object_sweep *sweep = silent_sample();
    struct buf out = {0};
    memory_print_stores(sweep, &wide, &out);
    check(&out, "node-1 (10.0.0.1)  did not answer: connection refused\n");
    memory_print_stats(sweep, &wide, &out);
    check(&out, "node-1 (10.0.0.1)  did not answer: connection refused\n");
    object_sweep_free(&sweep);
}

static void counters_are_summed(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct buf out = {0};
    memory_print_stats(sweep, &wide, &out);
    const char *sum = strstr(out.data, "all 2 nodes");
    assert_non_null(sum);
    assert_string_equal(sum, "all 2 nodes\n"
                             "  used 13.0 MB of 107 MB (12 %), 5 objects\n"
                             "  primary copies 11.0 MB (10 %), 4 objects\n"
                             "  spilled 4.0 MB, 2 objects, 2.0 MB/s\n"
                             "  restored 0 B, 0 objects\n"
                             "  created since it started 0 B, 0 objects\n"
                             "  fetches wait for memory\n");
    buf_free(&out);
    object_sweep_free(&sweep);
}

static void print_lines(const struct memory_style *style, enum object_sort_by by, size_t limit,
                        struct buf *out)
{
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep, OBJECT_BY_NOTHING);
    struct memory_sites lines;
    memory_sites_make(&lines, sweep, report, by);
    memory_print_lines(&lines, sweep, style, limit, out);
    memory_sites_clear(&lines);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void lines_are_of_owner_and_call_site(void **state)
{
    (void)state;
    struct buf out = {0};
    print_lines(&wide, OBJECT_SORT_SIZE, 20, &out);
    check(&out,
          "    SIZE  OBJECTS  REFS  OWNER                  CALL SITE                      "
          "NO VARIABLE             HELD BY\n"
          "  6.0 MB        3     4  driver pid 70@node-1   train.py:12 ray.put in main    "
          "1 of 3 only in objects  1 x variable, 1 x task argument, 1 x in an object, 1 more\n"
          "  5.0 MB        1     1  Trainer pid 60@node-2  load.py:7 ray.put in keep      "
          "actors only             1 x variable\n"
          "   300 B        1     1  unknown                -                              "
          "-                       1 x variable by pid 80@node-2\n"
          "       ?        1     1  driver pid 70@node-1   train.py:20 task call in main  "
          "-                       1 x variable\n");
}

static void lines_that_do_not_fit_are_summed(void **state)
{
    (void)state;
    struct buf out = {0};
    print_lines(&wide, OBJECT_SORT_PID, 1, &out);
    assert_non_null(strstr(out.data, "  5.0 MB        1     1  Trainer pid 60@node-2"));
    assert_null(strstr(out.data, "train.py"));
    assert_non_null(strstr(out.data, "\n  3 more lines with 6.0 MB in 5 objects: "
                                     "--num-entries 4 shows all\n"));
    buf_free(&out);
}

static void without_a_terminal_ids_are_whole(void **state)
{
    (void)state;
    const struct memory_style whole = {.width = 400, .whole = true};
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep, OBJECT_BY_NODE);
    struct buf out = {0};
    memory_print_groups(report, sweep, &whole, OBJECT_BY_NODE, 9, 9, false, &out);
    assert_non_null(strstr(out.data, "  " TASK_ID("e5") "01e1f505\n"));
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    const struct memory_style narrow = {.width = 100, .utf8 = true};
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep, OBJECT_BY_NODE);
    struct buf out = {0};
    print_lines(&narrow, OBJECT_SORT_SIZE, 20, &out);
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
        assert_in_range(terminal_width(line), 1, 100);
    buf_free(&out);
    memory_print_groups(report, sweep, &narrow, OBJECT_BY_NODE, 10, 10, true, &out);
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
        if (line[0] == ' ')
            assert_in_range(terminal_width(line), 1, 100);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void groups_have_their_rows(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep, OBJECT_BY_NODE);
    struct buf out = {0};
    memory_print_groups(report, sweep, &wide, OBJECT_BY_NODE, 1, 2, false, &out);
    check(&out,
          "10.0.0.2 (node-2)  7.0 MB in 3 objects, 3 references: 2 LOCAL_REFERENCE (5.0 MB), "
          "1 PINNED_IN_MEMORY (2.0 MB)\n"
          "    SIZE  REFERENCE         NODE      PID  TYPE    STATUS    ATTEMPT  OWNER        "
          "         CALL SITE                       OBJECT\n"
          "  5.0 MB  LOCAL_REFERENCE   10.0.0.2   60  Worker  FINISHED        1  itself       "
          "         load.py:7 ray.put in keep       e5e5e5..01e1f505\n"
          "  2.0 MB  PINNED_IN_MEMORY  10.0.0.2   60  Worker  -               1  driver pid 70"
          "@node-1  argument of train.Trainer.step  ffffff..02e1f505\n"
          "  1 more reference\n"
          "1 more group\n"
          "--num-entries 4 shows all\n");
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void call_sites_of_groups_are_short(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep, OBJECT_BY_CALL_SITE);
    struct buf out = {0};
    memory_print_groups(report, sweep, &wide, OBJECT_BY_CALL_SITE, 1, 0, false, &out);
    assert_true(text_starts(out.data, "train.py:12 ray.put in main  6.0 MB in 3 objects, "));
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void locate(struct object_sweep *sweep, struct ray_object_location *at, size_t count)
{
    sweep->locations = mem_array(count, sizeof *at);
    sweep->location_count = count;
    memcpy(sweep->locations, at, count * sizeof *at);
}

static void check_where(struct ray_object_location at, const char *expected)
{
    struct object_sweep *sweep = memory_sample();
    struct buf out = {0};
    size_t count;
    at.known = true;
    at.spilled_url = mem_string(at.spilled_url ? at.spilled_url : "");
    if (at.node_count) {
        at.node_ids = mem_array(1, sizeof *at.node_ids);
        memcpy(at.node_ids[0], sweep->nodes[1].node_id, sizeof *at.node_ids);
    }
    locate(sweep, &at, 1);
    memory_where(sweep, &sweep->rows[object_sweep_rows_of(sweep, &at.id, &count)], &out);
    assert_int_equal(count, 1);
    check(&out, expected);
    object_sweep_free(&sweep);
}

static void where_objects_are(void **state)
{
    (void)state;
    struct object_id put = sample_id("e5", PUT), result = sample_id("c3", 1);
    check_where((struct ray_object_location){.id = put, .node_count = 1}, "node-2");
    check_where((struct ray_object_location){.id = put, .spilled_url = "/tmp/x"},
                "spilled on disk");
    check_where((struct ray_object_location){.id = put, .spilled_url = "/tmp/x", .node_count = 1},
                "node-2; spilled on disk");
    check_where((struct ray_object_location){.id = result, .pending = true}, "not made yet");
    check_where((struct ray_object_location){.id = result}, "in its owner");
    check_where((struct ray_object_location){.id = put}, "lost");
}

static void check_totals(struct object_sweep *sweep, const char *expected)
{
    struct object_report *report = run(sweep, OBJECT_BY_NOTHING);
    struct buf out = {0};
    memory_print_totals(report, sweep, &wide, true, &out);
    check(&out, expected);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void totals_that_agree_need_no_reason(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    sweep->nodes[1].store.used = 5 * MEGA + 400;
    check_totals(sweep,
                 "11.0 MB in 6 objects, 7 references; the stores hold 11.0 MB in 5 objects\n");
}

static void totals_say_why_they_differ(void **state)
{
    (void)state;
    check_totals(memory_sample(),
                 "11.0 MB in 6 objects, 7 references; the stores hold 13.0 MB in 5 objects\n"
                 "The stores hold 2.0 MB more than the references name: 2.0 MB are copies on other "
                 "nodes or wait for their eviction; 1 object of unknown size.\n");
    struct object_sweep *sweep = memory_sample();
    sweep->nodes[1].store.used = 0;
    sweep->nodes[1].asked = false;
    sweep->unanswered = 1;
    check_totals(sweep,
                 "11.0 MB in 6 objects, 7 references; the stores hold 6.0 MB in 3 objects\n"
                 "The references name 5.0 MB more than the stores hold: 4.0 MB were spilled to "
                 "disk so far; 1 node did not answer; others were lost.\n");
}

static void what_keeps_an_object(void **state)
{
    (void)state;
    static const struct {
        const char *task;
        unsigned index;
        enum memory_hold hold;
    } cases[] = {
        {"d", PUT, MEMORY_BY_VARIABLE},   {"d", PUT + 1, MEMORY_BY_VARIABLE},
        {"d", PUT + 2, MEMORY_BY_OBJECT}, {"e5", PUT, MEMORY_BY_ACTOR},
        {"b2", PUT, MEMORY_BY_VARIABLE},
    };
    struct object_sweep *sweep = memory_sample();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct object_id id = sample_id(cases[i].task, cases[i].index);
        size_t count, first = object_sweep_rows_of(sweep, &id, &count);
        assert_int_equal(memory_hold_of(sweep, sweep->rows + first, count), cases[i].hold);
    }
    struct ray_object_ref ref = {.pinned = true};
    struct object_row row = {.ref = &ref, .reference = OBJECT_PINNED_IN_MEMORY};
    assert_int_equal(memory_hold_of(sweep, &row, 1), MEMORY_BY_VALUE);
    ref.submitted = 1;
    assert_int_equal(memory_hold_of(sweep, &row, 1), MEMORY_BY_TASK);
    ref = (struct ray_object_ref){0};
    assert_int_equal(memory_hold_of(sweep, &row, 1), MEMORY_BY_NOBODY);
    row.reference = OBJECT_ACTOR_HANDLE;
    assert_int_equal(memory_hold_of(sweep, &row, 1), MEMORY_BY_HANDLE);
    object_sweep_free(&sweep);
}

static void names_are_fit_for_a_terminal(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep, OBJECT_BY_NODE);
    struct memory_sites lines;
    struct buf out = {0};
    free(sweep->processes[1].actor_class);
    sweep->processes[1].actor_class = mem_string("\033[2JEvil");
    free(sweep->nodes[1].name);
    sweep->nodes[1].name = mem_string("\033]0;x\a");
    object_report_free(&report);
    report = run(sweep, OBJECT_BY_NODE);
    memory_print_stores(sweep, &wide, &out);
    memory_print_groups(report, sweep, &wide, OBJECT_BY_NODE, 9, 9, true, &out);
    memory_sites_make(&lines, sweep, report, OBJECT_SORT_SIZE);
    memory_print_lines(&lines, sweep, &wide, 9, &out);
    assert_null(strchr(out.data, '\033'));
    assert_null(strchr(out.data, '\a'));
    assert_non_null(strstr(out.data, "Evil"));
    memory_sites_clear(&lines);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

/* Without call sites a line is of an owner and the task that made its objects. */
static void without_call_sites_tasks_tell(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(1);
    struct ray_worker_objects *driver = sample_process(sweep, 0, 70, RAY_DRIVER);
    for (unsigned i = 1; i <= 100; i++)
        sample_ref(driver, sample_id(i % 2 ? "a1" : "b2", i), 1000, RAY_TASK_FINISHED);
    sweep->tasks = mem_array(1, sizeof *sweep->tasks);
    sweep->task_count = 1;
    text_copy(sweep->tasks[0].task_id, sizeof sweep->tasks[0].task_id, TASK_ID("a1"));
    sweep->tasks[0].name = mem_string("make");
    object_sweep_join(sweep);
    assert_false(memory_has_call_sites(sweep));
    driver->refs[0].call_site = "(deserialize task arg) app.use";
    assert_false(memory_has_call_sites(sweep));
    driver->refs[0].call_site = "app.py:f:1";
    assert_true(memory_has_call_sites(sweep));
    driver->refs[0].call_site = "";
    struct object_report *report = run(sweep, OBJECT_BY_NOTHING);
    struct memory_sites lines;
    struct buf out = {0};
    memory_sites_make(&lines, sweep, report, OBJECT_SORT_SIZE);
    memory_print_lines(&lines, sweep, &wide, 9, &out);
    check(&out,
          "     SIZE  OBJECTS  REFS  OWNER          CALL SITE     NO VARIABLE  HELD BY\n"
          "  50.0 KB       50    50  driver pid 70  -             -            50 x variable\n"
          "  50.0 KB       50    50  driver pid 70  made by make  -            50 x variable\n");
    memory_sites_clear(&lines);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

/* A borrower only knows where it got the object, and may come first. */
static void the_owner_says_where_it_was_made(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(1);
    struct ray_worker_objects *borrower = sample_process(sweep, 0, 70, RAY_WORKER);
    struct ray_worker_objects *owner = sample_process(sweep, 0, 60, RAY_WORKER);
    sample_ref(borrower, sample_id("a1", PUT), 10, RAY_TASK_NIL)->call_site =
        "(deserialize task arg) app.use";
    sample_ref(owner, sample_id("a1", PUT), 10, RAY_TASK_FINISHED)->call_site =
        "(put object)  | /app/a.py:make:3";
    object_sweep_join(sweep);
    struct object_report *report = run(sweep, OBJECT_BY_NOTHING);
    struct memory_sites lines;
    memory_sites_make(&lines, sweep, report, OBJECT_SORT_SIZE);
    assert_int_equal(lines.count, 1);
    assert_string_equal(lines.lines[0].call_site, "(put object)  | /app/a.py:make:3");
    assert_int_equal(lines.lines[0].refs, 2);
    assert_int_equal(lines.lines[0].bytes, 10);
    memory_sites_clear(&lines);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_are_bars),
        cmocka_unit_test(bars_have_colours_on_a_terminal),
        cmocka_unit_test(a_silent_node_says_why),
        cmocka_unit_test(counters_are_summed),
        cmocka_unit_test(lines_are_of_owner_and_call_site),
        cmocka_unit_test(lines_that_do_not_fit_are_summed),
        cmocka_unit_test(without_a_terminal_ids_are_whole),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(groups_have_their_rows),
        cmocka_unit_test(call_sites_of_groups_are_short),
        cmocka_unit_test(where_objects_are),
        cmocka_unit_test(totals_that_agree_need_no_reason),
        cmocka_unit_test(totals_say_why_they_differ),
        cmocka_unit_test(what_keeps_an_object),
        cmocka_unit_test(names_are_fit_for_a_terminal),
        cmocka_unit_test(without_call_sites_tasks_tell),
        cmocka_unit_test(the_owner_says_where_it_was_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
