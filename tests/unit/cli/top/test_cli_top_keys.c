/* The live memory view: filter, sort, group and units, and what it says of itself. */
#include "cmocka_prelude.h"
#include "top_fixture.h"

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

/* The view is made on another thread: a test of the real screen, or a user, waits for the order by
 * the status line, and then chooses among the rows. */
static void the_order_is_that_of_the_shown_rows(void **state)
{
    (void)state;
    struct live live = start(sample(MIB, 9));
    top_model_key(&live.model, TOP_KEY_F6);
    assert_int_equal(top_model_key(&live.model, 'p'), TOP_DO_VIEW);
    shows(&live, "sorted by size");
    make_views(&live);
    shows(&live, "sorted by pid");
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
    shows(&live, "13.0 MB     +1.0 KB");
    press(&live, 'u');
    shows(&live, "11000000 B  +2000000 B");
    type(&live, "uuuu");
    type(&live, "gggggg/1.0");
    press(&live, TOP_KEY_ESCAPE);
    shows(&live, "1.0 KB new");
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
    struct sweep_query query = {.group_by = OBJECT_BY_NODE};
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
        cmocka_unit_test(the_filter_narrows_as_it_is_typed),
        cmocka_unit_test(the_sort_menu),
        cmocka_unit_test(the_order_is_that_of_the_shown_rows),
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
