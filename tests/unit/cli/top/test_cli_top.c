/* The live memory view: what it shows, the way into it, and what stays chosen. */
#include "cmocka_prelude.h"
#include "top_fixture.h"

/* --- the overview --- */

static void the_header_tells_stores_and_totals(void **state)
{
    (void)state;
    struct live live = start(sample(1 * MIB, 0));
    shows(&live, "127.0.0.1:6379 · 2 nodes · 3 processes · 4 refs to 3 objects · 14.0 MB");
    shows(&live, "node-1        [|||");
    shows(&live, "50.0 MB/200 MB]");
    shows(&live, "created        ?/s"); /* not before the second look */
    end(&live);
}

static void rates_are_of_the_time_between_looks(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    struct sample next = sample(MIB, 0);
    next.sweep->taken_ms += 2000;
    next.sweep->nodes[0].store.created_bytes = 6 * MIB;
    next.sweep->nodes[0].store.spilled_bytes = 2 * MIB;
    look(&live, next);
    shows(&live, "created   3.0 MB/s  spills   1.0 MB/s");
    shows(&live, "created      0 B/s  spills      0 B/s");
    /* A raylet that began anew. */
    next = sample(MIB, 0);
    next.sweep->taken_ms += 4000;
    look(&live, next);
    shows(&live, "created        ?/s  spills        ?/s");
    end(&live);
}

static void a_node_that_does_not_answer_says_why(void **state)
{
    (void)state;
    struct sample it = sample(MIB, 0);
    it.sweep->nodes[1].asked = false;
    free(it.sweep->nodes[1].problem);
    it.sweep->nodes[1].problem = mem_string("connection refused");
    it.sweep->unanswered = 1;
    struct live live = start(it);
    shows(&live, "node-2        connection refused");
    shows(&live, "1 of 2 nodes did not answer");
    end(&live);
}

static void many_nodes_leave_room_for_the_list(void **state)
{
    (void)state;
    struct live live = start((struct sample){.sweep = sample_sweep(300)});
    top_model_resize(&live.model, 80, 24);
    shows(&live, "and 294 more nodes");
    assert_true(top_model_layout(&live.model).list_lines >= 10);
    end(&live);
}

static void an_object_counts_its_bytes_once_in_a_group(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    shows(&live, "13.0 MB                   2       2"); /* node-2: A and C */
    shows(&live, "9.0 MB                   2       2");  /* node-1: A and B */
    end(&live);
}

/* --- going in and back --- */

static void from_a_node_to_an_object(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    chosen_is(&live, "10.0.0.2 (node-2)");
    press(&live, TOP_KEY_DOWN);
    chosen_is(&live, "10.0.0.1 (node-1)");
    assert_int_equal(press(&live, TOP_KEY_ENTER), TOP_DO_VIEW);
    shows(&live, "node 10.0.0.1 (node-1) › by call site");
    chosen_is(&live, "train.py:12 ray.put in load");
    shows_not(&live, "serve.py:7"); /* that is on the other node */
    press(&live, TOP_KEY_ENTER);
    shows(&live, "call site train.py:12 ray.put in load › references");
    chosen_is(&live, "8.0 MB");
    assert_int_equal(press(&live, TOP_KEY_ENTER), TOP_DO_DETAIL);
    shows(&live, "owner           pid 100 on node-1, Driver");
    shows(&live, "status          FINISHED, attempt 1");
    shows(&live, "copies          asking its owner");
    shows(&live, "referred to by  2 processes");
    shows(&live, "100  node-1          Driver  LOCAL_REFERENCE");
    shows(&live, "200  node-2          Worker  PINNED_IN_MEMORY");
    assert_int_equal(press(&live, TOP_KEY_ENTER), TOP_DO_NOTHING);
    press(&live, TOP_KEY_LEFT);
    chosen_is(&live, "8.0 MB");
    press(&live, TOP_KEY_BACK);
    press(&live, TOP_KEY_BACK);
    chosen_is(&live, "10.0.0.1 (node-1)");
    assert_int_equal(press(&live, TOP_KEY_BACK), TOP_DO_NOTHING);
    end(&live);
}

/* A list that is not made yet cannot be gone into. */
static void enter_waits_for_the_list(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    assert_int_equal(top_model_key(&live.model, TOP_KEY_ENTER), TOP_DO_VIEW);
    assert_int_equal(top_model_key(&live.model, TOP_KEY_ENTER), TOP_DO_NOTHING);
    top_model_key(&live.model, TOP_KEY_DOWN);
    shows(&live, "counting");
    make_views(&live);
    chosen_is(&live, "serve.py:7");
    end(&live);
}

static void an_object_that_goes_says_so(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    type(&live, "g");
    press(&live, TOP_KEY_ENTER);
    press(&live, TOP_KEY_ENTER);
    shows(&live, "OBJECT");
    look(&live, (struct sample){.sweep = sample_sweep(2)});
    shows(&live, "No process refers to this object any more.");
    press(&live, 's');
    shows(&live, "Its owner is not known");
    press(&live, TOP_KEY_LEFT);
    press(&live, TOP_KEY_LEFT);
    shows(&live, "this is no more");
    end(&live);
}

static void the_owner_and_where_it_is_stopped(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    struct pause pause = {.pid = 200, .state = PAUSE_HELD, .line = 17};
    struct pause_list pauses = {&pause, 1};
    pause.task_name = mem_string("answer");
    pause.file = mem_string("/app/serve.py");
    pause.reason = mem_string("breakpoint");
    press(&live, TOP_KEY_ENTER); /* node-2 */
    press(&live, TOP_KEY_END);   /* of A at 8 MB and C at 5 MB, by their call sites */
    press(&live, TOP_KEY_ENTER);
    type(&live, "j");
    chosen_is(&live, "5.0 MB");
    press(&live, TOP_KEY_ENTER);
    assert_int_equal(press(&live, 's'), TOP_DO_DETAIL);
    shows(&live, "process         pid 200, Worker");
    shows(&live, "node            node-2 (10.0.0.2)");
    shows(&live, "Asking whether it is stopped in a debugger.");
    live.model.pauses = &(struct pause_list){0};
    shows(&live, "It is not stopped in a debugger");
    text_copy(pause.worker_id, sizeof pause.worker_id,
              live.now.sweep->processes[1].worker->worker_id);
    live.model.pauses = &pauses;
    shows(&live, "task            answer");
    shows(&live, "stopped at      /app/serve.py:17, breakpoint");
    shows(&live, "raydbg attach 200@10.0.0.2");
    pause_clear(&pause);
    end(&live);
}

static void what_the_owner_says_of_copies(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    struct object_sweep detail = {0};
    char node[2][ID_TEXT(ID_UNIQUE_BYTES)];
    struct ray_object_location location = {.id = live.now.a, .known = true, .node_ids = node};
    location.spilled_url = "";
    text_copy(node[0], sizeof node[0], live.now.sweep->nodes[1].node_id);
    type(&live, "g");
    press(&live, TOP_KEY_ENTER);
    press(&live, TOP_KEY_ENTER);
    live.model.detail_asked = true;
    shows(&live, "copies          unknown: its owner did not tell");
    detail.locations = &location;
    detail.location_count = location.node_count = 1;
    live.model.detail = &detail;
    shows(&live, "copies          node-2");
    text_copy(node[1], sizeof node[1], live.now.sweep->nodes[0].node_id);
    location.node_count = 2;
    shows(&live, "copies          node-1, node-2");
    location.node_count = 0;
    location.spilled_url = "file:///tmp/spill/1";
    shows(&live, "copies          spilled to file:///tmp/spill/1");
    location.spilled_url = "";
    shows(&live, "copies          no store: in its owner's memory, or lost");
    end(&live);
}

/* --- what is chosen stays chosen --- */

static void the_choice_follows_its_group(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    chosen_is(&live, "node-2");
    look(&live, sample(20 * MIB, 0)); /* now node-1 is the first */
    assert_true(line_with(&live, "(node-1)") < line_with(&live, "(node-2)"));
    chosen_is(&live, "node-2");
    press(&live, TOP_KEY_UP);
    chosen_is(&live, "node-1");
    look(&live, sample(MIB, 0));
    chosen_is(&live, "node-1");
    end(&live);
}

static void the_choice_follows_its_object(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    type(&live, "gg"); /* by owner */
    press(&live, TOP_KEY_ENTER);
    press(&live, TOP_KEY_ENTER);
    press(&live, TOP_KEY_END);
    chosen_is(&live, "1.0 MB");
    look(&live, sample(30 * MIB, 0));
    chosen_is(&live, "30.0 MB");
    end(&live);
}

static void a_choice_that_is_gone_leaves_its_line(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 1));
    type(&live, "gggggg");
    assert_int_equal(top_model_list(&live.model)->by, OBJECT_BY_NOTHING);
    press(&live, TOP_KEY_END);
    chosen_is(&live, "1.0 KB");
    look(&live, sample(MIB, 0));
    chosen_is(&live, "1.0 MB"); /* the last one there is */
    end(&live);
}

static void long_lists_scroll(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 500));
    size_t lines = (size_t)top_model_layout(&live.model).list_lines;
    type(&live, "gggggg");
    press(&live, TOP_KEY_END);
    assert_int_equal(top_model_frame(&live.model)->cursor, 503);
    assert_int_equal(top_model_frame(&live.model)->scroll, 504 - lines);
    press(&live, TOP_KEY_PAGE_UP);
    assert_int_equal(top_model_frame(&live.model)->cursor, 503 - (lines - 1));
    press(&live, TOP_KEY_HOME);
    chosen_is(&live, "8.0 MB");
    press(&live, TOP_KEY_PAGE_DOWN);
    assert_int_equal(top_model_frame(&live.model)->cursor, lines - 1);
    press(&live, TOP_KEY_DOWN);
    top_model_resize(&live.model, 60, 12); /* still in sight */
    draw(&live);
    chosen_is(&live, "1.0 KB");
    end(&live);
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_tells_stores_and_totals),
        cmocka_unit_test(rates_are_of_the_time_between_looks),
        cmocka_unit_test(a_node_that_does_not_answer_says_why),
        cmocka_unit_test(many_nodes_leave_room_for_the_list),
        cmocka_unit_test(an_object_counts_its_bytes_once_in_a_group),
        cmocka_unit_test(from_a_node_to_an_object),
        cmocka_unit_test(enter_waits_for_the_list),
        cmocka_unit_test(an_object_that_goes_says_so),
        cmocka_unit_test(the_owner_and_where_it_is_stopped),
        cmocka_unit_test(what_the_owner_says_of_copies),
        cmocka_unit_test(the_choice_follows_its_group),
        cmocka_unit_test(the_choice_follows_its_object),
        cmocka_unit_test(a_choice_that_is_gone_leaves_its_line),
        cmocka_unit_test(long_lists_scroll),
    };
    return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
