/* Who has the resources for which something waits, and which nodes may run it. */
#include "why_world.h"

#include "relay/why/why_rules.h"

#include <string.h>

static struct ray_attempt *attempt_of(struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.attempt_count; i++)
        if (text_equal(world->records.attempts[i].name, name))
            return &world->records.attempts[i];
    fail_msg("no attempt of %s", name);
    return NULL;
}

/* The group `too_big`, which `in_group` waits for. */
static struct ray_group *the_group(struct why_world *world)
{
    assert_int_equal(world->records.group_count, 1);
    return &world->records.groups[0];
}

static void add(struct ray_resources *resources, const char *name, double amount)
{
    resources->items = mem_resize(resources->items, resources->count + 1, sizeof *resources->items);
    resources->items[resources->count++] = (struct ray_resource){mem_string(name), amount};
}

/* A resource as Ray names what the group has of it, in all bundles or in one. */
static void add_of_group(struct why_world *world, struct ray_resources *resources,
                         const char *before, double amount)
{
    char name[200];
    snprintf(name, sizeof name, "%s%s", before, the_group(world)->group_id);
    add(resources, name, amount);
}

/* The group is placed on the node that has `b`, and has a CPU in one bundle there. */
static struct ray_node_resources *place_group(struct why_world *world)
{
    the_group(world)->state = "CREATED";
    for (size_t i = 0; i < world->records.resources.node_count; i++) {
        struct ray_node_resources *node = &world->records.resources.nodes[i];
        if (ray_resources_amount(&node->total, "b") == 0)
            continue;
        add_of_group(world, &node->total, "CPU_group_", 1);
        add_of_group(world, &node->total, "CPU_group_0_", 1);
        add_of_group(world, &node->total, "bundle_group_", 1000);
        add_of_group(world, &node->free, "bundle_group_", 999);
        return node;
    }
    fail_msg("no node has b");
    return NULL;
}

static void what_waits_within_a_group(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    place_group(&world);
    add_of_group(&world, &attempt_of(&world, "holder")->resources, "CPU_group_", 1);
    why_world_judge(&world, "in_group", &report);
    assert_string_equal(report.code, "waits_for_resources");
    assert_string_equal(report.cause,
                        "it waits for resources of its placement group too_big: {CPU: 1}");
    assert_true(why_world_list_has(&report.details, "127.0.0.2 has 0 of 1 CPU free: holder ("));
    why_report_clear(&report);
    why_world_close(&world);
}

/* Ray lends the CPUs of a bundle, too, while the task that has them waits for what it has called.
 */
static void a_cpu_of_a_group_is_lent(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    world.records.now_ms += 60000;
    place_group(&world);
    struct ray_attempt *holder = attempt_of(&world, "holder");
    struct ray_attempt *in_group = attempt_of(&world, "in_group");
    add_of_group(&world, &holder->resources, "CPU_group_", 1);
    add_of_group(&world, &holder->resources, "bundle_group_", 0.001);
    text_copy(in_group->parent_task_id, sizeof in_group->parent_task_id, holder->task_id);
    why_world_judge(&world, "in_group", &report);
    assert_string_equal(report.code, "waits_for_resources");
    why_report_clear(&report);
    why_world_judge(&world, "holder", &report);
    assert_string_equal(report.code, "may_wait");
    why_report_clear(&report);
    why_world_close(&world);
}

static void what_fits_into_no_bundle(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    place_group(&world);
    add_of_group(&world, &attempt_of(&world, "in_group")->resources, "GPU_group_", 1);
    why_world_judge(&world, "in_group", &report);
    assert_string_equal(report.code, "infeasible");
    assert_non_null(strstr(report.cause, "no bundle of its placement group too_big has what it "
                                         "needs, {CPU: 1, GPU: 1}"));
    assert_true(why_world_list_has(&report.details, "127.0.0.2 has 0 of the 1 GPU"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* A group that is not placed is the reason, also of an actor in it. */
static void an_actor_in_a_group_that_waits(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    for (size_t i = 0; i < world.records.actor_count; i++) {
        struct ray_actor *it = &world.records.actors[i];
        if (!text_equal(it->name, "infeasible_actor"))
            continue;
        ray_resources_clear(it->resources);
        *it->resources = (struct ray_resources){0};
        add_of_group(&world, it->resources, "CPU_group_0_", 1);
        add_of_group(&world, it->resources, "CPU_group_", 1);
    }
    why_world_judge(&world, "infeasible_actor", &report);
    assert_string_equal(report.code, "group_infeasible");
    assert_non_null(strstr(report.cause, "too_big"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* What a group has reserved no task outside of it gets. */
static void groups_hold_resources(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_node_resources *node = place_group(&world);
    add_of_group(&world, &node->total, "b_group_", 3);
    add_of_group(&world, &node->total, "b_group_0_", 3);
    add_of_group(&world, &node->total, "bb_group_", 3);
    why_world_judge(&world, "waits_for_b", &report);
    assert_string_equal(report.code, "waits_for_resources");
    assert_true(why_world_list_has(&report.details, ", placement group too_big has 3"));
    assert_false(why_world_list_has(&report.details, "too_big has 3, "));
    why_report_clear(&report);
    why_world_close(&world);
}

static void a_group_waits_for_what_others_hold(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_group *group = the_group(&world);
    ray_resources_clear(&group->bundles[0]);
    group->bundles[0] = (struct ray_resources){0};
    add(&group->bundles[0], "b", 1);
    group->scheduling_state = "NO_RESOURCES";
    why_world_judge(&world, "too_big", &report);
    assert_string_equal(report.code, "group_waits");
    assert_true(why_world_list_has(&report.details, "127.0.0.2 has 0.1 of 4 b free: ") &&
                why_world_list_has(&report.details, "holder ("));
    why_report_clear(&report);
    why_world_close(&world);
}

/* --- actors --- */

static void set_amount(struct ray_resources *resources, const char *name, double amount)
{
    for (size_t i = 0; i < resources->count; i++)
        if (text_equal(resources->items[i].name, name))
            resources->items[i].amount = amount;
}

/* No node has a CPU, or none has one free. */
static void take_cpus(struct why_world *world, bool all)
{
    for (size_t i = 0; i < world->records.resources.node_count; i++) {
        set_amount(&world->records.resources.nodes[i].free, "CPU", 0);
        if (all)
            set_amount(&world->records.resources.nodes[i].total, "CPU", 0);
    }
}

/* `restarted_actor`, whose program names no resources, as it is before it has a process. */
static struct ray_actor *starting_actor(struct why_world *world, const char *state)
{
    struct ray_attempt *creation = attempt_of(world, "restarted_actor:Actor.__init__");
    creation->state = RAY_ATTEMPT_PENDING_NODE;
    *creation->worker_id = '\0';
    for (size_t i = 0; i < world->records.actor_count; i++) {
        struct ray_actor *it = &world->records.actors[i];
        if (!text_equal(it->name, "restarted_actor"))
            continue;
        assert_null(it->resources);
        ray_actor_death_clear(it->death);
        free(it->death);
        free(it->state);
        it->death = NULL;
        it->end_ms = 0;
        it->state = mem_string(state);
        *it->worker_id = '\0';
        return it;
    }
    fail_msg("no restarted_actor");
    return NULL;
}

static void check_start(const struct why_world *world, const char *code, const char *words)
{
    struct why_report report;
    why_world_judge(world, "restarted_actor", &report);
    if (!text_equal(report.code, code) || !strstr(report.cause, words))
        fail_msg("%s: %s", report.code, report.cause);
    why_report_clear(&report);
}

static size_t raylets_asked(const struct why_world *world)
{
    struct why_subject subject;
    struct why_needs needs;
    struct err err;
    assert_int_equal(why_subject_find(&world->records, "restarted_actor", &subject, &err), 0);
    why_judge_needs(&world->records, &subject, &needs);
    return needs.raylet_count;
}

/* Ray starts an actor in whose program names no resources only on a node that has a CPU, free or
 * not. */
static void an_actor_starts_where_a_cpu_is(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    starting_actor(&world, "PENDING_CREATION");
    take_cpus(&world, false);
    check_start(&world, "waits_for_worker", "its resources are free");
    assert_true(raylets_asked(&world) > 0);
    take_cpus(&world, true);
    why_world_judge(&world, "restarted_actor", &report);
    assert_string_equal(report.code, "infeasible");
    assert_string_equal(report.cause,
                        "no node has what it needs, {CPU: 1}, even when nothing runs there");
    assert_true(why_world_list_has(&report.details, "127.0.0.2 has 0 of the 1 CPU"));
    assert_true(why_world_list_has(&report.unknown, "whether it was made with num_cpus=0"));
    why_report_clear(&report);
    assert_true(raylets_asked(&world) > 0); /* it may need no CPU */
    why_world_judge(&world, "restarted_actor:Actor.__init__", &report);
    assert_string_equal(report.code, "infeasible");
    why_report_clear(&report);
    why_world_close(&world);
}

/* That other tasks have all CPUs says nothing of it. */
static void an_actor_whose_packages_are_installed_waits_for_them(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    starting_actor(&world, "PENDING_CREATION");
    take_cpus(&world, false);
    struct why_records *records = &world.records;
    records->logs = mem_resize(records->logs, records->log_count + 1, sizeof *records->logs);
    records->logs[records->log_count] =
        (struct why_log){.file = mem_string("runtime_env_setup-02000000.log"),
                         .text = mem_string("INFO -- Run cmd[2] ['pip', 'install', 'torch']\n"),
                         .of_runtime_env = true};
    text_copy(records->logs[records->log_count].node_id, sizeof records->logs[0].node_id,
              records->nodes[0].node_id);
    records->log_count++;
    check_start(&world, "sets_up_runtime_env", "a runtime_env of its job is being set up on");
    why_world_close(&world);
}

static void an_actor_starts_again_where_a_cpu_is(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    starting_actor(&world, "RESTARTING");
    take_cpus(&world, false);
    check_start(&world, "restarting", "Ray is starting another");
    take_cpus(&world, true);
    why_world_judge(&world, "restarted_actor", &report);
    assert_string_equal(report.code, "infeasible");
    assert_true(why_world_list_has(&report.details, "its process died, and Ray starts another"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* With memory alone Ray wants a CPU, too; with any other resource it wants no more than is told. */
static void an_actor_with_resources(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_actor *actor = starting_actor(&world, "PENDING_CREATION");
    take_cpus(&world, true);
    actor->resources = mem_alloc(sizeof *actor->resources);
    *actor->resources = (struct ray_resources){0};
    add(actor->resources, "memory", 1000);
    check_start(&world, "infeasible", "{memory: 1000, CPU: 1}");
    add(actor->resources, "b", 0.1);
    check_start(&world, "waits_for_worker", "its resources are free");
    set_amount(actor->resources, "b", 1);
    check_start(&world, "waits_for_resources", "it waits for resources: {memory: 1000, b: 1}");
    why_world_close(&world);
}

/* --- labels --- */

static void label(struct ray_labels *labels, const char *key, const char *value)
{
    labels->items = mem_resize(labels->items, labels->count + 1, sizeof *labels->items);
    labels->items[labels->count++] = (struct ray_label){mem_string(key), mem_string(value)};
}

/* `waits_for_argument`, which needs a CPU, waits for a node with this label. */
static void select_label(struct why_world *world, const char *value)
{
    struct ray_attempt *it = attempt_of(world, "waits_for_argument");
    ray_labels_clear(&it->selector);
    label(&it->selector, "zone", value);
    it->state = RAY_ATTEMPT_PENDING_NODE;
    it->state_ms[RAY_ATTEMPT_PENDING_NODE] = world->records.now_ms - 5000;
}

static void labels_are_matched(void **state)
{
    static const struct {
        const char *wanted;
        bool with, without; /* a node in zone "eu", and one without a zone */
    } rows[] = {
        {"eu", true, false},         {"!eu", false, true},         {"us", false, false},
        {"in(us,eu)", true, false},  {"in(us, eu )", true, false}, {"in(us)", false, false},
        {"!in(us,eu)", false, true}, {"!in(us)", true, true},      {"in()", false, false},
        {"in(e,u", false, false},    {"", false, false},
    };
    struct ray_node with = {0}, without = {0};
    (void)state;
    label(&with.labels, "zone", "eu");
    label(&without.labels, "region", "eu");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ray_labels selector = {0};
        label(&selector, "zone", rows[i].wanted);
        assert_int_equal(why_labels_match(&selector, &with), rows[i].with);
        assert_int_equal(why_labels_match(&selector, &without), rows[i].without);
        ray_labels_clear(&selector);
    }
    assert_true(why_labels_match(&(struct ray_labels){0}, NULL));
    ray_labels_clear(&with.labels);
    ray_labels_clear(&without.labels);
}

static void no_node_has_the_label(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    label(&world.records.nodes[0].labels, "zone", "us");
    select_label(&world, "eu");
    why_world_judge(&world, "waits_for_argument", &report);
    assert_string_equal(report.code, "infeasible");
    assert_string_equal(report.cause, "no node has the labels that it needs, {zone: eu}");
    assert_true(why_world_list_has(&report.details, "has zone: us") &&
                why_world_list_has(&report.details, "has no label zone"));
    why_report_clear(&report);
    attempt_of(&world, "waits_for_argument")->has_fallback = true; /* other nodes will do */
    why_world_judge(&world, "waits_for_argument", &report);
    assert_string_not_equal(report.code, "infeasible");
    why_report_clear(&report);
    why_world_close(&world);
}

/* What a node without the label has does not count. */
static void the_node_with_the_label_is_full(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    select_label(&world, "eu");
    for (size_t i = 0; i < world.records.resources.node_count; i++) {
        struct ray_node_resources *node = &world.records.resources.nodes[i];
        bool has_b = ray_resources_amount(&node->total, "b") > 0;
        ray_resources_clear(&node->free);
        if (!has_b)
            add(&node->free, "CPU", 2);
        for (size_t k = 0; has_b && k < world.records.node_count; k++)
            if (text_equal(world.records.nodes[k].node_id, node->node_id))
                label(&world.records.nodes[k].labels, "zone", "eu");
    }
    why_world_judge(&world, "waits_for_argument", &report);
    assert_string_equal(report.code, "waits_for_resources");
    assert_true(why_world_list_has(&report.details, "127.0.0.2 has 0 of "));
    assert_false(why_world_list_has(&report.details, "127.0.0.1 has"));
    why_report_clear(&report);
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_within_a_group),
        cmocka_unit_test(a_cpu_of_a_group_is_lent),
        cmocka_unit_test(what_fits_into_no_bundle),
        cmocka_unit_test(an_actor_in_a_group_that_waits),
        cmocka_unit_test(groups_hold_resources),
        cmocka_unit_test(a_group_waits_for_what_others_hold),
        cmocka_unit_test(an_actor_starts_where_a_cpu_is),
        cmocka_unit_test(an_actor_whose_packages_are_installed_waits_for_them),
        cmocka_unit_test(an_actor_starts_again_where_a_cpu_is),
        cmocka_unit_test(an_actor_with_resources),
        cmocka_unit_test(labels_are_matched),
        cmocka_unit_test(no_node_has_the_label),
        cmocka_unit_test(the_node_with_the_label_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
