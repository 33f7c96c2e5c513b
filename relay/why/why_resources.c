/* The rules for what waits for resources, and for placement groups. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/why/why_rules.h"

#include <stdio.h>
#include <string.h>

/* "0.5" or "4" */
static void add_amount(struct buf *out, double amount)
{
    buf_printf(out, "%.10g", amount);
}

/* --- names ---
 * A resource that a placement group has reserved on a node is a resource of its own there:
 * "CPU_group_<group>", for each bundle "CPU_group_<index>_<group>", and "bundle_group_<group>". */

static const char of_group[] = "_group_";

/* The group's id within a resource's name, or NULL. */
static const char *group_id_in(const char *name)
{
    return strstr(name, of_group) ? strrchr(name, '_') + 1 : NULL;
}

/* The length of the resource's name without the group: of "CPU". */
static int own_len(const char *name)
{
    const char *at = strstr(name, of_group);
    return (int)(at ? (size_t)(at - name) : strlen(name));
}

/* True for what a group has of a resource in all its bundles of a node together. */
static bool is_whole_group(const char *name)
{
    const char *at = strstr(name, of_group);
    return at && at + sizeof of_group - 1 == group_id_in(name) && !text_starts(name, "bundle_");
}

static const struct ray_group *group_of(const struct why_records *records,
                                        const struct ray_resources *needs)
{
    const struct ray_group *found = NULL;
    for (size_t i = 0; i < needs->count && !found; i++)
        if (group_id_in(needs->items[i].name))
            found = why_records_group(records, group_id_in(needs->items[i].name));
    return found;
}

static const char *group_name(const struct ray_group *group)
{
    return text_empty(group->name) ? group->group_id : group->name;
}

/* "{CPU: 1, gpu_x: 1}" */
static void add_shape(struct buf *out, const struct ray_resources *shape)
{
    const char *separator = "";
    buf_add_string(out, "{");
    for (size_t i = 0; i < shape->count; i++) {
        const struct ray_resource *it = &shape->items[i];
        if (group_id_in(it->name) && !is_whole_group(it->name))
            continue;
        buf_printf(out, "%s%.*s: ", separator, own_len(it->name), it->name);
        add_amount(out, it->amount);
        separator = ", ";
    }
    buf_add_string(out, "}");
}

static bool lacks_amount(const struct ray_resources *have, const struct ray_resource *need)
{
    return ray_resources_amount(have, need->name) + 1e-9 < need->amount;
}

/* The first resource that this much of `have` lacks; NULL if it has all. */
static const struct ray_resource *lacking(const struct ray_resources *have,
                                          const struct ray_resources *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        if (lacks_amount(have, &needs->items[i]))
            return &needs->items[i];
    return NULL;
}

/* True if the node has these labels, and all of it when nothing runs there. */
static bool could_hold(const struct why_records *records, const struct ray_node_resources *node,
                       const struct ray_resources *needs, const struct ray_labels *selector)
{
    return !lacking(&node->total, needs) &&
           why_labels_match(selector, why_records_node(records, node->node_id));
}

bool why_resources_could_run(const struct why_records *records,
                             const struct ray_node_resources *node,
                             const struct ray_attempt *attempt)
{
    return could_hold(records, node, &attempt->resources, why_labels_of(attempt));
}

bool why_resources_lack(const struct why_records *records, const struct ray_attempt *waiting,
                        const struct ray_resource *need, const char *node_id)
{
    bool lacks = !records->resources.node_count;
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        if (!why_resources_could_run(records, node, waiting))
            continue;
        if (!lacking(&node->free, &waiting->resources))
            return false;
        lacks = lacks || (text_equal(node->node_id, node_id) && lacks_amount(&node->free, need));
    }
    return lacks;
}

bool why_resources_is_cpu(const char *resource)
{
    return text_equal(resource, "CPU") || text_starts(resource, "CPU_group_");
}

/* --- holders --- */

static void add_holder(struct buf *out, size_t *count, const char *name, double amount,
                       const char *more)
{
    enum { SHOWN = 4 };
    if (++*count > SHOWN)
        return;
    buf_printf(out, "%s%s has ", *count == 1 ? ": " : ", ", name);
    add_amount(out, amount);
    buf_add_string(out, more);
}

/* True if the task has called others that have not ended: it may wait for them in ray.get, while
 * Ray lends its CPUs on. */
static bool may_lend(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_OF_PARENT, attempt->task_id, it)))
        if (!ray_attempt_is_over(it) && !why_records_is_retried(records, it))
            return true;
    return false;
}

/* Names the running tasks that hold a resource of a node: those that may lend it, or the others. */
static void add_tasks(const struct why_records *records, const char *node_id, const char *resource,
                      bool lending, struct buf *out, size_t *count)
{
    char name[WHY_NAME_TEXT];
    bool is_cpu = why_resources_is_cpu(resource);
    const struct ray_attempt *it = NULL;
    while ((is_cpu || !lending) && (it = why_records_next(records, ATTEMPTS_RUNNING, "", it))) {
        double amount = ray_resources_amount(&it->resources, resource);
        if (it->type == RAY_NORMAL_TASK && amount > 0 && text_equal(it->node_id, node_id) &&
            why_records_is_running(records, it) && (is_cpu && may_lend(records, it)) == lending)
            add_holder(out, count, why_name_of_task(it, name), amount,
                       lending ? " and may have lent it" : "");
    }
}

/* Names the placement groups that have reserved a resource of a node. */
static void add_groups(const struct why_records *records, const struct ray_node_resources *node,
                       const char *resource, struct buf *out, size_t *count)
{
    char name[WHY_NAME_TEXT];
    size_t len = strlen(resource);
    for (size_t i = 0; i < node->total.count; i++) {
        const struct ray_resource *it = &node->total.items[i];
        if (!is_whole_group(it->name) || (size_t)own_len(it->name) != len ||
            !text_starts(it->name, resource))
            continue;
        const struct ray_group *group = why_records_group(records, group_id_in(it->name));
        snprintf(name, sizeof name, "placement group %.100s",
                 group ? group_name(group) : group_id_in(it->name));
        add_holder(out, count, name, it->amount, "");
    }
}

/* Names the running tasks, live actors and placement groups that hold a resource of a node. */
static void add_holders(const struct why_records *records, const struct ray_node_resources *node,
                        const char *resource, struct buf *out)
{
    char name[WHY_NAME_TEXT];
    const char *node_id = node->node_id;
    size_t count = 0;
    add_tasks(records, node_id, resource, false, out, &count);
    for (size_t i = 0; i < records->actor_count; i++) {
        const struct ray_actor *it = &records->actors[i];
        double amount = it->resources ? ray_resources_amount(it->resources, resource) : 0;
        if (amount > 0 && text_equal(it->state, "ALIVE") && text_equal(it->node_id, node_id))
            add_holder(out, &count, why_name_of_actor(it, name), amount, "");
    }
    add_groups(records, node, resource, out, &count);
    add_tasks(records, node_id, resource, true, out, &count);
    if (count > 4)
        buf_printf(out, ", and %zu more", count - 4);
}

/* "10.0.0.7 has 0 of 4 CPU free: holder (62ffec01) has 4" */
static void tell_lack(const struct why_records *records, const struct ray_node_resources *node,
                      const struct ray_resource *lack, struct why_report *report)
{
    struct buf text = {0};
    buf_printf(&text, "%s has %.10g of %.10g %.*s free", why_records_ip(records, node->node_id),
               ray_resources_amount(&node->free, lack->name),
               ray_resources_amount(&node->total, lack->name), own_len(lack->name), lack->name);
    add_holders(records, node, lack->name, &text);
    why_list_add(&report->details, "%s", text.data);
    buf_free(&text);
}

/* --- nodes --- */

static void tell_infeasible(const struct why_records *records, const struct ray_resources *needs,
                            const struct ray_labels *selector, struct why_report *report)
{
    const struct ray_group *group = group_of(records, needs);
    struct buf shape = {0};
    add_shape(&shape, needs);
    if (group)
        why_report_cause(report, "infeasible",
                         "no bundle of its placement group %s has what it needs, %s, even when "
                         "nothing runs there",
                         group_name(group), shape.data);
    else
        why_report_cause(report, "infeasible",
                         "no node%s has what it needs, %s, even when nothing runs there",
                         selector->count ? " with its labels" : "", shape.data);
    buf_free(&shape);
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        const struct ray_resource *lack = lacking(&node->total, needs);
        if (lack && why_labels_match(selector, why_records_node(records, node->node_id)))
            why_list_add(&report->details, "%s has %.10g of the %.10g %.*s",
                         why_records_ip(records, node->node_id),
                         ray_resources_amount(&node->total, lack->name), lack->amount,
                         own_len(lack->name), lack->name);
    }
    why_list_add(&report->ray, "Ray keeps it waiting for a node that has them, without limit");
}

static void tell_busy(const struct why_records *records, const struct ray_resources *needs,
                      const struct ray_labels *selector, struct why_report *report)
{
    const struct ray_group *group = group_of(records, needs);
    struct buf shape = {0};
    add_shape(&shape, needs);
    if (group)
        why_report_cause(report, "waits_for_resources",
                         "it waits for resources of its placement group %s: %s", group_name(group),
                         shape.data);
    else
        why_report_cause(report, "waits_for_resources", "it waits for resources: %s", shape.data);
    buf_free(&shape);
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        const struct ray_resource *lack = lacking(&node->free, needs);
        if (lack && could_hold(records, node, needs, selector))
            tell_lack(records, node, lack, report);
    }
}

/* True if the two have the same resources; an empty amount does not count. */
static bool is_same_shape(const struct ray_resources *a, const struct ray_resources *b)
{
    return !lacking(a, b) && !lacking(b, a);
}

static void tell_queue(const struct why_records *records, const struct ray_resources *needs,
                       struct why_report *report)
{
    for (size_t i = 0; i < records->resources.demand_count; i++) {
        const struct ray_demand *demand = &records->resources.demands[i];
        if (demand->count > 1 && is_same_shape(&demand->shape, needs))
            why_list_add(&report->details, "%lld wait for the same", (long long)demand->count);
    }
}

const struct ray_resources *why_resources_of(const struct ray_actor *actor)
{
    static const struct ray_resources none;
    return actor->resources ? actor->resources : &none;
}

void why_rules_resources(const struct why_records *records, const struct ray_resources *needs,
                         const struct ray_labels *selector, struct why_report *report)
{
    const struct ray_group *group = group_of(records, needs);
    bool labelled = false, feasible = false, free_now = false;
    if (group && !text_equal(group->state, "CREATED")) {
        why_rules_group(records, group, report);
        return;
    }
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        if (!why_labels_match(selector, why_records_node(records, node->node_id)))
            continue;
        labelled = true;
        feasible = feasible || !lacking(&node->total, needs);
        free_now = free_now || !lacking(&node->free, needs);
    }
    if (records->problems[WHY_RESOURCES].code || !records->resources.node_count) {
        why_report_cause(report, "waits_for_node", "it waits for a node");
        why_list_add(&report->unknown, "which resources are free: %s",
                     records->problems[WHY_RESOURCES].code ? records->problems[WHY_RESOURCES].what
                                                           : "the cluster tells of no node");
        return;
    }
    if (!labelled && records->problems[WHY_NODES].code)
        why_report_cause(report, "waits_for_node", "it waits for a node with certain labels");
    else if (!labelled)
        why_labels_tell(records, selector, report);
    else if (!feasible)
        tell_infeasible(records, needs, selector, report);
    else if (!free_now)
        tell_busy(records, needs, selector, report);
    else
        why_rules_start(records, report);
    tell_queue(records, needs, report);
}

/* --- actors --- */

static bool is_feasible(const struct why_records *records, const struct ray_resources *needs,
                        const struct ray_labels *selector)
{
    for (size_t i = 0; i < records->resources.node_count; i++)
        if (could_hold(records, &records->resources.nodes[i], needs, selector))
            return true;
    return false;
}

/* True if an actor that has these resources for its life may start only on a node that has a CPU,
 * taken or free: it does if its program names no resources but memory, and not if it names
 * num_cpus=0. Ray's tables have the same for both (docs/facts/ray.md#10.19). */
static bool may_need_cpu(const struct ray_resources *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        if (!text_equal(needs->items[i].name, "memory") &&
            !text_equal(needs->items[i].name, "object_store_memory"))
            return false;
    return true;
}

/* The caller clears it. */
static struct ray_resources with_cpu(const struct ray_resources *needs)
{
    struct ray_resources out = {mem_array(needs->count + 1, sizeof *out.items), needs->count + 1};
    for (size_t i = 0; i < needs->count; i++)
        out.items[i] =
            (struct ray_resource){mem_string(needs->items[i].name), needs->items[i].amount};
    out.items[needs->count] = (struct ray_resource){mem_string("CPU"), 1};
    return out;
}

void why_rules_creation(const struct why_records *records, const struct ray_resources *needs,
                        const struct ray_labels *selector, struct why_report *report)
{
    struct ray_resources to_start = with_cpu(needs);
    if (!may_need_cpu(needs) || !is_feasible(records, needs, selector) ||
        is_feasible(records, &to_start, selector)) {
        why_rules_resources(records, needs, selector, report);
    } else {
        tell_infeasible(records, &to_start, selector, report);
        why_list_add(&report->unknown,
                     "whether it was made with num_cpus=0: then it needs no node with a CPU, and "
                     "waits for a worker. Ray's tables do not tell");
    }
    ray_resources_clear(&to_start);
}

/* --- placement groups --- */

static const struct {
    const char *state, *code, *words;
} scheduling_states[] = {
    {"INFEASIBLE", "group_infeasible",
     "no nodes have what its bundles need, even when nothing runs there"},
    {"NO_RESOURCES", "group_waits", "the resources of its bundles are taken"},
    {"FAILED_TO_COMMIT", "group_waits",
     "a node took its resources away while they were being reserved"},
    {"QUEUED", "group_waits", "Ray has not begun to place it"},
    {"SCHEDULING_STARTED", "group_waits", "Ray is placing it"},
};

static void tell_bundles(const struct ray_group *group, struct why_report *report)
{
    struct buf text = {0};
    buf_printf(&text, "%s of %zu bundle%s", group->strategy, group->bundle_count,
               group->bundle_count == 1 ? "" : "s");
    for (size_t i = 0; i < group->bundle_count && i < 4; i++) {
        buf_add_string(&text, i ? ", " : ": ");
        add_shape(&text, &group->bundles[i]);
    }
    if (group->bundle_count > 4)
        buf_add_string(&text, ", …");
    why_list_add(&report->details, "%s", text.data);
    buf_free(&text);
}

/* True if no node has what one of the bundles needs, which Ray 2.9 does not tell apart. */
static bool is_infeasible(const struct why_records *records, const struct ray_group *group)
{
    for (size_t i = 0; i < group->bundle_count; i++) {
        bool fits = !records->resources.node_count;
        for (size_t k = 0; k < records->resources.node_count; k++)
            fits = fits || !lacking(&records->resources.nodes[k].total, &group->bundles[i]);
        if (!fits)
            return true;
    }
    return false;
}

void why_rules_group(const struct why_records *records, const struct ray_group *group,
                     struct why_report *report)
{
    const char *name = group_name(group);
    why_report_link(report, "group", group->group_id, "placement group %s, %s", name, group->state);
    tell_bundles(group, report);
    if (text_equal(group->state, "REMOVED")) {
        why_report_cause(report, "group_removed", "the placement group %s was removed", name);
        return;
    }
    if (text_equal(group->state, "CREATED")) {
        why_report_cause(report, "created", "the placement group %s is placed: nothing is wrong",
                         name);
        return;
    }
    for (size_t i = 0; i < sizeof scheduling_states / sizeof *scheduling_states; i++) {
        const char *state = is_infeasible(records, group) ? "INFEASIBLE" : group->scheduling_state;
        if (text_equal(scheduling_states[i].state, state)) {
            why_report_cause(report, scheduling_states[i].code,
                             "the placement group %s is not placed: %s", name,
                             scheduling_states[i].words);
            break;
        }
    }
    if (!report->cause)
        why_report_cause(report, "group_waits", "the placement group %s is not placed", name);
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        const struct ray_resource *lack =
            group->bundle_count ? lacking(&node->free, &group->bundles[0]) : NULL;
        if (lack)
            tell_lack(records, node, lack, report);
    }
}
