/* One stopped worker's references: when it is asked, what is known, whom its objects belong to. */
#include "cmocka_prelude.h"
#include "objects_fixture.h"

#define JOB "01000000"
#define W UNIQUE_ID("a1")      /* the worker */
#define PARENT UNIQUE_ID("b2") /* on the other node */
#define DRIVER UNIQUE_ID("c3")
#define DEAD UNIQUE_ID("d4")
#define STRANDED UNIQUE_ID("e5") /* its node is gone, and nobody could say that it is, too */
#define ACTOR_WORKER UNIQUE_ID("f6")
#define N1 UNIQUE_ID("11")
#define N2 UNIQUE_ID("22")
#define N3 UNIQUE_ID("33")

#define NO_ACTOR "ffffffffffffffffffffffff"
#define TASK_OF(eight) eight NO_ACTOR JOB
#define DRIVER_TASK "ffffffffffffffff" NO_ACTOR JOB
#define ACTOR "9999999999999999aaaaaaaa" JOB
#define RETURNED(task) task "01000000"
#define PUT(task) task "01e1f505" /* 100,000,001 */

static const struct ray_node nodes[] = {
    {N1, (char *)"10.0.0.1", (char *)"node-1", 71, true, true},
    {N2, (char *)"10.0.0.2", (char *)"node-2", 72, true, false},
    {N3, (char *)"10.0.0.3", (char *)"node-3", 73, false, false},
};

static const struct ray_worker workers[] = {
    {.worker_id = W, N1, (char *)"10.0.0.1", 1, 100, true},
    {.worker_id = STRANDED, N3, (char *)"10.0.0.3", 5, 500, true},
    {.worker_id = PARENT, N2, (char *)"10.0.0.2", 2, 200, true},
    {.worker_id = DRIVER, N1, (char *)"10.0.0.1", 3, 300, true, true},
    {.worker_id = DEAD, N2, (char *)"10.0.0.2", 4, 400, false},
    {.worker_id = ACTOR_WORKER, N2, (char *)"10.0.0.2", 6, 600, true},
};

static const struct ray_task tasks[] = {
    {TASK_OF("1000000000000001"), TASK_OF("2000000000000002"), .worker_id = W,
     .name = (char *)"child"},
    {TASK_OF("2000000000000002"), DRIVER_TASK, .worker_id = PARENT, .name = (char *)"parent"},
    {TASK_OF("3000000000000003"), DRIVER_TASK, .worker_id = PARENT, .name = (char *)"of_driver",
     .running_ms = 1},
    {TASK_OF("4000000000000004"), TASK_OF("7700000000000007"), .name = (char *)"of_dead"},
    {TASK_OF("7700000000000007"), DRIVER_TASK, .worker_id = DEAD, .name = (char *)"died"},
    {TASK_OF("5000000000000005"), TASK_OF("6000000000000006"), .name = (char *)"of_stranded"},
    {TASK_OF("6000000000000006"), DRIVER_TASK, .worker_id = STRANDED, .name = (char *)"cut"},
    {TASK_OF("c8dc174c83599034"), DRIVER_TASK, .worker_id = W, .name = (char *)"here"},
};

static const struct ray_actor actors[] = {
    {ACTOR, JOB, N2, (char *)"Counter", (char *)"bob", NULL, (char *)"ALIVE", 600},
};

static const struct ray_job jobs[] = {{JOB, .driver_ip = (char *)"10.0.0.1", .driver_pid = 300}};

static struct objects *objects;
static size_t told;

static struct object_id id(const char *hex)
{
    struct object_id out;
    assert_true(object_id_parse(hex, strlen(hex), &out));
    return out;
}

static void on_news(void *arg)
{
    (void)arg;
    told++;
}

#define WORLD(what, table)                                                                         \
    do {                                                                                           \
        world.what##s = (table);                                                                   \
        world.what##_count = COUNT(table);                                                         \
    } while (0)

static int set_up(void **state)
{
    struct err err;
    (void)state;
    memset(&world, 0, sizeof world);
    world.loop = loop_create(false, &err);
    WORLD(node, nodes);
    WORLD(worker, workers);
    WORLD(task, tasks);
    WORLD(actor, actors);
    WORLD(job, jobs);
    told = 0;
    objects = objects_create(world.loop, NULL, W);
    objects_listen(objects, on_news, objects);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    objects_destroy(&objects);
    assert_null(world.questions); /* nothing is told to who is gone */
    loop_destroy(&world.loop);
    return 0;
}

static void run_until(enum objects_state wanted)
{
    int64_t end = loop_now_us() + 5000000;
    while ((objects_state(objects) != wanted || !objects_settled(objects)) && loop_now_us() < end)
        loop_run_once(world.loop, 1);
    assert_int_equal(objects_state(objects), wanted);
    assert_true(objects_settled(objects));
}

static void run_for(int64_t ms)
{
    for (int64_t end = loop_now_us() + ms * 1000; loop_now_us() < end;)
        loop_run_once(world.loop, 1);
}

/* Wants it and waits; its note. */
static struct object_note note_of(const char *hex)
{
    struct object_note note;
    struct object_id wanted = id(hex);
    objects_want(objects, &wanted);
    run_until(OBJECTS_KNOWN);
    objects_note(objects, &wanted, &note);
    return note;
}

static void check_property(const char *hex, const char *name, const char *value)
{
    struct object_property all[OBJECT_PROPERTIES];
    struct object_id wanted = id(hex);
    size_t at = 0;
    objects_describe(objects, &wanted, NULL, all);
    while (at < OBJECT_PROPERTIES && !text_equal(all[at].name, name))
        at++;
    assert_true(at < OBJECT_PROPERTIES);
    assert_string_equal(all[at].value, value);
    object_properties_clear(all);
}

static void ask_with(const struct ray_object_ref *refs, size_t count)
{
    world.refs = refs;
    world.ref_count = count;
    objects_ask(objects);
    run_until(OBJECTS_KNOWN);
}

/* --- asking --- */

static void is_asked_once_for_a_stop(void **state)
{
    (void)state;
    const struct ray_object_ref refs[] = {
        {.id = id(RETURNED(TASK_OF("1000000000000001"))), .size = 5, .status = RAY_TASK_FINISHED},
        {.id = id(PUT(TASK_OF("00dc174c83599034"))), .size = 900, .status = RAY_TASK_FINISHED},
        {.id = id(RETURNED(TASK_OF("3000000000000003"))), .size = -1, .status = 5},
    };
    size_t count;
    assert_int_equal(objects_state(objects), OBJECTS_NONE);
    ask_with(refs, COUNT(refs));
    objects_ask(objects);
    run_for(5);
    assert_int_equal(world.asked[WORKER], 1);
    assert_true(told >= 1);
    const struct ray_object_ref *const *sorted = objects_sorted(objects, &count);
    assert_int_equal(count, 3);
    assert_int_equal(sorted[0]->size, 900);
    assert_int_equal(sorted[2]->size, -1);
    assert_ptr_equal(objects_sorted(objects, &count), sorted);
    assert_ptr_equal(objects_ref(objects, &refs[0].id), sorted[1]);
    assert_int_equal(objects_worker(objects)->ref_count, 3);
    assert_int_equal(objects_store(objects)->used, 7);
    int64_t before = objects_generation(objects);
    objects_forget(objects);
    assert_true(objects_generation(objects) != before);
    assert_int_equal(objects_state(objects), OBJECTS_NONE);
    assert_null(objects_worker(objects));
    assert_null(objects_store(objects));
    assert_null(objects_ref(objects, &refs[0].id));
    assert_null(objects_sorted(objects, &count));
    assert_int_equal(count, 0);
}

static void quick_steps_do_not_pile_up(void **state)
{
    (void)state;
    objects_ask(objects);
    world.mute[WORKER] = true; /* it takes its time */
    run_for(20);
    for (int i = 0; i < 50; i++) {
        objects_forget(objects);
        objects_ask(objects);
        run_for(1);
    }
    assert_int_equal(world.asked[WORKER], 1);
    world.mute[WORKER] = false;
    world.questions->timer = NULL;
    for (struct question *at = world.questions; at; at = at->next)
        if (at->what == WORKER)
            at->timer = timer_start(world.loop, 0, answer, at);
    run_until(OBJECTS_KNOWN); /* by a second question: the first was about another stop */
    assert_int_equal(world.asked[WORKER], 2);
    assert_int_equal(world.most_waiting, 1);
    assert_true(world.asked[NODE] <= 1);
}

static void a_silent_worker_is_not_waited_for(void **state)
{
    (void)state;
    struct object_id wanted = id(RETURNED(TASK_OF("1000000000000001")));
    world.mute[WORKER] = world.mute[NODE] = true;
    objects_ask(objects);
    objects_want(objects, &wanted);
    int64_t before = loop_now_us();
    run_until(OBJECTS_FAILED);
    assert_in_range(loop_now_us() - before, 1500000, 3000000);
    assert_string_equal(objects_problem(objects), "the worker does not answer");
    run_for(5);
    assert_int_equal(told, 1);
}

static void a_failure_is_a_reason_in_each_row(void **state)
{
    (void)state;
    const char *wanted = RETURNED(TASK_OF("3000000000000003"));
    struct object_id one = id(wanted);
    struct object_note note;
    err_set(&world.fails, ERR_FAILED, "its statistics are of an unknown numbering");
    objects_ask(objects);
    objects_want(objects, &one);
    run_until(OBJECTS_FAILED);
    assert_false(objects_note(objects, &one, &note));
    static const char *const names[] = {"size",  "nodes",  "owner",   "call site",
                                        "kinds", "copies", "spilled", "created by"};
    for (size_t i = 0; i < COUNT(names); i++)
        check_property(wanted, names[i], "unknown: its statistics are of an unknown numbering");
    check_property(wanted, "reference", "ObjectRef(" RETURNED(TASK_OF("3000000000000003")) ")");
    size_t before = told;
    objects_want(objects, &one); /* what comes later is settled as well */
    run_until(OBJECTS_FAILED);
    assert_int_equal(told, before);
}

/* A step: what is ready was so before it, and nobody waits for that to be confirmed. */
static void what_was_ready_before_a_step_is_told_at_once(void **state)
{
    (void)state;
    const char *ready = RETURNED(TASK_OF("2000000000000002"));
    const char *pending = RETURNED(TASK_OF("3000000000000003"));
    const struct object_id one = id(ready), other = id(pending);
    struct ray_object_ref refs[] = {
        {.id = one, .size = 5000, .status = RAY_TASK_FINISHED},
        {.id = other, .size = -1, .status = 5},
    };
    struct object_note note;
    ask_with(refs, COUNT(refs));
    assert_int_equal(note_of(ready).size, 5000);
    assert_int_equal(note_of(pending).state, OBJECT_STATE_PENDING);
    objects_forget(objects);
    assert_false(objects_can_tell(objects, &one)); /* it runs */
    refs[0].size = 6000;
    objects_ask(objects);
    objects_want(objects, &one);
    assert_true(objects_can_tell(objects, &one));
    assert_true(objects_note(objects, &one, &note));
    assert_int_equal(note.size, 5000);
    assert_false(objects_can_tell(objects, &other));
    assert_false(objects_note(objects, &other, &note));
    assert_int_equal(note_of(ready).size, 6000);
    assert_true(objects_can_tell(objects, &one));
}

/* A stop right after one in which `wanted` was told, and `wanted` is looked at once more; the
 * number of questions for locations within some 20 ms. A machine that is too busy for that tries
 * again. */
static size_t step_and_want(const struct object_id *wanted)
{
    for (int tries = 0; tries < 50; tries++) {
        size_t before = world.asked[LOCATIONS];
        int64_t start = loop_now_us();
        objects_forget(objects);
        objects_ask(objects);
        objects_want(objects, wanted);
        run_for(20);
        assert_true(objects_can_tell(objects, wanted));
        if (objects_state(objects) == OBJECTS_KNOWN && loop_now_us() - start < 80000)
            return world.asked[LOCATIONS] - before;
        run_until(OBJECTS_KNOWN);
    }
    return SIZE_MAX;
}

static void whether_it_still_holds_is_asked_at_leisure(void **state)
{
    (void)state;
    const char *ready = RETURNED(TASK_OF("2000000000000002"));
    const struct object_id one = id(ready);
    const struct ray_object_ref refs[] = {{.id = one, .size = 5000, .status = RAY_TASK_FINISHED}};
    ask_with(refs, 1);
    note_of(ready);
    assert_int_equal(step_and_want(&one), 0);
    assert_false(objects_settled(objects));
    size_t before = world.asked[LOCATIONS];
    run_until(OBJECTS_KNOWN);
    assert_int_equal(world.asked[LOCATIONS], before + 1);
    assert_int_equal(step_and_want(&one), 0);
    objects_hurry(objects);
    run_for(20);
    assert_int_equal(world.asked[LOCATIONS], before + 2);
    assert_true(objects_settled(objects));
}

static void something_new_is_asked_for_at_once(void **state)
{
    (void)state;
    const char *ready = RETURNED(TASK_OF("2000000000000002"));
    const struct object_id one = id(ready), other = id(RETURNED(TASK_OF("3000000000000003")));
    const struct ray_object_ref refs[] = {
        {.id = one, .size = 5000, .status = RAY_TASK_FINISHED},
        {.id = other, .size = 6000, .status = RAY_TASK_FINISHED},
    };
    ask_with(refs, COUNT(refs));
    note_of(ready);
    step_and_want(&one);
    assert_false(objects_settled(objects));
    objects_want(objects, &other);
    run_for(20);
    assert_true(objects_settled(objects));
}

static void quick_steps_do_not_put_it_off_for_ever(void **state)
{
    (void)state;
    const char *ready = RETURNED(TASK_OF("2000000000000002"));
    const struct object_id one = id(ready);
    const struct ray_object_ref refs[] = {{.id = one, .size = 5000, .status = RAY_TASK_FINISHED}};
    ask_with(refs, 1);
    note_of(ready);
    size_t asked = 0;
    for (int64_t end = loop_now_us() + 1300000; loop_now_us() < end;)
        asked += step_and_want(&one);
    assert_in_range(asked, 1, 5);
}

static void a_failure_does_not_repeat_what_was(void **state)
{
    (void)state;
    const char *ready = RETURNED(TASK_OF("2000000000000002"));
    const struct object_id one = id(ready);
    const struct ray_object_ref refs[] = {{.id = one, .size = 5000, .status = RAY_TASK_FINISHED}};
    struct object_note note;
    ask_with(refs, 1);
    note_of(ready);
    objects_forget(objects);
    err_set(&world.fails, ERR_FAILED, "no");
    objects_ask(objects);
    run_until(OBJECTS_FAILED);
    assert_false(objects_note(objects, &one, &note));
}

static void ask_failing(const struct object_id *wanted)
{
    objects_ask(objects);
    objects_want(objects, wanted);
    run_until(OBJECTS_FAILED);
}

static void a_worker_that_failed_is_asked_again(void **state)
{
    (void)state;
    const char *ready = RETURNED(TASK_OF("2000000000000002"));
    const struct object_id one = id(ready);
    const struct ray_object_ref refs[] = {{.id = one, .size = 5000, .status = RAY_TASK_FINISHED}};
    err_set(&world.fails, ERR_FAILED, "no");
    ask_failing(&one);
    world.fails = (struct err){0};
    world.refs = refs;
    world.ref_count = 1;
    size_t before = told;
    run_until(OBJECTS_KNOWN);
    assert_true(told > before);
    assert_int_equal(note_of(ready).size, 5000);
    assert_int_equal(world.asked[WORKER], 2);
    assert_int_equal(world.asked[LOCATIONS], 1); /* what was given up is wanted again */
}

static void a_dashboard_knows_nothing(void **state)
{
    (void)state;
    objects_destroy(&objects);
    world.dashboard = true;
    objects = objects_create(world.loop, NULL, W);
    objects_ask(objects);
    run_until(OBJECTS_FAILED);
    assert_non_null(strstr(objects_problem(objects), "GCS"));
    objects_forget(objects);
    for (size_t i = 0; i < ASKED; i++)
        assert_int_equal(world.asked[i], 0);
}

static void a_worker_that_is_not_listed_fails(void **state)
{
    (void)state;
    world.worker_count = 0;
    objects_ask(objects);
    run_until(OBJECTS_FAILED);
    assert_string_equal(objects_problem(objects), "the cluster does not list the worker");
}

static void what_is_newer_than_the_answer_is_asked_for_again(void **state)
{
    (void)state;
    const char *hex = PUT(TASK_OF("00dc174c83599034"));
    const struct ray_object_ref refs[] = {{.id = id(hex), .size = 9, .status = RAY_TASK_FINISHED}};
    ask_with(NULL, 0);
    world.refs = refs;
    world.ref_count = 1;
    struct object_note note = note_of(hex);
    assert_int_equal(note.state, OBJECT_STATE_READY);
    assert_string_equal(note.owner, "pid 100@node-1");
    assert_int_equal(world.asked[WORKER], 2);
    note_of(hex);
    assert_int_equal(world.asked[WORKER], 2);
}

static void what_is_not_made_yet_is_looked_at_again(void **state)
{
    (void)state;
    const char *mine = RETURNED(TASK_OF("1000000000000001"));
    const char *theirs = RETURNED(TASK_OF("3000000000000003"));
    const struct ray_object_ref before[] = {{.id = id(mine), .size = -1, .status = 5}};
    const struct ray_object_ref after[] = {
        {.id = id(mine), .size = 9, .status = RAY_TASK_FINISHED}};
    struct ray_object_location where[] = {
        {.id = id(mine), .known = true, .pending = true, .size = -1},
        {.id = id(theirs), .known = true, .pending = true, .size = -1}};
    WORLD(location, where);
    ask_with(before, 1);
    assert_int_equal(note_of(mine).state, OBJECT_STATE_PENDING);
    assert_int_equal(note_of(theirs).state, OBJECT_STATE_PENDING);
    size_t asked = world.asked[WORKER];
    world.refs = after;
    where[0].pending = where[1].pending = false;
    where[1].size = 12;
    for (int i = 0; i < 5; i++) {
        note_of(mine);
        run_for(5);
    }
    assert_int_equal(world.asked[WORKER], asked); /* not so often */
    run_for(1000);
    note_of(mine);
    note_of(theirs); /* nobody waits for it */
    run_for(30);
    assert_int_equal(note_of(mine).state, OBJECT_STATE_READY);
    assert_int_equal(note_of(theirs).state, OBJECT_STATE_READY);
    assert_int_equal(note_of(theirs).size, 12);
    check_property(mine, "nodes", "node-1 (in its owner's memory)");
    assert_in_range(world.asked[WORKER], asked + 1, asked + 2);
    run_for(1100);
    asked = world.asked[WORKER];
    note_of(mine);
    run_for(30);
    assert_int_equal(world.asked[WORKER], asked); /* what is made stays so */
}

/* --- listeners --- */

static void unlisten_all(void *arg)
{
    told += 100;
    objects_unlisten(objects, arg);
    objects_unlisten(objects, objects);
}

static void a_listener_may_unlisten(void **state)
{
    (void)state;
    objects_unlisten(objects, objects);
    objects_listen(objects, unlisten_all, &told);
    objects_listen(objects, on_news, objects);
    ask_with(NULL, 0);
    run_for(5);
    objects_forget(objects);
    ask_with(NULL, 0);
    run_for(5);
    assert_int_equal(told, 100);
}

static void may_be_destroyed_at_any_time(void **state)
{
    struct object_id wanted = id(RETURNED(TASK_OF("1000000000000001")));
    for (int turns = 0; turns < 12; turns++) {
        objects_ask(objects);
        for (int i = 0; i < turns; i++)
            loop_run_once(world.loop, 0);
        objects_want(objects, &wanted);
        for (int i = 0; i < turns; i++)
            loop_run_once(world.loop, 0);
        tear_down(state);
        set_up(state);
    }
}

/* --- owners --- */

static void check_owner(const char *hex, enum object_state expected, const char *owner,
                        const char *by)
{
    struct object_note note = note_of(hex);
    assert_int_equal(note.state, expected);
    assert_string_equal(note.owner, owner);
    check_property(hex, "created by", by);
}

static void what_a_task_returns_is_its_parents(void **state)
{
    (void)state;
    const char *hex = RETURNED(TASK_OF("1000000000000001"));
    char at[2][ID_TEXT(ID_UNIQUE_BYTES)] = {N1, N2};
    const struct ray_object_ref refs[] = {{.id = id(hex), .size = 8000000, .local = 2}};
    const struct ray_object_location where[] = {
        {.id = id(hex), .known = true, .size = 8000000, .node_ids = at, .node_count = 2}};
    WORLD(location, where);
    ask_with(refs, 1);
    check_owner(hex, OBJECT_STATE_READY, "pid 200@node-2", "child (10000000)");
    check_property(hex, "owner", "pid 200@node-2");
    check_property(hex, "nodes", "node-1, node-2");
    check_property(hex, "copies", "2");
    check_property(hex, "spilled", "no");
    assert_string_equal(world.located, "10.0.0.2:2 "); /* not the task's own process: a borrower */
}

static void a_driver_is_found_by_its_job(void **state)
{
    (void)state;
    const char *put = PUT("00ffffffffffffff" NO_ACTOR JOB);
    const char *returned = RETURNED(TASK_OF("3000000000000003"));
    const struct ray_object_location where[] = {
        {.id = id(put),
         .known = true,
         .size = 10,
         .spilled_url = (char *)"/s?offset=1",
         .spilled_node_id = N1,
         .did_spill = true},
        {.id = id(returned), .known = true, .pending = true, .size = -1}};
    WORLD(location, where);
    ask_with(NULL, 0);
    check_owner(put, OBJECT_STATE_SPILLED, "pid 300@node-1", "the driver of job 01, by ray.put");
    check_property(put, "owner", "pid 300@node-1 (driver)");
    check_property(put, "spilled", "node-1: /s?offset=1");
    check_owner(returned, OBJECT_STATE_PENDING, "pid 300@node-1", "of_driver (30000000)");
    assert_string_equal(note_of(returned).status, "RUNNING");
    assert_int_equal(world.asked[REFS_OF_NODE], 0);
}

static void an_actor_owns_what_it_puts(void **state)
{
    (void)state;
    const char *hex = PUT("0012121212121212" ACTOR);
    const struct ray_object_location where[] = {{.id = id(hex), .known = true, .size = 10}};
    WORLD(location, where);
    ask_with(NULL, 0);
    check_owner(hex, OBJECT_STATE_READY, "pid 600@node-2",
                "a method of Counter (99999999), by ray.put");
    check_property(hex, "nodes", "node-2 (in its owner's memory)");
}

static void the_owners_end_loses_the_object(void **state)
{
    (void)state;
    const char *dead = RETURNED(TASK_OF("4000000000000004"));
    const char *stranded = RETURNED(TASK_OF("5000000000000005"));
    ask_with(NULL, 0);
    check_owner(dead, OBJECT_STATE_LOST, "pid 400@node-2", "of_dead (40000000)");
    assert_string_equal(note_of(dead).status, "owner died");
    check_property(dead, "owner", "pid 400@node-2 (it died)");
    check_owner(stranded, OBJECT_STATE_LOST, "pid 500@node-3", "of_stranded (50000000)");
    assert_string_equal(note_of(stranded).status, "owner's node died");
    assert_int_equal(world.asked[LOCATIONS], 0);
}

static void the_running_task_names_what_it_puts(void **state)
{
    (void)state;
    const char *hex = PUT(TASK_OF("00dc174c83599034"));
    const struct ray_object_ref refs[] = {{.id = id(hex), .size = 9, .status = RAY_TASK_FINISHED}};
    struct pause pause = {.worker_id = W, .task_id = TASK_OF("c8dc174c83599034")};
    world.pauses = (struct pause_list){&pause, 1};
    ask_with(refs, 1);
    check_owner(hex, OBJECT_STATE_READY, "pid 100@node-1", "here (c8dc174c), by ray.put");
    check_property(hex, "owner", "pid 100@node-1 (this worker)");
    assert_int_equal(world.asked[TASK], 1);
}

static void the_raylets_are_asked_once_for_what_tasks_have_put(void **state)
{
    (void)state;
    const char *hex = PUT(TASK_OF("0044444444444444")), *other = PUT(TASK_OF("0055555555555555"));
    struct ray_object_ref theirs[] = {
        {.id = id(hex), .status = RAY_TASK_NIL}, /* a borrower's, first */
        {.id = id(hex), .status = RAY_TASK_FINISHED},
        {.id = id(other), .status = RAY_TASK_FINISHED},
    };
    const struct ray_worker_objects others[] = {
        {.worker_id = PARENT, .refs = theirs, .ref_count = 1},
        {.worker_id = ACTOR_WORKER, .refs = theirs + 1, .ref_count = 2}};
    const struct ray_object_location where[] = {{.id = id(hex), .known = true, .size = 10}};
    WORLD(other, others);
    WORLD(location, where);
    ask_with(NULL, 0);
    check_owner(hex, OBJECT_STATE_READY, "pid 600@node-2", "a task of pid 600@node-2, by ray.put");
    assert_int_equal(world.asked[REFS_OF_NODE], 2); /* the live nodes */
    note_of(other);
    assert_int_equal(world.asked[REFS_OF_NODE], 2);
}

static void a_task_that_has_put_it_is_guessed_at_the_very_last(void **state)
{
    (void)state;
    const char *hex = PUT(TASK_OF("0000000000000007")), *none = PUT(TASK_OF("0066666666666666"));
    ask_with(NULL, 0);
    check_owner(hex, OBJECT_STATE_LOST, "pid 400@node-2", "died (77000000), by ray.put");
    note_of(none);
    check_property(none, "owner", "unknown: no process that could be asked says that it owns it");
    assert_int_equal(world.asked[TASK], 512);
    objects_forget(objects);
    ask_with(NULL, 0);
    note_of(hex);
    note_of(none);
    assert_in_range(world.asked[TASK], 512, 513); /* and not again */
}

/* --- names --- */

static void nodes_of_one_name_are_called_by_their_ip(void **state)
{
    (void)state;
    struct ray_node twins[] = {nodes[0], nodes[1], nodes[2]};
    twins[1].hostname = (char *)"node-1";
    WORLD(node, twins);
    ask_with(NULL, 0);
    run_for(5);
    assert_string_equal(objects_node_name(objects, N1), "10.0.0.1");
    assert_string_equal(objects_node_name(objects, N2), "10.0.0.2");
    assert_string_equal(objects_node_name(objects, N3), "node-3");
    assert_string_equal(objects_node_name(objects, "77"), "77");
}

static void actors_are_asked_for_when_one_is_wanted(void **state)
{
    (void)state;
    struct actor_note note;
    assert_false(objects_actor(objects, ACTOR, &note)); /* the worker runs */
    ask_with(NULL, 0);
    assert_int_equal(world.asked[ACTORS], 0);
    assert_false(objects_actor(objects, ACTOR, &note));
    size_t before = told;
    run_for(20);
    assert_true(told > before);
    assert_true(objects_actor(objects, ACTOR, &note));
    assert_string_equal(note.class_name, "Counter");
    assert_string_equal(note.name, "bob");
    assert_string_equal(note.node, "node-2");
    assert_string_equal(note.state, "ALIVE");
    assert_int_equal(note.pid, 600);
    assert_false(objects_actor(objects, ACTOR_ID("77"), &note));
    assert_int_equal(world.asked[ACTORS], 1);
}

/* --- many --- */

static void thousands_are_no_work(void **state)
{
    enum { MANY = 10000 };
    (void)state;
    struct ray_object_ref *refs = mem_array(MANY, sizeof *refs);
    for (uint32_t i = 0; i < MANY; i++) {
        refs[i] = (struct ray_object_ref){.id = id(PUT(TASK_OF("00dc174c83599034"))), .size = i};
        memcpy(refs[i].id.bytes + ID_TASK_BYTES, &i, sizeof i);
        refs[i].status = RAY_TASK_FINISHED;
    }
    ask_with(refs, MANY);
    int64_t before = loop_now_us();
    struct object_note note;
    for (size_t i = 0; i < MANY; i++)
        assert_true(objects_note(objects, &refs[i].id, &note));
    assert_in_range(loop_now_us() - before, 0, 500000); /* with the sanitizers */
    for (size_t i = 0; i < MANY; i++)
        objects_want(objects, &refs[i].id);
    run_until(OBJECTS_KNOWN);
    assert_true(world.asked[LOCATIONS] <= 4);
    free(refs);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(is_asked_once_for_a_stop),
        WITH(quick_steps_do_not_pile_up),
        WITH(a_silent_worker_is_not_waited_for),
        WITH(a_failure_is_a_reason_in_each_row),
        WITH(what_was_ready_before_a_step_is_told_at_once),
        WITH(whether_it_still_holds_is_asked_at_leisure),
        WITH(something_new_is_asked_for_at_once),
        WITH(quick_steps_do_not_put_it_off_for_ever),
        WITH(a_failure_does_not_repeat_what_was),
        WITH(a_worker_that_failed_is_asked_again),
        WITH(a_dashboard_knows_nothing),
        WITH(a_worker_that_is_not_listed_fails),
        WITH(what_is_newer_than_the_answer_is_asked_for_again),
        WITH(what_is_not_made_yet_is_looked_at_again),
        WITH(a_listener_may_unlisten),
        WITH(may_be_destroyed_at_any_time),
        WITH(what_a_task_returns_is_its_parents),
        WITH(a_driver_is_found_by_its_job),
        WITH(an_actor_owns_what_it_puts),
        WITH(the_owners_end_loses_the_object),
        WITH(the_running_task_names_what_it_puts),
        WITH(the_raylets_are_asked_once_for_what_tasks_have_put),
        WITH(a_task_that_has_put_it_is_guessed_at_the_very_last),
        WITH(nodes_of_one_name_are_called_by_their_ip),
        WITH(actors_are_asked_for_when_one_is_wanted),
        WITH(thousands_are_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
