/* The rules for what waits for resources, and for placement groups. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/why/why_rules.h"

#include <stdlib.h>
#include <string.h>

/* "0.5" or "4" */
static void add_amount(struct buf *out, double amount)
{
    buf_printf(out, "%.10g", amount);
}

/* "{CPU: 1, gpu_x: 1}" */
static void add_shape(struct buf *out, const struct ray_resources *shape)
{
    buf_add_string(out, "{");
    for (size_t i = 0; i < shape->count; i++) {
        buf_printf(out, "%s%s: ", i ? ", " : "", shape->items[i].name);
        add_amount(out, shape->items[i].amount);
    }
    buf_add_string(out, "}");
}

/* The first resource that this much of `have` lacks; NULL if it has all. */
static const struct ray_resource *lacking(const struct ray_resources *have,
                                          const struct ray_resources *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        if (ray_resources_amount(have, needs->items[i].name) + 1e-9 < needs->items[i].amount)
            return &needs->items[i];
    return NULL;
}

/* --- holders --- */

static void add_holder(struct buf *out, size_t *count, const char *name, double amount)
{
    enum { SHOWN = 4 };
    if (++*count > SHOWN)
        return;
    buf_printf(out, "%s%s has ", *count == 1 ? ": " : ", ", name);
    add_amount(out, amount);
}

/* Names the running tasks and live actors that hold a resource of a node. */
static void add_holders(const struct why_records *records, const char *node_id,
                        const char *resource, struct buf *out)
{
    char name[WHY_NAME_TEXT];
    size_t count = 0;
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        double amount = ray_resources_amount(&it->resources, resource);
        if (it->state == RAY_ATTEMPT_RUNNING && it->type == RAY_NORMAL_TASK && amount > 0 &&
            text_equal(it->node_id, node_id))
            add_holder(out, &count, why_name_of_task(it, name), amount);
    }
    for (size_t i = 0; i < records->actor_count; i++) {
        const struct ray_actor *it = &records->actors[i];
        double amount = it->resources ? ray_resources_amount(it->resources, resource) : 0;
        if (amount > 0 && text_equal(it->state, "ALIVE") && text_equal(it->node_id, node_id))
            add_holder(out, &count, why_name_of_actor(it, name), amount);
    }
    if (count > 4)
        buf_printf(out, ", and %zu more", count - 4);
}

/* --- nodes --- */

static void tell_infeasible(const struct why_records *records, const struct ray_resources *needs,
                            struct why_report *report)
{
    struct buf shape = {0};
    add_shape(&shape, needs);
    why_report_cause(report, "infeasible",
                     "no node has what it needs, %s, even when nothing runs there", shape.data);
    buf_free(&shape);
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        const struct ray_resource *lack = lacking(&node->total, needs);
        if (lack)
            why_list_add(&report->details, "%s has %.10g of the %.10g %s",
                         why_records_ip(records, node->node_id),
                         ray_resources_amount(&node->total, lack->name), lack->amount, lack->name);
    }
    why_list_add(&report->ray, "Ray keeps it waiting for a node that has them, without limit");
}

static void tell_busy(const struct why_records *records, const struct ray_resources *needs,
                      struct why_report *report)
{
    struct buf text = {0};
    add_shape(&text, needs);
    why_report_cause(report, "waits_for_resources", "it waits for resources: %s", text.data);
    buf_free(&text);
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        const struct ray_resource *lack = lacking(&node->free, needs);
        if (!lack || lacking(&node->total, needs))
            continue;
        buf_printf(&text, "%s has %.10g of %.10g %s free", why_records_ip(records, node->node_id),
                   ray_resources_amount(&node->free, lack->name),
                   ray_resources_amount(&node->total, lack->name), lack->name);
        add_holders(records, node->node_id, lack->name, &text);
        why_list_add(&report->details, "%s", text.data);
        buf_free(&text);
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

/* The last line of a raylet's standard error about a worker that did not start: the shell's, which
 * starts it, or the raylet's own. The caller frees it; NULL if there is none. */
static char *startup_error(const char *text)
{
    static const char shell[] = "bash: line ", late[] = "have not registered within the timeout";
    const char *found = NULL;
    bool by_shell = false;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        bool is_shell = text_starts(line, shell);
        if (is_shell || (!by_shell && memmem(line, len, late, sizeof late - 1)))
            found = line;
        by_shell = by_shell || is_shell;
    }
    return found ? mem_string_n(found, strcspn(found, "\n")) : NULL;
}

bool why_rules_startup(const struct why_records *records, struct why_report *report)
{
    bool found = false;
    for (size_t i = 0; i < records->log_count; i++) {
        const struct why_log *log = &records->logs[i];
        char *line = log->text && !*log->worker_id ? startup_error(log->text) : NULL;
        if (!line)
            continue;
        found = true;
        why_list_add(&report->details, "%s of %s: %s", log->file,
                     why_records_ip(records, log->node_id), line);
        free(line);
    }
    for (size_t i = 0; i < records->node_count; i++)
        if (records->nodes[i].is_alive)
            why_list_add(&report->next, "raydbg logs raylet@%s --tail 20", records->nodes[i].ip);
    return found;
}

static void tell_free(const struct why_records *records, struct why_report *report)
{
    if (why_rules_startup(records, report)) {
        why_report_cause(
            report, "worker_cannot_start",
            "its resources are free, but no worker has taken it: workers could not be started");
        why_list_add(&report->unknown, "whether that was for this task: the raylet does not say");
        return;
    }
    why_report_cause(report, "waits_for_worker",
                     "its resources are free, but no worker has taken it: a worker is being "
                     "started, or cannot start");
    why_list_add(&report->unknown,
                 "why the worker does not start: Ray keeps that in raylet.err and "
                 "runtime_env_setup-*.log");
}

void why_rules_resources(const struct why_records *records, const struct ray_resources *needs,
                         struct why_report *report)
{
    bool feasible = false, free_now = false;
    for (size_t i = 0; i < records->resources.node_count; i++) {
        feasible = feasible || !lacking(&records->resources.nodes[i].total, needs);
        free_now = free_now || !lacking(&records->resources.nodes[i].free, needs);
    }
    if (records->problems[WHY_RESOURCES].code || !records->resources.node_count) {
        why_report_cause(report, "waits_for_node", "it waits for a node");
        why_list_add(&report->unknown, "which resources are free: %s",
                     records->problems[WHY_RESOURCES].code ? records->problems[WHY_RESOURCES].what
                                                           : "the cluster tells of no node");
        return;
    }
    if (!feasible)
        tell_infeasible(records, needs, report);
    else if (!free_now)
        tell_busy(records, needs, report);
    else
        tell_free(records, report);
    tell_queue(records, needs, report);
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
    const char *name = text_empty(group->name) ? group->group_id : group->name;
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
        if (group->bundle_count && lacking(&node->free, &group->bundles[0])) {
            const struct ray_resource *lack = lacking(&node->free, &group->bundles[0]);
            why_list_add(&report->details, "%s has %.10g of %.10g %s free",
                         why_records_ip(records, node->node_id),
                         ray_resources_amount(&node->free, lack->name),
                         ray_resources_amount(&node->total, lack->name), lack->name);
        }
    }
}
