/* Tasks whose owner has died, and holders of resources that hold them no more: on the records of a
 * real cluster in which tests/integration/programs/failures.py waits. */
#include "why_world.h"

#include "relay/why/why_graph.h"
#include "relay/why/why_judge.h"
#include "relay/why/why_overview.h"
#include "relay/why_records/why_names.h"

#include <string.h>

static struct ray_attempt *attempt_of(struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.attempt_count; i++)
        if (text_equal(world->records.attempts[i].name, name))
            return &world->records.attempts[i];
    fail_msg("no attempt of %s", name);
    return NULL;
}

/* The process of the attempt dies, and Ray's table of tasks is as it was. */
static void end_worker(struct why_world *world, const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < world->records.worker_count; i++)
        if (text_equal(world->records.workers[i].worker_id, attempt->worker_id)) {
            world->records.workers[i].is_alive = false;
            return;
        }
    fail_msg("%s has no process", attempt->name);
}

static void set_parent(struct ray_attempt *attempt, const struct ray_attempt *parent)
{
    text_copy(attempt->parent_task_id, sizeof attempt->parent_task_id, parent->task_id);
}

static size_t rows_of(const struct why_overview *overview, const char *name)
{
    for (size_t i = 0; i < overview->count; i++)
        if (text_equal(overview->rows[i].name, name))
            return overview->rows[i].count;
    return 0;
}

static void an_owner_that_died(void **state)
{
    struct why_world world;
    struct why_report report;
    struct why_overview before, after;
    struct why_subject subject;
    struct why_needs needs;
    struct err err;
    (void)state;
    why_world_open(&world, "2.60.0");
    const struct ray_attempt *parent = attempt_of(&world, "kill9_later");
    struct ray_attempt *orphan = attempt_of(&world, "waits_for_b");
    why_overview_make(&world.records, &before);
    set_parent(orphan, parent);
    why_world_judge(&world, orphan->task_id, &report);
    assert_string_equal(report.code, "owner_died");
    assert_non_null(strstr(report.cause, "its owner, pid "));
    assert_non_null(strstr(report.cause, " died: it never ran, though Ray still lists it as "));
    assert_non_null(strstr(report.cause, ". The owner: its process vanished"));
    assert_true(why_world_list_has(&report.unknown, "its log is missing"));
    why_report_clear(&report);
    assert_int_equal(why_subject_find(&world.records, orphan->task_id, &subject, &err), 0);
    why_judge_needs(&world.records, &subject, &needs);
    assert_int_equal(needs.log_count, 1); /* the owner's last words tell more */
    assert_string_equal(needs.logs_of[0]->worker_id, parent->worker_id);

    why_overview_make(&world.records, &after);
    assert_int_equal(rows_of(&before, "waits_for_b"), 3);
    assert_int_equal(rows_of(&after, "waits_for_b"), 2);
    assert_int_equal(after.tasks_waiting + 1, before.tasks_waiting);
    why_overview_clear(&before);
    why_overview_clear(&after);
    assert_int_equal(why_subject_find(&world.records, "waits_for_b", &subject, &err), 0);
    assert_int_equal(subject.namesakes_waiting, 2);
    assert_ptr_not_equal(subject.attempt, orphan);
    why_world_close(&world);
}

/* Lets the process of `from` refer to the first result of `maker`. */
static void refer_to(struct why_world *world, const struct ray_attempt *from,
                     const struct ray_attempt *maker)
{
    struct why_records *records = &world->records;
    records->refs = mem_array(1, sizeof *records->refs);
    records->refs_count = 1;
    struct why_refs *refs = &records->refs[0];
    text_copy(refs->worker_id, sizeof refs->worker_id, from->worker_id);
    refs->objects = mem_alloc(sizeof *refs->objects);
    *refs->objects = (struct ray_worker_objects){.ref_count = 1};
    refs->objects->refs = mem_array(1, sizeof *refs->objects->refs);
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    snprintf(hex, sizeof hex, "%s01000000", maker->task_id);
    struct ray_object_ref *ref = &refs->objects->refs[0];
    *ref = (struct ray_object_ref){.size = -1, .local = 1, .call_site = ""};
    assert_true(object_id_parse(hex, strlen(hex), &ref->id));
}

/* A task that never runs is not counted as one that waits, and what refers to it is told so. */
static void what_never_runs_waits_nowhere(void **state)
{
    struct why_world world;
    struct why_report report;
    struct why_overview overview;
    char counts[64];
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *orphan = attempt_of(&world, "waits_for_b");
    set_parent(orphan, attempt_of(&world, "kill9_later"));
    why_overview_make(&world.records, &overview);
    snprintf(counts, sizeof counts, " failed, %zu waiting, ", overview.tasks_waiting);
    why_overview_clear(&overview);
    why_world_judge(&world, "02", &report); /* all that waits is of this job */
    assert_string_equal(report.kind, "job");
    assert_true(why_world_list_has(&report.details, counts));
    why_report_clear(&report);

    refer_to(&world, attempt_of(&world, "waits_in_get"), orphan);
    why_world_judge(&world, "waits_in_get", &report);
    assert_true(why_world_list_has(&report.details, "), its owner died: waiting in vain "));
    why_report_clear(&report);

    struct ray_attempt *call = attempt_of(&world, "Serial.behind"); /* the actor has it not yet */
    why_world_judge(&world, "serial", &report);
    assert_true(why_world_list_has(&report.details, "1 call wait for it"));
    why_report_clear(&report);
    set_parent(call, attempt_of(&world, "kill9_later"));
    call->state = RAY_ATTEMPT_PENDING_ARGS;
    why_world_judge(&world, "serial", &report);
    assert_false(why_world_list_has(&report.details, "wait for it"));
    why_report_clear(&report);
    why_world_close(&world);
}

static void an_owner_that_may_live(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct why_records *records = &world.records;
    struct ray_attempt *it = attempt_of(&world, "waits_for_b");
    struct ray_attempt *parent = attempt_of(&world, "kill9_later");
    assert_null(why_dead_owner_of_task(records, it)); /* it is the driver's */
    set_parent(it, parent);
    assert_non_null(why_dead_owner_of_task(records, it));
    it->type = RAY_ACTOR_CREATION_TASK; /* a detached actor outlives its owner */
    assert_null(why_dead_owner_of_task(records, it));
    it->type = RAY_ACTOR_TASK;
    assert_non_null(why_dead_owner_of_task(records, it));
    it->state = RAY_ATTEMPT_SUBMITTED; /* its actor has it, and may run it */
    assert_null(why_dead_owner_of_task(records, it));
    it->type = RAY_NORMAL_TASK;
    assert_non_null(why_dead_owner_of_task(records, it));
    it->state = RAY_ATTEMPT_RUNNING;
    assert_null(why_dead_owner_of_task(records, it));
    it->state = RAY_ATTEMPT_PENDING_NODE;
    parent->worker_id[0] = '\0'; /* the parent is tried again, and has no process yet */
    assert_null(why_dead_owner_of_task(records, it));
    text_copy(it->parent_task_id, sizeof it->parent_task_id, "0123");
    assert_null(why_dead_owner_of_task(records, it)); /* Ray has no record of the parent */
    why_world_close(&world);
}

/* Ray leaves a task RUNNING whose owner has died with its process. */
static void a_holder_that_died(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    world.records.now_ms += 60000;
    const struct ray_attempt *holder = attempt_of(&world, "holder");
    const struct ray_attempt *slow = attempt_of(&world, "Serial.slow");
    const struct ray_attempt *waits = attempt_of(&world, "waits_for_b");
    const struct ray_attempt *behind = attempt_of(&world, "Serial.behind");
    assert_true(why_graph_edge(&world.records, waits, holder));
    assert_true(why_graph_edge(&world.records, behind, slow));
    end_worker(&world, holder);
    assert_false(why_graph_edge(&world.records, waits, holder));
    why_world_judge(&world, "waits_for_b", &report);
    assert_string_equal(report.code, "waits_for_resources");
    assert_false(why_world_list_has(&report.details, "holder ("));
    why_report_clear(&report);

    end_worker(&world, slow);
    assert_false(why_graph_edge(&world.records, behind, slow));
    why_world_judge(&world, "Serial.behind", &report);
    assert_string_equal(report.code, "submitted");
    why_report_clear(&report);

    why_world_judge(&world, "call_one", &report);
    assert_string_equal(report.code, "may_deadlock");
    why_report_clear(&report);
    end_worker(&world, attempt_of(&world, "call_two"));
    why_world_judge(&world, "call_one", &report);
    assert_string_equal(report.code, "may_wait");
    why_report_clear(&report);
    why_world_close(&world);
}

static void a_parent_may_have_lent_its_cpus(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *holder = attempt_of(&world, "holder");
    struct ray_attempt *waits = attempt_of(&world, "waits_for_argument");
    struct ray_attempt *child = attempt_of(&world, "infeasible");
    char driver[sizeof child->parent_task_id];
    text_copy(driver, sizeof driver, child->parent_task_id);
    set_parent(child, holder);
    why_world_judge(&world, "waits_for_b", &report); /* of other resources nothing is lent */
    assert_true(why_world_list_has(&report.details, "holder ("));
    assert_false(why_world_list_has(&report.details, "may have lent it"));
    why_report_clear(&report);
    text_copy(child->parent_task_id, sizeof child->parent_task_id, driver);
    waits->state = RAY_ATTEMPT_PENDING_NODE;
    waits->state_ms[RAY_ATTEMPT_PENDING_NODE] = world.records.now_ms - 5000;
    for (size_t i = 0; i < world.records.resources.node_count; i++) {
        struct ray_resources *free_now = &world.records.resources.nodes[i].free;
        for (size_t k = 0; k < free_now->count; k++)
            if (text_equal(free_now->items[k].name, "CPU"))
                free_now->items[k].amount = 0;
    }
    why_world_judge(&world, "waits_for_argument", &report);
    assert_string_equal(report.code, "waits_for_resources");
    assert_true(why_world_list_has(&report.details, "CPU free: "));
    assert_true(why_world_list_has(&report.details, "holder ("));
    assert_false(why_world_list_has(&report.details, "may have lent it"));
    why_report_clear(&report);
    set_parent(child, holder);
    why_world_judge(&world, "waits_for_argument", &report);
    assert_true(why_world_list_has(&report.details, " has 1 and may have lent it"));
    why_report_clear(&report);
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_that_died),
        cmocka_unit_test(what_never_runs_waits_nowhere),
        cmocka_unit_test(an_owner_that_may_live),
        cmocka_unit_test(a_holder_that_died),
        cmocka_unit_test(a_parent_may_have_lent_its_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
