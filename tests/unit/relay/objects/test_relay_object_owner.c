/* Whom the objects belong to that a stopped worker refers to, and how things are called. */
#include "cmocka_prelude.h"
#include "objects_world.h"

/* --- owners --- */

static void check_owner(const char *hex, enum object_state expected, const char *owner,
                        const char *by)
{
    struct object_note note = note_of(hex);
    assert_int_equal(note.state, expected);
    check_owner_text(&note, owner);
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
    run_for(1400); /* what is only guessed is not thought to be late */
    assert_int_equal(world.asked[TASK], 512);
    worker_objects_forget(objects);
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
    assert_string_equal(worker_objects_node_name(objects, N1), "10.0.0.1");
    assert_string_equal(worker_objects_node_name(objects, N2), "10.0.0.2");
    assert_string_equal(worker_objects_node_name(objects, N3), "node-3");
    assert_string_equal(worker_objects_node_name(objects, "77"), "77");
}

static void an_owner_is_shown_on_its_node_by_the_newest_name(void **state)
{
    (void)state;
    const char *hex = RETURNED(TASK_OF("1000000000000001"));
    const struct ray_object_ref refs[] = {{.id = id(hex), .size = 8, .local = 2}};
    const struct ray_object_location where[] = {{.id = id(hex), .known = true, .size = 8}};
    WORLD(location, where);
    ask_with(refs, 1);
    check_owner(hex, OBJECT_STATE_READY, "pid 200@node-2", "child (10000000)");
    struct ray_node renamed[] = {nodes[0], nodes[1], nodes[2]};
    renamed[1].hostname = (char *)"gpu-2";
    WORLD(node, renamed);
    worker_objects_forget(objects);
    ask_with(refs, 1);
    check_owner(hex, OBJECT_STATE_READY, "pid 200@gpu-2", "child (10000000)");
}

/* Another cluster, with another filter for tasks, may be at the address by then. */
static void a_task_is_not_asked_for_while_the_version_is_old(void **state)
{
    (void)state;
    struct object_id first = id(RETURNED(TASK_OF("1000000000000001")));
    struct object_id other = id(RETURNED(TASK_OF("3000000000000003")));
    ask_with(NULL, 0);
    worker_objects_want(objects, &first);
    run_until(WORKER_OBJECTS_KNOWN);
    assert_int_equal(world.asked[VERSION], 1);
    size_t asked = world.asked[TASK];
    assert_true(asked > 0);
    worker_objects_forget(objects);
    world.version_is_old = true;
    world.mute[VERSION] = true;
    worker_objects_ask(objects);
    worker_objects_want(objects, &other);
    run_for(20);
    assert_int_equal(world.asked[VERSION], 2);
    assert_int_equal(world.asked[TASK], asked);
}

static void actors_are_asked_for_when_one_is_wanted(void **state)
{
    (void)state;
    struct actor_note note;
    assert_false(worker_objects_actor(objects, ACTOR, &note)); /* the worker runs */
    ask_with(NULL, 0);
    assert_int_equal(world.asked[ACTORS], 0);
    assert_false(worker_objects_actor(objects, ACTOR, &note));
    size_t before = told;
    run_for(20);
    assert_true(told > before);
    assert_true(worker_objects_actor(objects, ACTOR, &note));
    assert_string_equal(note.class_name, "Counter");
    assert_string_equal(note.name, "bob");
    assert_string_equal(note.node, "node-2");
    assert_string_equal(note.state, "ALIVE");
    assert_int_equal(note.pid, 600);
    assert_false(worker_objects_actor(objects, ACTOR_ID("77"), &note));
    assert_int_equal(world.asked[ACTORS], 1);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(what_a_task_returns_is_its_parents),
        WITH(a_driver_is_found_by_its_job),
        WITH(an_actor_owns_what_it_puts),
        WITH(the_owners_end_loses_the_object),
        WITH(the_running_task_names_what_it_puts),
        WITH(the_raylets_are_asked_once_for_what_tasks_have_put),
        WITH(a_task_that_has_put_it_is_guessed_at_the_very_last),
        WITH(nodes_of_one_name_are_called_by_their_ip),
        WITH(an_owner_is_shown_on_its_node_by_the_newest_name),
        WITH(a_task_is_not_asked_for_while_the_version_is_old),
        WITH(actors_are_asked_for_when_one_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
