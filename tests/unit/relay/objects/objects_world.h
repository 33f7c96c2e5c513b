/* Two live nodes with a worker, its parent, a driver, an actor and some dead; and what that worker
 * refers to. */
#ifndef RAYDBG_TESTS_OBJECTS_WORLD_H
#define RAYDBG_TESTS_OBJECTS_WORLD_H

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
    {.node_id = N1,
     .ip = (char *)"10.0.0.1",
     .hostname = (char *)"node-1",
     .manager_port = 71,
     .is_alive = true,
     .is_head = true},
    {.node_id = N2,
     .ip = (char *)"10.0.0.2",
     .hostname = (char *)"node-2",
     .manager_port = 72,
     .is_alive = true,
     .is_head = false},
    {.node_id = N3,
     .ip = (char *)"10.0.0.3",
     .hostname = (char *)"node-3",
     .manager_port = 73,
     .is_alive = false,
     .is_head = false},
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
    {.actor_id = ACTOR,
     .job_id = JOB,
     .node_id = N2,
     .class_name = (char *)"Counter",
     .name = (char *)"bob",
     .state = (char *)"ALIVE",
     .pid = 600},
};

static const struct ray_job jobs[] = {{JOB, .driver_ip = (char *)"10.0.0.1", .driver_pid = 300}};

static struct worker_objects *objects;
static size_t told;

static inline struct object_id id(const char *hex)
{
    struct object_id out;
    assert_true(object_id_parse(hex, strlen(hex), &out));
    return out;
}

static inline void on_news(void *arg)
{
    (void)arg;
    told++;
}

#define WORLD(what, table)                                                                         \
    do {                                                                                           \
        world.what##s = (table);                                                                   \
        world.what##_count = COUNT(table);                                                         \
    } while (0)

static inline int set_up(void **state)
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
    objects = worker_objects_create(world.loop, NULL, W);
    worker_objects_listen(objects, on_news, objects);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    worker_objects_destroy(&objects);
    assert_null(world.questions); /* nothing is told to who is gone */
    loop_destroy(&world.loop);
    return 0;
}

static inline void run_until(enum worker_objects_state wanted)
{
    int64_t end = loop_now_us() + 60000000; /* only a hang takes so long */
    while ((worker_objects_state(objects) != wanted || !worker_objects_settled(objects)) &&
           loop_now_us() < end)
        loop_run_once(world.loop, 1);
    assert_int_equal(worker_objects_state(objects), wanted);
    assert_true(worker_objects_settled(objects));
}

/* However busy the machine is, the loop turns that many times at least. */
static inline void run_for(int64_t ms)
{
    int64_t end = loop_now_us() + ms * 1000;
    for (int64_t turns = 0; turns < ms || loop_now_us() < end; turns++)
        loop_run_once(world.loop, 1);
}

/* Wants it and waits; its note. */
static inline struct object_note note_of(const char *hex)
{
    struct object_note note;
    struct object_id wanted = id(hex);
    worker_objects_want(objects, &wanted);
    run_until(WORKER_OBJECTS_KNOWN);
    worker_objects_note(objects, &wanted, &note);
    return note;
}

static inline void check_owner_text(const struct object_note *note, const char *expected)
{
    struct buf text = {0};
    annotate_owner(note, &text);
    assert_string_equal(text.data ? text.data : "", expected);
    buf_free(&text);
}

static inline void check_property(const char *hex, const char *name, const char *value)
{
    struct object_property all[OBJECT_DETAILS];
    struct object_id wanted = id(hex);
    size_t at = 0;
    worker_objects_describe(objects, &wanted, NULL, all);
    while (at < OBJECT_DETAILS && !text_equal(all[at].name, name))
        at++;
    assert_true(at < OBJECT_DETAILS);
    assert_string_equal(all[at].value, value);
    object_details_clear(all);
}

static inline void ask_with(const struct ray_object_ref *refs, size_t count)
{
    world.refs = refs;
    world.ref_count = count;
    worker_objects_ask(objects);
    run_until(WORKER_OBJECTS_KNOWN);
}

#endif
