/* What proves a deadlock, and what does not: on the records, and the metrics of both nodes, of a
 * real cluster in which tests/integration/programs/deadlocks.py runs. */
#include "test_data.h"
#include "why_world.h"

#include "relay/why/why_graph.h"
#include "relay/why/why_judge.h"

#include <string.h>

static const char *const nodes[] = {"127.0.0.1", "127.0.0.2"};
enum { NODES = sizeof nodes / sizeof *nodes, LONG_MS = 60000 };

static char *metrics_of(const char *ip)
{
    char path[512];
    snprintf(path, sizeof path, "%s/ray-2.60.0-deadlock-metrics-%s.txt", test_data, ip);
    FILE *file = fopen(path, "rb");
    struct buf text = {0};
    assert_non_null(file);
    text.len = fread(buf_reserve(&text, 1 << 16), 1, 1 << 16, file);
    fclose(file);
    buf_add(&text, "", 1);
    return buf_take(&text);
}

static void add_gauges(struct why_records *records)
{
    records->gauges = mem_array(NODES, sizeof *records->gauges);
    records->gauges_count = NODES;
    for (size_t i = 0; i < NODES; i++) {
        char *text = metrics_of(nodes[i]);
        task_gauges_read(text, &records->gauges[i].gauges);
        free(text);
        for (size_t k = 0; k < records->node_count; k++)
            if (text_equal(records->nodes[k].ip, nodes[i]))
                text_copy(records->gauges[i].node_id, sizeof records->gauges[i].node_id,
                          records->nodes[k].node_id);
    }
}

/* Each process answers, and refers to nothing. */
static void add_refs(struct why_records *records)
{
    records->refs = mem_array(records->worker_count, sizeof *records->refs);
    records->refs_count = records->worker_count;
    for (size_t i = 0; i < records->worker_count; i++) {
        text_copy(records->refs[i].worker_id, sizeof records->refs[i].worker_id,
                  records->workers[i].worker_id);
        records->refs[i].objects = mem_alloc(sizeof *records->refs[i].objects);
    }
}

/* A second decoding of the same reply is a second look that agrees. */
static void add_earlier(struct why_world *world)
{
    struct why_records *records = &world->records;
    struct buf events = why_world_load(world, "events");
    struct err err;
    int64_t dropped;
    assert_int_equal(failure_reply_attempts(BYTES(events), world->version, false, &records->earlier,
                                            &records->earlier_count, &dropped, &err),
                     0);
    buf_free(&events);
    records->earlier_ms = records->now_ms - 1500;
}

static void open_world(struct why_world *world)
{
    why_world_open_as(world, "2.60.0", "deadlock");
    world->records.now_ms += LONG_MS;
    add_gauges(&world->records);
    add_refs(&world->records);
    add_earlier(world);
}

static void check_code(const struct why_world *world, const char *name, const char *code)
{
    struct why_report report;
    why_world_judge(world, name, &report);
    if (!text_equal(report.code, code))
        fail_msg("%s: %s, not %s: %s", name, report.code, code, report.cause);
    why_report_clear(&report);
}

/* The report on call_one is only a candidate, and says this. */
static void check_gap(const struct why_world *world, const char *words)
{
    struct why_report report;
    why_world_judge(world, "call_one", &report);
    assert_string_equal(report.code, "may_deadlock");
    if (!why_world_list_has(&report.unknown, words))
        fail_msg("not told: %s", words);
    assert_true(why_world_list_has(&report.details, "has called"));
    why_report_clear(&report);
}

static struct task_gauge *gauge_of(struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.gauges_count; i++) {
        struct task_gauges *gauges = &world->records.gauges[i].gauges;
        for (size_t k = 0; k < gauges->count; k++)
            if (text_equal(gauges->items[k].function, name))
                return &gauges->items[k];
    }
    fail_msg("no gauge of %s", name);
    return NULL;
}

static struct ray_attempt *attempt_of(struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.attempt_count; i++)
        if (text_equal(world->records.attempts[i].name, name))
            return &world->records.attempts[i];
    fail_msg("no attempt of %s", name);
    return NULL;
}

static void deadlocks_are_proven(void **state)
{
    static const char *const names[] = {"call_one", "call_two", "outer", "inner"};
    struct why_world world;
    (void)state;
    open_world(&world);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_code(&world, names[i], "deadlock");
    struct why_report report;
    why_world_judge(&world, "call_one", &report);
    assert_non_null(strstr(report.cause, "DEADLOCK with call_two ("));
    assert_true(why_world_list_has(&report.details, "waits in ray.get for Caller.answer"));
    assert_true(why_world_list_has(&report.details, "two looks 1.5 s apart agree"));
    assert_int_equal(report.unknown.count, 0);
    why_report_clear(&report);
    why_world_close(&world);
}

static void false_alarms_are_none(void **state)
{
    static const struct {
        const char *name, *who, *unless;
    } alarms[] = {
        {"calls_and_computes", "calls_and_computes", "(unless it awaits: "},
        {"partner_of_calls_and_computes", "calls_and_computes", "(unless it awaits: "},
        {"calls_and_gets_another", "sleeper", "(unless it awaits: "},
        {"polls", "polls", "(unless it awaits, or its ray.wait has no timeout: "},
    };
    struct why_world world;
    (void)state;
    open_world(&world);
    for (size_t i = 0; i < sizeof alarms / sizeof *alarms; i++) {
        struct why_report report;
        char words[200];
        why_world_judge(&world, alarms[i].name, &report);
        assert_string_equal(report.code, "may_wait");
        snprintf(words, sizeof words, "no deadlock: %s (", alarms[i].who);
        assert_true(why_world_list_has(&report.details, words));
        assert_true(why_world_list_has(&report.details, ") is not in ray.get ("));
        assert_true(why_world_list_has(&report.details, alarms[i].unless));
        why_report_clear(&report);
    }
    check_code(&world, "lends_its_cpu", "may_wait");
    why_world_close(&world);
}

static void set_amount(struct ray_resources *resources, const char *name, double amount)
{
    for (size_t i = 0; i < resources->count; i++)
        if (text_equal(resources->items[i].name, name)) {
            resources->items[i].amount = amount;
            return;
        }
    resources->items = mem_resize(resources->items, resources->count + 1, sizeof *resources->items);
    resources->items[resources->count++] = (struct ray_resource){mem_string(name), amount};
}

/* Ray lends the CPUs of a task in ray.get to others: one that waits for a CPU does not wait for it.
 */
static void a_cpu_is_lent(void **state)
{
    struct why_world world;
    (void)state;
    open_world(&world);
    struct ray_attempt *borrows = attempt_of(&world, "borrows"), *lends = NULL;
    borrows->state = RAY_ATTEMPT_PENDING_NODE;
    borrows->state_ms[RAY_ATTEMPT_PENDING_NODE] = borrows->state_ms[RAY_ATTEMPT_RUNNING];
    for (size_t i = 0; i < world.records.attempt_count; i++)
        if (text_equal(world.records.attempts[i].task_id, borrows->parent_task_id))
            lends = &world.records.attempts[i];
    assert_non_null(lends);
    for (size_t i = 0; i < world.records.resources.node_count; i++)
        set_amount(&world.records.resources.nodes[i].free, "CPU", 0);
    why_records_index(&world.records);
    assert_true(why_graph_holds(&world.records, lends, borrows, true));
    assert_false(why_graph_edge(&world.records, borrows, lends));
    assert_true(why_graph_edge(&world.records, lends, borrows));
    struct why_cycle cycle;
    assert_false(why_graph_cycle(&world.records, lends, &cycle));
    why_world_close(&world);
}

static void each_part_of_the_proof_is_needed(void **state)
{
    struct why_world world;
    (void)state;
    open_world(&world);
    struct why_records *records = &world.records;
    int64_t earlier_ms = records->earlier_ms;
    struct ray_attempt *two = attempt_of(&world, "call_two");
    struct task_gauge *gauge = gauge_of(&world, "call_two");

    records->earlier_ms = 0;
    check_gap(&world, "whether each of them is in ray.get");
    records->earlier_ms = earlier_ms;

    two->state_ms[two->state]++;
    check_gap(&world, "call_two");
    two->state_ms[two->state]--;

    two->state_ms[two->state] += 1000 * (int64_t)LONG_MS;
    records->now_ms = two->state_ms[two->state] + 3000;
    check_gap(&world, "Ask again in 13");
    two->state_ms[two->state] -= 1000 * (int64_t)LONG_MS;
    records->now_ms = earlier_ms + 1500;

    gauge->running = 1; /* two of the name, of which one is not in ray.get */
    check_gap(&world, "whether call_two");
    gauge->running = 0;

    char job = *gauge->job_id;
    *gauge->job_id = '9'; /* of another job */
    check_gap(&world, "its node's metrics do not tell");
    *gauge->job_id = job;

    records->refs_count = 0;
    check_gap(&world, "did not tell its references");
    records->refs_count = records->worker_count;
    check_code(&world, "call_one", "deadlock");
    why_world_close(&world);
}

/* A resource that somebody else holds, too, may become free. */
static void a_resource_that_others_hold(void **state)
{
    struct why_world world;
    (void)state;
    open_world(&world);
    struct ray_attempt *outer = attempt_of(&world, "outer");
    for (size_t i = 0; i < outer->resources.count; i++)
        if (text_equal(outer->resources.items[i].name, "b"))
            outer->resources.items[i].amount /= 2;
    check_code(&world, "inner", "may_deadlock");
    why_world_close(&world);
}

static struct why_refs *refs_of(struct why_world *world, const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < world->records.refs_count; i++)
        if (text_equal(world->records.refs[i].worker_id, attempt->worker_id))
            return &world->records.refs[i];
    fail_msg("no references of %s", attempt->name);
    return NULL;
}

/* A result that may not be made yet, of a task without events, may be what a task waits for. */
static void a_task_without_a_record(void **state)
{
    static const char words[] = "a task of which Ray has no record";
    struct why_world world;
    (void)state;
    open_world(&world);
    struct why_refs *refs = refs_of(&world, attempt_of(&world, "call_two"));
    struct ray_object_ref *ref = mem_array(1, sizeof *ref);
    *ref = (struct ray_object_ref){.size = -1, .local = 1, .call_site = ""};
    memset(ref->id.bytes, 7, ID_TASK_BYTES);
    ref->id.bytes[ID_TASK_BYTES] = 1; /* its first result */
    refs->objects->refs = ref;
    refs->objects->ref_count = 1;
    check_gap(&world, words); /* a borrower does not know whether it is made */
    ref->status = RAY_ATTEMPT_PENDING_ARGS;
    check_gap(&world, words);
    ref->status = RAY_TASK_FINISHED;
    check_code(&world, "call_one", "deadlock");
    ref->status = RAY_TASK_FAILED;
    check_code(&world, "call_one", "deadlock");
    why_world_close(&world);
}

/* --- known causes --- */

static struct ray_node_resources *node_of(struct why_world *world, const char *node_id)
{
    for (size_t i = 0; i < world->records.resources.node_count; i++)
        if (text_equal(world->records.resources.nodes[i].node_id, node_id))
            return &world->records.resources.nodes[i];
    fail_msg("no node %s", node_id);
    return NULL;
}

/* What a task waits for in any case is no circle's fault, and a resource that is free keeps nothing
 * waiting. */
static void a_known_cause_stays(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    world.records.now_ms += LONG_MS;
    struct ray_attempt *inner = attempt_of(&world, "inner"), *outer = attempt_of(&world, "outer");
    check_code(&world, "inner", "may_deadlock");
    set_amount(&inner->resources, "gpu_x", 1);
    check_code(&world, "inner", "infeasible");
    check_code(&world, "outer", "may_wait");
    set_amount(&inner->resources, "gpu_x", 0);
    check_code(&world, "inner", "may_deadlock");
    text_copy(inner->group_id, sizeof inner->group_id, world.records.groups[0].group_id);
    check_code(&world, "inner", "group_infeasible");
    inner->group_id[0] = '\0';
    set_amount(&node_of(&world, outer->node_id)->free, "b", 4);
    check_code(&world, "inner", "waits_for_worker");
    check_code(&world, "outer", "may_wait");
    why_world_close(&world);
}

/* A node that could not run the task does not count, whatever others hold there. */
static void each_node_is_asked_for_its_own(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    open_world(&world);
    const struct ray_attempt *outer = attempt_of(&world, "outer");
    struct ray_node_resources *node = node_of(&world, outer->node_id), *other = NULL;
    for (size_t i = 0; i < world.records.resources.node_count; i++)
        if (&world.records.resources.nodes[i] != node)
            other = &world.records.resources.nodes[i];
    assert_non_null(other);
    set_amount(&other->total, "b", 2); /* inner needs 4 */
    set_amount(&other->free, "b", 1);
    why_world_judge(&world, "inner", &report);
    assert_string_equal(report.code, "deadlock");
    assert_true(why_world_list_has(&report.unknown, "whether a node is being added"));
    why_report_clear(&report);
    set_amount(&other->total, "b", 4);
    check_code(&world, "inner", "may_deadlock"); /* what is held there may become free */
    set_amount(&node->total, "b", 2);
    set_amount(&other->total, "b", 2);
    check_code(&world, "inner", "infeasible");
    why_world_close(&world);
}

/* A task that holds a resource elsewhere keeps none from one that cannot run there. */
static void a_resource_of_another_node(void **state)
{
    struct why_world world;
    struct ray_attempt *outer;
    (void)state;
    why_world_open(&world, "2.60.0");
    world.records.now_ms += LONG_MS;
    outer = attempt_of(&world, "outer");
    for (size_t i = 0; i < world.records.node_count; i++)
        if (!text_equal(world.records.nodes[i].node_id, outer->node_id)) {
            text_copy(outer->node_id, sizeof outer->node_id, world.records.nodes[i].node_id);
            break;
        }
    check_code(&world, "inner", "waits_for_resources");
    why_world_close(&world);
}

static void what_the_proof_needs(void **state)
{
    struct why_world world;
    struct why_subject subject;
    struct why_needs needs;
    struct err err;
    (void)state;
    why_world_open_as(&world, "2.60.0", "deadlock");
    world.records.now_ms += LONG_MS;
    assert_int_equal(why_subject_find(&world.records, "call_one", &subject, &err), 0);
    why_judge_needs(&world.records, &subject, &needs);
    assert_true(needs.second_look);
    assert_int_equal(needs.gauges_count, 1); /* both run on one node */
    assert_int_equal(needs.ref_count, 2);
    assert_int_equal(why_subject_find(&world.records, "sleeper", &subject, &err), 0);
    why_judge_needs(&world.records, &subject, &needs);
    assert_false(needs.second_look);
    why_world_close(&world);
}

static void lines_of_the_gauge(void **state)
{
    static const char text[] =
        "# HELP ray_tasks Current number of tasks\n"
        "ray_tasks{JobId=\"01000000\",Name=\"f\",State=\"RUNNING\"} 2.0\n"
        "ray_tasks{JobId=\"01000000\",Name=\"f\",State=\"RUNNING_IN_RAY_WAIT\"} 1.0\n"
        "ray_tasks{JobId=\"01000000\",Name=\"f\",State=\"RUNNING_IN_RAY_GET\"} 3.0\n"
        "ray_tasks{JobId=\"01000000\",Name=\"f\",Source=\"owner\",State=\"RUNNING\"} 9.0\n"
        "ray_tasks{JobId=\"02000000\",Name=\"f\",State=\"RUNNING\"} 9.0\n"
        "ray_tasks{JobId=\"01000000\",Name=\"g\",State=\"RUNNING_IN_RAY_GET\"} 0.0\n"
        "ray_tasks{JobId=\"01000000\",Name=\"a\\\"b\",State=\"RUNNING\"} 1.0\n"
        "ray_tasks{JobId=\"01000000\",Name=\"cut\n"
        "ray_tasks{JobId\n"
        "ray_tasks{Name=\"no job\",State=\"RUNNING\"} 1.0\n"
        "ray_tasks{JobId=\"01000000\",Name=\"last\",State=\"RUNNING\"} 1.0";
    struct task_gauges gauges;
    (void)state;
    task_gauges_read(text, &gauges);
    const struct task_gauge *f = task_gauges_find(&gauges, "f", "01000000");
    assert_non_null(f);
    assert_int_equal(f->in_get, 3);
    assert_int_equal(f->running, 3);
    assert_int_equal(f->in_wait, 1);
    assert_null(task_gauges_find(&gauges, "g", "01000000"));
    assert_non_null(task_gauges_find(&gauges, "last", "01000000"));
    assert_int_equal(gauges.count, 4); /* f of two jobs, a\"b, last */
    task_gauges_clear(&gauges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlocks_are_proven),
        cmocka_unit_test(false_alarms_are_none),
        cmocka_unit_test(a_cpu_is_lent),
        cmocka_unit_test(each_part_of_the_proof_is_needed),
        cmocka_unit_test(a_resource_that_others_hold),
        cmocka_unit_test(a_task_without_a_record),
        cmocka_unit_test(a_known_cause_stays),
        cmocka_unit_test(each_node_is_asked_for_its_own),
        cmocka_unit_test(a_resource_of_another_node),
        cmocka_unit_test(what_the_proof_needs),
        cmocka_unit_test(lines_of_the_gauge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
