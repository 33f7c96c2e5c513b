/* One stopped worker's references: when it is asked, and what is known. */
#include "cmocka_prelude.h"
#include "objects_world.h"

#include <time.h>

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
    assert_int_equal(worker_objects_state(objects), WORKER_OBJECTS_NONE);
    ask_with(refs, COUNT(refs));
    worker_objects_ask(objects);
    run_for(5);
    assert_int_equal(world.asked[WORKER], 1);
    assert_true(told >= 1);
    const struct ray_object_ref *const *sorted = objects_sorted(objects, &count);
    assert_int_equal(count, 3);
    assert_int_equal(sorted[0]->size, 900);
    assert_int_equal(sorted[2]->size, -1);
    assert_ptr_equal(objects_sorted(objects, &count), sorted);
    assert_ptr_equal(worker_objects_ref(objects, &refs[0].id), sorted[1]);
    assert_int_equal(worker_objects_worker(objects)->ref_count, 3);
    assert_int_equal(worker_objects_store(objects)->used, 7);
    int64_t before = worker_objects_generation(objects);
    worker_objects_forget(objects);
    assert_true(worker_objects_generation(objects) != before);
    assert_int_equal(worker_objects_state(objects), WORKER_OBJECTS_NONE);
    assert_null(worker_objects_worker(objects));
    assert_null(worker_objects_store(objects));
    assert_null(worker_objects_ref(objects, &refs[0].id));
    assert_null(objects_sorted(objects, &count));
    assert_int_equal(count, 0);
}

static void quick_steps_do_not_pile_up(void **state)
{
    (void)state;
    worker_objects_ask(objects);
    world.mute[WORKER] = true; /* it takes its time */
    run_for(20);
    for (int i = 0; i < 50; i++) {
        worker_objects_forget(objects);
        worker_objects_ask(objects);
        run_for(1);
    }
    assert_int_equal(world.asked[WORKER], 1);
    world.mute[WORKER] = false;
    world.questions->timer = NULL;
    for (struct question *at = world.questions; at; at = at->next)
        if (at->what == WORKER)
            at->timer = timer_start(world.loop, 0, answer, at);
    run_until(WORKER_OBJECTS_KNOWN); /* by a second question: the first was about another stop */
    assert_int_equal(world.asked[WORKER], 2);
    assert_int_equal(world.most_waiting, 1);
    assert_true(world.asked[NODE] <= 1);
}

static void a_silent_worker_is_not_waited_for(void **state)
{
    (void)state;
    struct object_id wanted = id(RETURNED(TASK_OF("1000000000000001")));
    world.mute[WORKER] = world.mute[NODE] = true;
    worker_objects_ask(objects);
    worker_objects_want(objects, &wanted);
    int64_t before = loop_now_us();
    run_until(WORKER_OBJECTS_FAILED);
    assert_in_range(loop_now_us() - before, 1500000, 15000000);
    assert_string_equal(worker_objects_problem(objects), "the worker does not answer");
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
    worker_objects_ask(objects);
    worker_objects_want(objects, &one);
    run_until(WORKER_OBJECTS_FAILED);
    assert_false(worker_objects_note(objects, &one, &note));
    static const char *const names[] = {"size",  "nodes",  "owner",   "call site",
                                        "kinds", "copies", "spilled", "created by"};
    for (size_t i = 0; i < COUNT(names); i++)
        check_property(wanted, names[i], "unknown: its statistics are of an unknown numbering");
    check_property(wanted, "reference", "ObjectRef(" RETURNED(TASK_OF("3000000000000003")) ")");
    size_t before = told;
    worker_objects_want(objects, &one); /* what comes later is settled as well */
    run_until(WORKER_OBJECTS_FAILED);
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
    worker_objects_forget(objects);
    assert_false(worker_objects_can_tell(objects, &one)); /* it runs */
    refs[0].size = 6000;
    worker_objects_ask(objects);
    worker_objects_want(objects, &one);
    assert_true(worker_objects_can_tell(objects, &one));
    assert_true(worker_objects_note(objects, &one, &note));
    assert_int_equal(note.size, 5000);
    assert_false(worker_objects_can_tell(objects, &other));
    assert_false(worker_objects_note(objects, &other, &note));
    assert_int_equal(note_of(ready).size, 6000);
    assert_true(worker_objects_can_tell(objects, &one));
}

/* A step after which an object is no more what it was, then a second step: the note from before the
 * first one is not shown again. */
static void step_and_change(const struct ray_object_location *change, bool noted)
{
    const char *hex = RETURNED(TASK_OF("3000000000000003"));
    const struct object_id one = id(hex);
    struct ray_object_location where[] = {{.id = one, .known = true, .size = 12}};
    struct object_note note;
    WORLD(location, where);
    worker_objects_ask(objects);
    assert_int_equal(note_of(hex).state, OBJECT_STATE_READY);
    worker_objects_forget(objects);
    where[0] = *change;
    where[0].id = one;
    worker_objects_ask(objects);
    note_of(hex);
    assert_int_equal(worker_objects_note(objects, &one, &note), noted);
    worker_objects_forget(objects);
    worker_objects_ask(objects);
    worker_objects_want(objects, &one);
    assert_false(worker_objects_can_tell(objects, &one));
    assert_false(worker_objects_note(objects, &one, &note));
    run_until(WORKER_OBJECTS_KNOWN);
    worker_objects_forget(objects);
}

static void what_was_ready_two_steps_ago_may_not_be(void **state)
{
    (void)state;
    step_and_change(&(struct ray_object_location){.known = true, .size = 200000}, true); /* lost */
    step_and_change(&(struct ray_object_location){.size = -1}, false); /* nobody knows it */
}

static void check_look(const struct object_id *id, bool want, bool can_tell, bool known)
{
    struct object_note note;
    struct object_probe probe;
    object_probe(&probe, id);
    struct object_lookup look = worker_objects_lookup(objects, &probe, want, &note);
    assert_int_equal(look.can_tell, can_tell);
    assert_int_equal(look.known, known);
    assert_int_equal(worker_objects_can_tell(objects, id), can_tell);
    assert_int_equal(worker_objects_note(objects, id, &note), known);
}

/* Size and owner are known of what the worker lists; where it is, of what is wanted. */
static void a_look_wants_and_tells(void **state)
{
    (void)state;
    const struct object_id one = id(RETURNED(TASK_OF("2000000000000002")));
    const struct object_id other = id(RETURNED(TASK_OF("3000000000000003")));
    struct ray_object_ref refs[] = {
        {.id = one, .size = 5000, .status = RAY_TASK_FINISHED},
        {.id = other, .size = 7, .status = RAY_TASK_FINISHED},
    };
    ask_with(refs, COUNT(refs));
    check_look(&one, false, false, true);
    check_look(&one, true, false, true);
    run_until(WORKER_OBJECTS_KNOWN);
    check_look(&one, true, true, true);
    check_look(&other, false, false, true);
    worker_objects_forget(objects);
    check_look(&one, true, false, false);
}

static size_t all_asked(void)
{
    size_t count = 0;
    for (size_t i = 0; i < ASKED; i++)
        count += world.asked[i];
    return count;
}

/* A stop right after one in which `wanted` was told, and `wanted` is looked at once more; the
 * number of questions within some 20 ms. False if the machine is too busy for that: then all is
 * known. */
static bool try_to_step(const struct object_id *wanted, size_t *asked)
{
    size_t before = all_asked();
    int64_t start = loop_now_us();
    worker_objects_forget(objects);
    worker_objects_ask(objects);
    worker_objects_want(objects, wanted);
    run_for(20);
    assert_true(worker_objects_can_tell(objects, wanted));
    *asked = all_asked() - before;
    if (loop_now_us() - start < 80000)
        return true;
    run_until(WORKER_OBJECTS_KNOWN);
    return false;
}

static size_t step_and_want(const struct object_id *wanted)
{
    size_t asked;
    for (int tries = 0; tries < 50; tries++)
        if (try_to_step(wanted, &asked))
            return asked;
    return SIZE_MAX;
}

/* The first stop, at which the worker's one reference is told; its id. */
static struct object_id stop_at_one(void)
{
    static struct ray_object_ref ref = {.size = 5000, .status = RAY_TASK_FINISHED};
    const char *ready = RETURNED(TASK_OF("2000000000000002"));
    ref.id = id(ready);
    ask_with(&ref, 1);
    note_of(ready);
    return ref.id;
}

static void whether_it_still_holds_is_asked_at_leisure(void **state)
{
    (void)state;
    const struct object_id one = stop_at_one();
    assert_int_equal(step_and_want(&one), 0);
    assert_false(worker_objects_settled(objects));
    assert_int_equal(worker_objects_state(objects), WORKER_OBJECTS_ASKING);
    size_t before = world.asked[LOCATIONS], worker = world.asked[WORKER];
    run_until(WORKER_OBJECTS_KNOWN);
    assert_int_equal(world.asked[LOCATIONS], before + 1);
    assert_int_equal(world.asked[WORKER], worker + 1);
    assert_int_equal(step_and_want(&one), 0);
    worker_objects_hurry(objects);
    run_for(20);
    assert_int_equal(world.asked[LOCATIONS], before + 2);
    assert_int_equal(world.asked[WORKER], worker + 2);
    assert_true(worker_objects_settled(objects));
}

/* Though nothing is looked at: the scope's size is one of the facts. */
static void the_worker_is_asked_at_leisure_in_any_case(void **state)
{
    static const struct ray_object_ref two[2] = {{.size = 1}, {.size = 2}};
    size_t count = 0;
    (void)state;
    assert_false(worker_objects_count(objects, &count));
    stop_at_one();
    worker_objects_forget(objects);
    assert_false(worker_objects_count(objects, &count)); /* it runs */
    world.refs = two;
    world.ref_count = 2;
    size_t before = all_asked();
    int64_t start = loop_now_us();
    worker_objects_ask(objects);
    run_for(20);
    if (loop_now_us() - start < 80000) { /* not on a machine that is too busy */
        assert_int_equal(all_asked(), before);
        assert_true(worker_objects_count(objects, &count));
        assert_int_equal(count, 1); /* as before the step */
    }
    run_until(WORKER_OBJECTS_KNOWN);
    assert_true(worker_objects_count(objects, &count));
    assert_int_equal(count, 2);
}

/* Old counters of the node's store are not shown meanwhile: who wants them has it all asked now. */
static void the_store_is_waited_for(void **state)
{
    (void)state;
    stop_at_one();
    run_for(1100);
    assert_non_null(worker_objects_store(objects));
    worker_objects_forget(objects);
    worker_objects_ask(objects);
    assert_null(worker_objects_store(objects));
    worker_objects_hurry(objects);
    run_until(WORKER_OBJECTS_KNOWN);
    run_for(5);
    assert_non_null(worker_objects_store(objects));
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
    assert_false(worker_objects_settled(objects));
    worker_objects_want(objects, &other);
    run_for(20);
    assert_true(worker_objects_settled(objects));
}

static void quick_steps_do_not_put_it_off_for_ever(void **state)
{
    (void)state;
    const struct object_id one = stop_at_one();
    int64_t end = loop_now_us() + 60000000;
    int64_t known = loop_now_us(), step = 0, proved = 0;
    for (size_t asked = 0; !asked && loop_now_us() < end;) {
        assert_true(!proved || step < proved + 1000000);
        step = loop_now_us();
        if (!try_to_step(&one, &asked))
            known = loop_now_us(), proved = 0, asked = 0;
        else if (!proved)
            proved = loop_now_us();
    }
    assert_true(proved && loop_now_us() - known >= 1000000);
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
    worker_objects_forget(objects);
    err_set(&world.fails, ERR_FAILED, "no");
    worker_objects_ask(objects);
    run_until(WORKER_OBJECTS_FAILED);
    assert_false(worker_objects_note(objects, &one, &note));
}

static void ask_failing(const struct object_id *wanted)
{
    worker_objects_ask(objects);
    worker_objects_want(objects, wanted);
    run_until(WORKER_OBJECTS_FAILED);
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
    run_until(WORKER_OBJECTS_KNOWN);
    assert_true(told > before);
    assert_int_equal(note_of(ready).size, 5000);
    assert_int_equal(world.asked[WORKER], 2);
    assert_int_equal(world.asked[LOCATIONS], 1); /* what was given up is wanted again */
}

static void a_dashboard_knows_nothing(void **state)
{
    (void)state;
    worker_objects_destroy(&objects);
    world.dashboard = true;
    objects = worker_objects_create(world.loop, NULL, W);
    worker_objects_ask(objects);
    run_until(WORKER_OBJECTS_FAILED);
    assert_non_null(strstr(worker_objects_problem(objects), "GCS"));
    worker_objects_forget(objects);
    for (size_t i = 0; i < ASKED; i++)
        assert_int_equal(world.asked[i], 0);
}

static void a_worker_that_is_not_listed_fails(void **state)
{
    (void)state;
    world.worker_count = 0;
    worker_objects_ask(objects);
    run_until(WORKER_OBJECTS_FAILED);
    assert_string_equal(worker_objects_problem(objects), "the cluster does not list the worker");
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
    check_owner_text(&note, "pid 100@node-1");
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
    worker_objects_unlisten(objects, arg);
    worker_objects_unlisten(objects, objects);
}

static void a_listener_may_unlisten(void **state)
{
    (void)state;
    worker_objects_unlisten(objects, objects);
    worker_objects_listen(objects, unlisten_all, &told);
    worker_objects_listen(objects, on_news, objects);
    ask_with(NULL, 0);
    run_for(5);
    worker_objects_forget(objects);
    ask_with(NULL, 0);
    run_for(5);
    assert_int_equal(told, 100);
}

static void may_be_destroyed_at_any_time(void **state)
{
    struct object_id wanted = id(RETURNED(TASK_OF("1000000000000001")));
    for (int turns = 0; turns < 12; turns++) {
        worker_objects_ask(objects);
        for (int i = 0; i < turns; i++)
            loop_run_once(world.loop, 0);
        worker_objects_want(objects, &wanted);
        for (int i = 0; i < turns; i++)
            loop_run_once(world.loop, 0);
        tear_down(state);
        set_up(state);
    }
}

/* --- many --- */

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

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
    int64_t before = cpu_us();
    struct object_note note;
    for (size_t i = 0; i < MANY; i++)
        assert_true(worker_objects_note(objects, &refs[i].id, &note));
    assert_in_range(cpu_us() - before, 0, 500000); /* with the sanitizers */
    for (size_t i = 0; i < MANY; i++)
        worker_objects_want(objects, &refs[i].id);
    run_until(WORKER_OBJECTS_KNOWN);
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
        WITH(what_was_ready_two_steps_ago_may_not_be),
        WITH(a_look_wants_and_tells),
        WITH(whether_it_still_holds_is_asked_at_leisure),
        WITH(the_worker_is_asked_at_leisure_in_any_case),
        WITH(the_store_is_waited_for),
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
        WITH(thousands_are_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
