/* What a pause is called, and which pauses a user's word names. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST(items)                                                                                \
    {                                                                                              \
        items, sizeof(items) / sizeof *(items)                                                     \
    }

/* Checks that `word` names just the pauses whose indices `expected` lists, as "0 2 ". */
static void check_find(const struct pause_list *list, const char *word, const char *expected)
{
    char found[100] = "";
    size_t *matches, count;
    pause_find(list, word, &matches, &count);
    for (size_t i = 0; i < count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%zu ", matches[i]);
    free(matches);
    if (strcmp(found, expected) != 0)
        print_error("'%s' names %s\n", word ? word : "(null)", found);
    assert_string_equal(found, expected);
}

static void check_short_id(const struct pause_list *list, size_t index, const char *expected)
{
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    pause_short_id(list, index, id);
    assert_string_equal(id, expected);
}

static void names_of_states_and_debuggers(void **state)
{
    (void)state;
    enum pause_state got = PAUSE_IDLE;
    assert_string_equal(pause_state_name(PAUSE_WAITING), "waiting");
    assert_string_equal(pause_state_name(PAUSE_ATTACHED), "attached");
    assert_string_equal(pause_state_name(PAUSE_IDLE), "idle");
    assert_string_equal(pause_debugger_name(PAUSE_DEBUGPY), "debugpy");
    assert_string_equal(pause_debugger_name(PAUSE_PDB), "pdb");
    assert_true(pause_state_parse("attached", &got));
    assert_int_equal(got, PAUSE_ATTACHED);
    assert_true(pause_state_parse("waiting", &got));
    assert_int_equal(got, PAUSE_WAITING);
    assert_false(pause_state_parse("wait", &got));
    assert_false(pause_state_parse("", &got));
    assert_int_equal(got, PAUSE_WAITING);
}

static void source_of_the_time(void **state)
{
    (void)state;
    struct pause pause = {.debugger = PAUSE_PDB};
    assert_null(pause_since_source(&pause));
    pause.since_ms = 5;
    assert_string_equal(pause_since_source(&pause), "breakpoint");
    pause.debugger = PAUSE_DEBUGPY;
    assert_string_equal(pause_since_source(&pause), "task_start");
}

static void a_stop_differs_from_the_next_at_its_line(void **state)
{
    (void)state;
    struct pause a = {
        .debugger = PAUSE_PYDEVD, .host = "h", .port = 1, .line = 57, .stopped_ms = 7};
    struct pause b = a;
    assert_true(pause_same_stop(&a, &b));
    b.line = 58; /* of another thread that is stopped, too: known later */
    assert_true(pause_same_stop(&a, &b));
    b.line = 57;
    b.stopped_ms = 8;
    assert_false(pause_same_stop(&a, &b));
    assert_true(pause_same(&a, &b));
    b = a;
    b.port = 2;
    assert_false(pause_same_stop(&a, &b));
}

static void stops_of_an_older_relay_are_told_apart_by_line_and_task(void **state)
{
    (void)state;
    struct pause a = {.task_id = TASK_ID("c1"), .debugger = PAUSE_PYDEVD, .host = "h", .line = 57};
    struct pause b = a;
    assert_true(pause_same_stop(&a, &b));
    b.line = 58;
    assert_false(pause_same_stop(&a, &b));
    b = a;
    snprintf(b.task_id, sizeof b.task_id, "%s", TASK_ID("c2"));
    assert_false(pause_same_stop(&a, &b));
    b = a;
    b.stopped_ms = 7; /* it is a newer relay meanwhile */
    assert_false(pause_same_stop(&a, &b));
}

/* --- short ids --- */

static void short_ids_are_unique(void **state)
{
    (void)state;
    struct pause items[] = {
        {.task_id = TASK_ID("c1")},
        {.task_id = "a1a1a1a7" EIGHT_TIMES("00")},
        {.task_id = "a1a1a1b7" EIGHT_TIMES("00")},
        {.task_id = "a1a1a1a9" EIGHT_TIMES("00")},
        {.worker_id = "ffeeddcc" EIGHT_TIMES("00"), .task_id = ""},
        {.worker_id = TASK_ID("c1"), .task_id = TASK_ID("e1")},
    };
    struct pause_list list = LIST(items);
    check_short_id(&list, 0, "c1c1c1");
    check_short_id(&list, 1, "a1a1a1a7");
    check_short_id(&list, 2, "a1a1a1b");
    check_short_id(&list, 3, "a1a1a1a9");
    check_short_id(&list, 4, "ffeedd"); /* no task: the worker's */
    check_short_id(&list, 5, "e1e1e1");
    list.count = 2;
    check_short_id(&list, 1, "a1a1a1");
}

static void short_ids_find_what_they_name(void **state)
{
    (void)state;
    struct pause items[] = {
        {.task_id = "a1a1a1a7" EIGHT_TIMES("00")},
        {.task_id = "a1a1a1b7" EIGHT_TIMES("00")},
        {.worker_id = "a1a1a1a9" EIGHT_TIMES("00")},
    };
    struct pause_list list = LIST(items);
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    static const char *const expected[] = {"0 ", "1 ", "2 "};
    for (size_t i = 0; i < list.count; i++) {
        pause_short_id(&list, i, id);
        check_find(&list, id, expected[i]);
    }
}

/* One id twice (a task whose retry is not known yet), and none at all (pdb of Ray <= 2.34). */
static void short_ids_of_twins_and_of_nothing(void **state)
{
    (void)state;
    struct pause items[] = {
        {.task_id = TASK_ID("c1")},
        {.task_id = TASK_ID("c1")},
        {.debugger = PAUSE_PDB},
    };
    struct pause_list list = LIST(items);
    check_short_id(&list, 0, "c1c1c1");
    check_short_id(&list, 1, "c1c1c1");
    check_short_id(&list, 2, "");
}

/* --- find --- */

static struct pause samples[] = {
    {.task_id = TASK_ID("c1"),
     .task_name = "square",
     .worker_id = UNIQUE_ID("a1"),
     .node_id = UNIQUE_ID("b1"),
     .node_ip = "10.0.0.7",
     .node_name = "alpha",
     .pid = 4711},
    {.task_id = TASK_ID("c2"),
     .task_name = "Trainer.step",
     .actor_id = ACTOR_ID("d2"),
     .actor_class = "Trainer",
     .actor_name = "bob",
     .worker_id = UNIQUE_ID("a2"),
     .node_id = UNIQUE_ID("b2"),
     .node_ip = "10.0.0.8",
     .node_name = "beta",
     .pid = 4711},
    {.task_id = TASK_ID("c3"),
     .task_name = "square",
     .worker_id = UNIQUE_ID("a3"),
     .node_id = UNIQUE_ID("b1"),
     .node_ip = "10.0.0.7",
     .node_name = "alpha",
     .pid = 99},
};

static const struct pause_list sample_list = {samples, 3};

static void finds_by_id(void **state)
{
    (void)state;
    check_find(&sample_list, TASK_ID("c2"), "1 ");
    check_find(&sample_list, TASK_ID("C2"), "1 ");
    check_find(&sample_list, UNIQUE_ID("a3"), "2 ");
    check_find(&sample_list, ACTOR_ID("d2"), "1 ");
    check_find(&sample_list, TASK_ID("c9"), "");
    check_find(&sample_list, TASK_ID("c2") "00", "");
}

static void finds_by_prefix(void **state)
{
    (void)state;
    check_find(&sample_list, "c2c2", "1 ");
    check_find(&sample_list, "C2C2c", "1 ");
    check_find(&sample_list, "c2c", ""); /* too short to mean an id */
    check_find(&sample_list, "d2d2", "1 ");
    check_find(&sample_list, "a3a3a3", "2 ");
    check_find(&sample_list, "b1b1b1", ""); /* a node is no task */
}

static void finds_by_name(void **state)
{
    (void)state;
    check_find(&sample_list, "square", "0 2 ");
    check_find(&sample_list, "Trainer.step", "1 ");
    check_find(&sample_list, "Trainer", "1 ");
    check_find(&sample_list, "bob", "1 ");
    check_find(&sample_list, "Square", "");
    check_find(&sample_list, "squar", "");
    check_find(&sample_list, "", "");
    check_find(&sample_list, NULL, "");
}

static void finds_by_process(void **state)
{
    (void)state;
    check_find(&sample_list, "4711", "0 1 ");
    check_find(&sample_list, "99", "2 ");
    check_find(&sample_list, "4711@10.0.0.8", "1 ");
    check_find(&sample_list, "4711@alpha", "0 ");
    check_find(&sample_list, "4711@b2b2", "1 ");
    check_find(&sample_list, "4711@b2", "");
    check_find(&sample_list, "99@beta", "");
    check_find(&sample_list, "4711@", "");
    check_find(&sample_list, "@alpha", "");
    check_find(&sample_list, "0", "");
    check_find(&sample_list, "-99", "");
    check_find(&sample_list, "99x", "");
    check_find(&sample_list, "99999999999999999999999999999", "");
}

/* A name that is also the beginning of an id, a pid that is one, … : the better kind hides. */
static void a_better_kind_hides_the_others(void **state)
{
    (void)state;
    struct pause items[] = {
        {.task_id = TASK_ID("12"), .worker_id = UNIQUE_ID("a1"), .pid = 1},
        {.task_id = TASK_ID("c2"), .worker_id = UNIQUE_ID("ca"), .pid = 1212},
        {.task_id = TASK_ID("ca"), .task_name = "c2c2c2", .pid = 2},
        {.task_id = TASK_ID("c4"), .task_name = "1", .pid = 3},
        {.task_id = TASK_ID("c5"), .task_name = TASK_ID("12"), .pid = 4},
    };
    struct pause_list list = LIST(items);
    check_find(&list, "1212", "1 ");        /* a pid, not the prefix of a task */
    check_find(&list, "12121", "0 ");       /* no pid: the prefix */
    check_find(&list, "c2c2c2", "2 ");      /* a name, not the prefix */
    check_find(&list, "1", "3 ");           /* a name, not the pid */
    check_find(&list, TASK_ID("12"), "0 "); /* an id, not a name */
    check_find(&list, "caca", "2 ");        /* a task, not a worker */
}

static void finds_by_a_candidate(void **state)
{
    (void)state;
    char candidates[2][ID_TEXT(ID_TASK_BYTES)] = {TASK_ID("c1"), TASK_ID("c2")};
    struct pause items[] = {
        {.task_id = TASK_ID("c1"),
         .ambiguous = true,
         .candidates = candidates,
         .candidate_count = 2},
        {.task_id = TASK_ID("c3")},
    };
    struct pause_list list = LIST(items);
    check_find(&list, TASK_ID("c2"), "0 ");
    check_find(&list, "c2c2c2", "0 ");
    check_find(&list, "c1c1", "0 ");
    check_find(&list, "c3c3", "1 ");
}

static void finds_nothing_in_nothing(void **state)
{
    (void)state;
    struct pause_list list = {0};
    check_find(&list, "square", "");
}

/* --- same --- */

static void same_pauses(void **state)
{
    (void)state;
    struct pause a = {.worker_id = UNIQUE_ID("a1"), .host = "h", .port = 1};
    struct pause b = a;
    assert_true(pause_same(&a, &b));
    b.port = 2; /* one worker has one debugpy */
    assert_true(pause_same(&a, &b));
    b.state = PAUSE_ATTACHED;
    text_copy(b.task_id, sizeof b.task_id, TASK_ID("c1"));
    assert_true(pause_same(&a, &b));
    text_copy(b.worker_id, sizeof b.worker_id, UNIQUE_ID("a2"));
    assert_false(pause_same(&a, &b));

    b = a;
    a.debugger = b.debugger = PAUSE_PDB; /* a worker may have several */
    assert_true(pause_same(&a, &b));
    b.port = 2;
    assert_false(pause_same(&a, &b));
    b = a;
    b.debugger = PAUSE_DEBUGPY;
    assert_false(pause_same(&a, &b));

    struct pause c = {.host = "h", .port = 1}, d = c; /* --connect */
    assert_true(pause_same(&c, &d));
    d.port = 2;
    assert_false(pause_same(&c, &d));
    d = c;
    d.host = "i";
    assert_false(pause_same(&c, &d));
}

/* --- title, job, node, actor --- */

static void check_title(const struct pause *pause, const char *expected)
{
    char title[256];
    pause_title(pause, title, sizeof title);
    assert_string_equal(title, expected);
}

static void titles(void **state)
{
    (void)state;
    check_title(&samples[1], "Trainer.step (c2c2c2) on 10.0.0.8 pid 4711");
    struct pause pause = {.actor_class = "Trainer", .pid = 3};
    check_title(&pause, "Trainer on an unknown node pid 3");
    text_copy(pause.worker_id, sizeof pause.worker_id, UNIQUE_ID("a1"));
    pause.actor_class = NULL;
    pause.node_ip = "10.0.0.7";
    pause.pid = 0;
    check_title(&pause, "worker (a1a1a1) on 10.0.0.7");
    pause.task_name = "a\033[31mb\n";
    check_title(&pause, "a?[31mb? (a1a1a1) on 10.0.0.7");
}

/* What does not fit is cut, at every length. */
static void titles_are_cut(void **state)
{
    (void)state;
    static const char whole[] = "Trainer.step (c2c2c2) on 10.0.0.8 pid 4711";
    for (size_t size = 1; size <= sizeof whole; size++) {
        char *title = mem_alloc(size);
        pause_title(&samples[1], title, size);
        assert_int_equal(strlen(title), size - 1);
        assert_memory_equal(title, whole, size - 1);
        free(title);
    }
}

static void jobs(void **state)
{
    (void)state;
    struct pause pause = {.job_id = "0a000000"};
    assert_true(pause_of_job(&pause, "0a"));
    assert_false(pause_of_job(&pause, "0a00"));
    pause.job_id[0] = '\0';
    assert_false(pause_of_job(&pause, ""));
}

static void nodes_and_actors(void **state)
{
    (void)state;
    const struct pause *pause = &samples[1];
    assert_true(pause_on_node(pause, "10.0.0.8"));
    assert_true(pause_on_node(pause, "beta"));
    assert_true(pause_on_node(pause, "b2b2"));
    assert_true(pause_on_node(pause, UNIQUE_ID("B2")));
    assert_false(pause_on_node(pause, "b2b"));
    assert_false(pause_on_node(pause, "10.0.0"));
    assert_false(pause_on_node(pause, ""));
    assert_true(pause_of_actor(pause, "Trainer"));
    assert_true(pause_of_actor(pause, "bob"));
    assert_true(pause_of_actor(pause, "d2d2"));
    assert_true(pause_of_actor(pause, ACTOR_ID("d2")));
    assert_false(pause_of_actor(pause, "d2d"));
    assert_false(pause_of_actor(pause, "Train"));
    assert_false(pause_of_actor(pause, ""));
    assert_false(pause_of_actor(&samples[0], ""));
    struct pause unknown = {0};
    assert_false(pause_on_node(&unknown, "beta"));
    assert_false(pause_of_actor(&unknown, "d2d2"));
}

/* --- copies --- */

static void copies_own_their_strings(void **state)
{
    (void)state;
    struct pause from = {.task_id = TASK_ID("c1"), .pid = 5, .line = 7, .candidate_count = 2};
    from.task_name = mem_string("f");
    from.actor_class = mem_string("A");
    from.actor_name = mem_string("a");
    from.node_ip = mem_string("10.0.0.7");
    from.node_name = mem_string("alpha");
    from.host = mem_string("localhost");
    from.file = mem_string("/f.py");
    from.candidates = mem_array(2, sizeof *from.candidates);
    text_copy(from.candidates[1], sizeof *from.candidates, TASK_ID("c2"));

    struct pause_list list = {mem_array(2, sizeof(struct pause)), 2};
    pause_copy(&list.items[0], &from);
    pause_copy(&list.items[1], &samples[0]);
    pause_clear(&from);
    assert_null(from.host);
    assert_int_equal(from.candidate_count, 0);
    const struct pause *copy = &list.items[0];
    assert_string_equal(copy->task_id, TASK_ID("c1"));
    assert_string_equal(copy->task_name, "f");
    assert_string_equal(copy->actor_class, "A");
    assert_string_equal(copy->actor_name, "a");
    assert_string_equal(copy->node_ip, "10.0.0.7");
    assert_string_equal(copy->node_name, "alpha");
    assert_string_equal(copy->host, "localhost");
    assert_string_equal(copy->file, "/f.py");
    assert_string_equal(copy->candidates[1], TASK_ID("c2"));
    assert_int_equal(copy->line, 7);
    assert_null(list.items[1].file);
    assert_null(list.items[1].candidates);
    pause_list_clear(&list);
    assert_null(list.items);
    assert_int_equal(list.count, 0);
    pause_list_clear(&list);
}

/* A name means what runs or stands, else one idle worker, never several. */
static void idle_workers_are_hidden(void **state)
{
    (void)state;
    struct pause pauses[] = {
        {.actor_class = "Trainer", .worker_id = UNIQUE_ID("a1"), .state = PAUSE_IDLE},
        {.actor_class = "Trainer", .worker_id = UNIQUE_ID("a2"), .state = PAUSE_WAITING},
        {.actor_class = "Trainer", .worker_id = UNIQUE_ID("a3"), .state = PAUSE_IDLE},
        {.actor_class = "Trainer", .worker_id = UNIQUE_ID("a4"), .state = PAUSE_ATTACHED},
    };
    struct pause_list list = LIST(pauses);
    check_find(&list, "Trainer", "1 3 ");
    check_find(&list, "a1a1a1a1", "0 ");
    pauses[1].state = pauses[3].state = PAUSE_IDLE;
    check_find(&list, "Trainer", "");
    list.count = 1;
    check_find(&list, "Trainer", "0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_workers_are_hidden),
        cmocka_unit_test(names_of_states_and_debuggers),
        cmocka_unit_test(source_of_the_time),
        cmocka_unit_test(a_stop_differs_from_the_next_at_its_line),
        cmocka_unit_test(stops_of_an_older_relay_are_told_apart_by_line_and_task),
        cmocka_unit_test(short_ids_are_unique),
        cmocka_unit_test(short_ids_find_what_they_name),
        cmocka_unit_test(short_ids_of_twins_and_of_nothing),
        cmocka_unit_test(finds_by_id),
        cmocka_unit_test(finds_by_prefix),
        cmocka_unit_test(finds_by_name),
        cmocka_unit_test(finds_by_process),
        cmocka_unit_test(a_better_kind_hides_the_others),
        cmocka_unit_test(finds_by_a_candidate),
        cmocka_unit_test(finds_nothing_in_nothing),
        cmocka_unit_test(same_pauses),
        cmocka_unit_test(titles),
        cmocka_unit_test(titles_are_cut),
        cmocka_unit_test(jobs),
        cmocka_unit_test(nodes_and_actors),
        cmocka_unit_test(copies_own_their_strings),
    };
    return cmocka_run_group_tests_name("pause", tests, NULL, NULL);
}
