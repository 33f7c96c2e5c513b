/* The live memory view: what it shows and how keys change it, without a terminal. */
#include "cmocka_prelude.h"

#include "object_sample.h"

#include "cli/top_draw.h"

#include <locale.h>
#include <stdlib.h>

enum { MIB = 1000000 };

static const char *const site_a = "(put object) | /app/train.py:load:12 | /app/train.py:main:40";
static const char *const site_b = "(task call) | /app/serve.py:answer:7";

/* Two nodes. The driver (pid 100, node-1) owns A and B of site_a; worker 200 on node-2 borrows A
 * and owns C of site_b; worker 300 on node-2 owns `small` more objects of 1000 bytes. */
struct sample {
    struct object_sweep *sweep;
    struct object_id a, b, c;
};

static struct sample sample(int64_t size_b, size_t small)
{
    struct sample it = {.sweep = sample_sweep(2)};
    it.a = sample_id("d", 1);
    it.b = sample_id("d", 2);
    it.c = sample_id("c1", 1);
    for (size_t i = 0; i < 2; i++) {
        it.sweep->nodes[i].store.used = 50 * MIB;
        it.sweep->nodes[i].store.available = 200 * MIB;
    }
    struct ray_worker_objects *driver = sample_process(it.sweep, 0, 100, RAY_DRIVER);
    sample_ref(driver, it.a, 8 * MIB, RAY_TASK_FINISHED)->call_site = site_a;
    sample_ref(driver, it.b, size_b, RAY_TASK_FINISHED)->call_site = site_a;
    struct ray_worker_objects *worker = sample_process(it.sweep, 1, 200, RAY_WORKER);
    struct ray_object_ref *borrowed = sample_ref(worker, it.a, 8 * MIB, RAY_TASK_NIL);
    borrowed->pinned = true;
    borrowed->call_site = site_b;
    sample_ref(worker, it.c, 5 * MIB, RAY_TASK_FINISHED)->call_site = site_b;
    struct ray_worker_objects *other = sample_process(it.sweep, 1, 300, RAY_WORKER);
    for (size_t i = 0; i < small; i++)
        sample_ref(other, sample_id("e1", (unsigned)i), 1000, RAY_TASK_FINISHED);
    object_sweep_join(it.sweep);
    return it;
}

/* A model with its looks, as the program has it. */
struct live {
    struct top_model model;
    struct sample first, now;
    struct top_view *view, *first_view;
    struct top_page page;
    int64_t clock;
};

static void make_views(struct live *live)
{
    struct top_wanted wanted;
    struct top_view *view, *first = NULL;
    top_model_wanted(&live->model, &wanted);
    view = top_view_build(&wanted, live->now.sweep);
    if (live->now.sweep != live->first.sweep)
        first = top_view_build(&wanted, live->first.sweep);
    top_wanted_clear(&wanted);
    top_model_set_view(&live->model, view, first);
    top_view_free(&live->view);
    top_view_free(&live->first_view);
    live->view = view;
    live->first_view = first;
}

static void look(struct live *live, struct sample now)
{
    struct object_sweep *old = live->now.sweep;
    if (!live->first.sweep)
        live->first = now;
    live->now = now;
    live->model.origin = live->first.sweep;
    top_model_set_sweep(&live->model, now.sweep);
    make_views(live);
    if (old && old != live->first.sweep)
        object_sweep_free(&old);
}

static struct live start(struct sample first)
{
    struct live live = {0};
    struct object_query query = {.group_by = OBJECT_BY_NODE};
    top_model_init(&live.model, &query);
    top_model_resize(&live.model, 120, 30);
    live.model.utf8 = true;
    live.model.source = "127.0.0.1:6379";
    look(&live, first);
    return live;
}

static void end(struct live *live)
{
    top_page_clear(&live->page);
    top_view_free(&live->view);
    top_view_free(&live->first_view);
    top_model_clear(&live->model);
    if (live->first.sweep != live->now.sweep)
        object_sweep_free(&live->first.sweep);
    object_sweep_free(&live->now.sweep);
}

static unsigned press(struct live *live, int key)
{
    unsigned action = top_model_key(&live->model, key);
    if (action & TOP_DO_VIEW)
        make_views(live);
    return action;
}

static void type(struct live *live, const char *keys)
{
    for (; *keys; keys++)
        press(live, *keys);
}

static void draw(struct live *live)
{
    if (live->page.lines)
        top_page_clear(&live->page);
    top_draw(&live->model, &live->page, live->clock);
}

/* The number of the first line that has this text; -1: none. */
static int line_with(struct live *live, const char *text)
{
    int found = -1;
    draw(live);
    for (int i = 0; i < live->page.height && found < 0; i++) {
        char *line = top_page_text(&live->page, i);
        if (strstr(line, text))
            found = i;
        free(line);
    }
    return found;
}

static void shows(struct live *live, const char *text)
{
    if (line_with(live, text) >= 0)
        return;
    for (int i = 0; i < live->page.height; i++) {
        char *line = top_page_text(&live->page, i);
        print_message("%s\n", line);
        free(line);
    }
    fail_msg("nothing shows \"%s\"", text);
}

static void shows_not(struct live *live, const char *text)
{
    int line = line_with(live, text);
    if (line >= 0)
        fail_msg("line %d shows \"%s\"", line, text);
}

/* The line that Enter would act on. */
static void chosen_is(struct live *live, const char *text)
{
    draw(live);
    for (int i = 0; i < live->page.height; i++) {
        const struct top_line *line = &live->page.lines[i];
        if (line->count == 0 || line->cells[0].attr != TOP_SELECTED)
            continue;
        char *said = top_page_text(&live->page, i);
        if (!strstr(said, text))
            fail_msg("chosen is \"%s\", not \"%s\"", said, text);
        free(said);
        return;
    }
    fail_msg("nothing is chosen");
}

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
    shows(&live, "status          FINISHED, attempt 0");
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
    chosen_is(&live, "1.0 kB");
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
    chosen_is(&live, "1.0 kB");
    end(&live);
}

/* --- filter, sort, group, units --- */

static void the_filter_narrows_as_it_is_typed(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 3));
    type(&live, "/serve");
    shows(&live, "Filter: serve");
    assert_true(live.page.cursor > 0);
    shows_not(&live, "(node-1)");
    shows(&live, "(node-2)");
    press(&live, 0xFC); /* ü */
    shows(&live, "Filter: serveü");
    shows(&live, "nothing has the filter's text");
    press(&live, TOP_KEY_BACK);
    press(&live, TOP_KEY_ENTER);
    shows(&live, "filter: serve");
    assert_int_equal(live.page.cursor, -1);
    type(&live, "/q"); /* a letter there, not a command */
    shows(&live, "Filter: serveq");
    assert_int_equal(press(&live, TOP_KEY_ESCAPE), TOP_DO_VIEW);
    shows(&live, "(node-1)");
    shows_not(&live, "ilter: ");
    end(&live);
}

static void the_sort_menu(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 9));
    shows(&live, "sorted by size");
    type(&live, "gggggg");
    press(&live, TOP_KEY_F6);
    shows(&live, "Sort by");
    assert_int_equal(press(&live, 'p'), TOP_DO_VIEW);
    shows(&live, "sorted by pid");
    press(&live, TOP_KEY_HOME);
    chosen_is(&live, " 100 Driver");
    press(&live, '>');
    press(&live, TOP_KEY_UP);
    assert_int_equal(press(&live, TOP_KEY_ENTER), TOP_DO_VIEW);
    shows(&live, "sorted by refs");
    /* Ages are those of tasks, which have to be asked for. */
    press(&live, '>');
    assert_false(top_model_names_wanted(&live.model));
    assert_int_equal(press(&live, 'a'), TOP_DO_VIEW | TOP_DO_ASK);
    assert_true(top_model_names_wanted(&live.model));
    press(&live, '>');
    assert_int_equal(press(&live, TOP_KEY_ESCAPE), TOP_DO_NOTHING);
    shows(&live, "sorted by age");
    end(&live);
}

static void grouping_cycles_and_leaves_out_what_was_chosen(void **state)
{
    (void)state;
    static const char *const titles[] = {"CALL SITE", "OWNER", "TASK", "ACTOR", "JOB", "REFERENCE"};
    struct live live = start(sample(MIB, 0));
    shows(&live, "NODE");
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        assert_true(press(&live, 'g') & TOP_DO_VIEW);
        shows(&live, titles[i]);
    }
    press(&live, 'g');
    shows(&live, "by node");
    press(&live, TOP_KEY_ENTER);
    for (size_t i = 0; i < OBJECT_BY_COUNT; i++) {
        assert_int_not_equal(top_model_list(&live.model)->by, OBJECT_BY_NODE);
        press(&live, 'g');
    }
    end(&live);
}

static void units_and_growth(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    look(&live, sample(3 * MIB, 1));
    shows(&live, "11.0 MB     +2.0 MB");
    shows(&live, "13.0 MB     +1.0 kB");
    press(&live, 'u');
    shows(&live, "11000000 B  +2000000 B");
    type(&live, "uuuu");
    type(&live, "gggggg/1.0");
    press(&live, TOP_KEY_ESCAPE);
    shows(&live, "1.0 kB new");
    assert_int_equal(line_with(&live, "8.0 MB new"), -1);
    end(&live);
}

static void shrinking_shows_too(void **state)
{
    (void)state;
    struct live live = start(sample(9 * MIB, 0));
    look(&live, sample(MIB, 0));
    shows(&live, "9.0 MB     -8.0 MB");
    end(&live);
}

static void pause_and_interval(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    shows(&live, "every 2 s");
    assert_int_equal(press(&live, '+'), TOP_DO_TIMER);
    shows(&live, "every 5 s");
    type(&live, "----------");
    shows(&live, "every 0.25 s");
    type(&live, "++++++++++++");
    assert_int_equal(top_model_interval_ms(&live.model), 60000);
    assert_int_equal(press(&live, ' '), TOP_DO_TIMER);
    assert_true(live.model.paused);
    shows(&live, "paused");
    end(&live);
}

/* --- status, help, sizes --- */

static void trouble_keeps_the_old_screen(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    text_copy(live.model.problem, sizeof live.model.problem, "the GCS does not answer");
    shows(&live, "the GCS does not answer (this is of ");
    shows(&live, "(node-1)");
    live.model.problem[0] = '\0';
    live.clock = 1000000;
    live.model.asked_ms = live.clock - 400;
    shows_not(&live, "asking");
    live.model.asked_ms = live.clock - 3400;
    shows(&live, "asking for 3 s");
    end(&live);
}

static void before_the_first_look(void **state)
{
    (void)state;
    struct live live = {0};
    struct object_query query = {.group_by = OBJECT_BY_NODE};
    top_model_init(&live.model, &query);
    live.model.source = "127.0.0.1:6379";
    shows(&live, "asking 127.0.0.1:6379");
    static const int keys[] = {TOP_KEY_DOWN,   TOP_KEY_ENTER, 'g',           's',         '/', 'x',
                               TOP_KEY_ESCAPE, TOP_KEY_F6,    TOP_KEY_ENTER, TOP_KEY_END, ' ', 'u'};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        top_model_key(&live.model, keys[i]);
        draw(&live);
    }
    end(&live);
}

static void help_and_the_end(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    press(&live, TOP_KEY_F1);
    shows(&live, "group by node, call site, owner");
    assert_int_equal(press(&live, 'q'), TOP_DO_NOTHING);
    shows_not(&live, "HELP");
    assert_int_equal(press(&live, 'q'), TOP_DO_QUIT);
    assert_int_equal(press(&live, TOP_KEY_F10), TOP_DO_QUIT);
    type(&live, "/");
    assert_int_equal(press(&live, 3), TOP_DO_QUIT);
    end(&live);
}

static void help_scrolls_on_a_small_screen(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 0));
    top_model_resize(&live.model, 80, 12);
    press(&live, 'h');
    shows(&live, "choose a line");
    for (size_t i = 0; i < 100; i++)
        press(&live, TOP_KEY_DOWN);
    shows(&live, "created and spills");
    press(&live, TOP_KEY_UP); /* it had stopped at the end */
    shows_not(&live, "created and spills");
    end(&live);
}

/* Whatever the size. */
static void no_line_is_too_wide(struct live *live)
{
    for (int columns = 1; columns <= 200; columns += 7) {
        for (int height = 1; height <= 40; height += 3) {
            top_model_resize(&live->model, columns, height);
            draw(live);
            for (int i = 0; i < height; i++)
                assert_true(live->page.lines[i].width <= columns);
        }
    }
}

static void every_size_of_terminal(void **state)
{
    (void)state;
    struct live live = start((struct sample){.sweep = sample_sweep(1)});
    no_line_is_too_wide(&live);
    end(&live);
    live = start(sample(MIB, 40));
    press(&live, TOP_KEY_DOWN);
    no_line_is_too_wide(&live);
    top_model_resize(&live.model, 40, 24);
    shows(&live, "SIZE");
    shows(&live, "REFS");
    shows_not(&live, "PINNED");
    chosen_is(&live, "node-1");
    end(&live);
}

static void what_a_worker_says_cannot_steer_the_terminal(void **state)
{
    (void)state;
    struct sample it = sample(MIB, 0);
    it.sweep->processes[0].worker->refs[0].call_site = "\033[2J\x07 evil";
    struct live live = start(it);
    type(&live, "g");
    shows(&live, "?[2J? evil");
    live.model.utf8 = false;
    shows(&live, "node");
    for (int i = 0; i < live.page.height; i++) {
        char *line = top_page_text(&live.page, i);
        for (const char *c = line; *c; c++)
            assert_true(*c >= ' ' && *c < 0x7F);
        free(line);
    }
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
        cmocka_unit_test(the_filter_narrows_as_it_is_typed),
        cmocka_unit_test(the_sort_menu),
        cmocka_unit_test(grouping_cycles_and_leaves_out_what_was_chosen),
        cmocka_unit_test(units_and_growth),
        cmocka_unit_test(shrinking_shows_too),
        cmocka_unit_test(pause_and_interval),
        cmocka_unit_test(trouble_keeps_the_old_screen),
        cmocka_unit_test(before_the_first_look),
        cmocka_unit_test(help_and_the_end),
        cmocka_unit_test(help_scrolls_on_a_small_screen),
        cmocka_unit_test(every_size_of_terminal),
        cmocka_unit_test(what_a_worker_says_cannot_steer_the_terminal),
    };
    return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
