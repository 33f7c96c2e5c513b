/* The rules for tasks that are stopped in a debugger, and for those that wait for them. */
#include "base/mem.h"
#include "base/text.h"
#include "relay/why/why_graph.h"
#include "relay/why/why_rules.h"

#include <stdlib.h>
#include <string.h>

/* "stopped at app.py:22 in Ray's legacy pdb and waits for a debugger"; the caller frees it. */
static char *pause_words(const struct why_pause *pause)
{
    const char *location = pause->location ? pause->location : "a breakpoint";
    const char *in = pause->is_post_mortem ? ", where it raised an exception (post mortem)"
                     : pause->is_pdb       ? " in Ray's legacy pdb"
                                           : "";
    if (!pause->location && pause->is_post_mortem) {
        location = "the line";
        in = " that raised an exception (post mortem)";
    }
    return pause->holder ? mem_format("stopped at %s%s: %s", location, in, pause->holder)
                         : mem_format("stopped at %s%s and waits for a debugger", location, in);
}

static void tell_attach(const struct ray_attempt *attempt, struct why_report *report)
{
    char id[ID_TEXT(ID_TASK_BYTES)];
    why_list_add(&report->next, "raydbg attach %s", why_short_id(attempt->task_id, id));
}

/* Says of what the pause may be, if it may be another task's. */
static void tell_others(const struct why_pause *pause, const struct why_stops *stops,
                        struct why_report *report)
{
    if (stops->stopped < stops->running)
        why_list_add(&report->unknown,
                     "which task it is: %s%zu of the %zu that run in %s %s stopped, and Ray does "
                     "not tell more",
                     stops->at_least ? "at least " : "", stops->stopped, stops->running,
                     pause->task_name ? "this job under this name" : "its process",
                     stops->stopped == 1 ? "is" : "are");
}

bool why_rules_own_pause(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_report *report)
{
    const struct why_pause *pause = why_records_pause(records, attempt);
    if (!pause)
        return false;
    struct why_stops stops = why_records_stops(records, attempt);
    char *words = pause_words(pause);
    why_report_cause(report, "paused", "it %s %s", stops.stopped < stops.running ? "may be" : "is",
                     words);
    tell_others(pause, &stops, report);
    tell_attach(attempt, report);
    free(words);
    return true;
}

/* The first task that is stopped, and has what the node lacks on which it runs. It keeps its CPUs,
 * too. */
static const struct ray_attempt *paused_holder(const struct why_records *records,
                                               const struct ray_attempt *waiting)
{
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_RUNNING, "", it)))
        if (why_records_pause(records, it) && why_graph_holds(records, it, waiting, true))
            return it;
    return NULL;
}

/* The first task that is stopped, of those that this one may wait for. */
static const struct ray_attempt *find_paused(const struct why_records *records,
                                             const struct ray_attempt *attempt)
{
    struct why_reach reach;
    why_graph_reach(records, attempt, &reach);
    for (size_t i = 1; i < reach.count; i++)
        if (why_records_pause(records, reach.items[i]))
            return reach.items[i];
    for (size_t i = 0; i < reach.count; i++) {
        const struct ray_attempt *it = reach.items[i];
        const struct ray_attempt *holder =
            it->state == RAY_ATTEMPT_PENDING_NODE ? paused_holder(records, it) : NULL;
        if (holder)
            return holder;
    }
    return NULL;
}

/* True if an earlier call of the same actor is stopped, too: the actor's resources count once. */
static bool is_counted(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_attempt *it = NULL;
    while (attempt->type != RAY_NORMAL_TASK && it != attempt &&
           (it = why_records_next(records, ATTEMPTS_RUNNING_IN_ACTOR, attempt->actor_id, it)))
        if (it != attempt && why_records_pause(records, it))
            return true;
    return false;
}

/* How much of a node's resource all tasks have that are stopped. */
static double amount_kept(const struct why_records *records, const char *node_id,
                          const char *resource)
{
    double sum = 0;
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_RUNNING, "", it)))
        if (why_records_pause(records, it) && !is_counted(records, it))
            sum += why_graph_held(records, it, node_id, resource);
    return sum;
}

/* True if no node can run the attempt before a task that is stopped goes on, whatever else ends. */
static bool is_kept_waiting(const struct why_records *records, const struct ray_attempt *waiting)
{
    size_t nodes = 0;
    for (size_t i = 0; i < records->resources.node_count; i++) {
        const struct ray_node_resources *node = &records->resources.nodes[i];
        bool is_short = false;
        if (!why_resources_could_run(records, node, waiting))
            continue;
        for (size_t k = 0; !is_short && k < waiting->resources.count; k++) {
            const struct ray_resource *need = &waiting->resources.items[k];
            is_short = ray_resources_amount(&node->total, need->name) -
                           amount_kept(records, node->node_id, need->name) + 1e-9 <
                       need->amount;
        }
        if (!is_short)
            return false;
        nodes++;
    }
    return nodes > 0;
}

/* True if the task is known to be stopped, and not only one of several of which some are. */
static bool is_stopped(const struct why_records *records, const struct ray_attempt *attempt)
{
    struct why_stops stops = why_records_stops(records, attempt);
    return stops.running && stops.stopped >= stops.running;
}

/* True if all calls that the actor runs are known to be stopped: any other that ends may let the
 * next one in. */
static bool is_queue_stopped(const struct why_records *records, const char *actor_id)
{
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_RUNNING_IN_ACTOR, actor_id, it)))
        if (it->type == RAY_ACTOR_TASK && why_records_is_running(records, it) &&
            !is_stopped(records, it))
            return false;
    return true;
}

/* True if `maker` makes the only argument that is not made yet, of all that the attempt's owner has
 * given to tasks: Ray does not tell to which. A result of a task of which Ray has no record counts,
 * unless the owner has it. */
static bool is_only_maker(const struct why_records *records, const struct ray_attempt *attempt,
                          const struct ray_attempt *maker)
{
    const struct ray_worker *owner = why_owner_of_task(records, attempt);
    const struct why_refs *refs = owner ? why_records_refs(records, owner->worker_id) : NULL;
    for (size_t i = 0; refs && refs->objects && i < refs->objects->ref_count; i++) {
        const struct ray_object_ref *ref = &refs->objects->refs[i];
        char task_id[ID_TEXT(ID_TASK_BYTES)], actor[ID_TEXT(ID_ACTOR_BYTES)];
        if (!ref->submitted || object_id_is_put(&ref->id) ||
            object_id_is_actor_handle(&ref->id, actor))
            continue;
        object_id_task(&ref->id, task_id);
        const struct ray_attempt *it = why_records_attempt(records, task_id);
        bool is_made = it ? ray_attempt_is_over(it)
                          : ref->status == RAY_TASK_FINISHED || ref->status == RAY_TASK_FAILED;
        if (!is_made && it != maker && it != attempt)
            return false;
    }
    return true;
}

/* True if the attempt waits for the task that is stopped; false if it only may, or goes on as soon
 * as something else ends. */
static bool waits_for(const struct why_records *records, const struct ray_attempt *attempt,
                      const struct ray_attempt *paused)
{
    switch (attempt->state) {
    case RAY_ATTEMPT_RUNNING:
        return false;
    case RAY_ATTEMPT_PENDING_NODE:
        return is_kept_waiting(records, attempt);
    case RAY_ATTEMPT_PENDING_ARGS:
        return why_graph_edge(records, attempt, paused) && is_only_maker(records, attempt, paused);
    default:
        return why_graph_edge(records, attempt, paused) &&
               is_queue_stopped(records, attempt->actor_id);
    }
}

/* False if no task is stopped. Before any walk: there is one for each group of an overview. */
static bool may_be_paused(const struct why_records *records)
{
    for (size_t i = 0; i < records->worker_count; i++)
        if (records->workers[i].paused_threads)
            return true;
    return records->pause_count > 0;
}

void why_rules_others_pause(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report)
{
    static const char *const codes[] = {"may_wait", "queued_in_actor", "waits_for_argument",
                                        "waits_for_resources"};
    bool waits = false;
    char name[WHY_NAME_TEXT];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        waits |= text_equal(report->code, codes[i]);
    const struct ray_attempt *paused =
        waits && may_be_paused(records) ? find_paused(records, attempt) : NULL;
    if (!paused)
        return;
    const struct why_pause *pause = why_records_pause(records, paused);
    struct why_stops stops = why_records_stops(records, paused);
    bool sure = stops.stopped >= stops.running;
    char *words = pause_words(pause);
    why_report_cause(report, "waits_for_paused", "it %s for %s, which %s %s",
                     sure && waits_for(records, attempt, paused) ? "waits" : "may wait",
                     why_name_of_task(paused, name), sure ? "is" : "may be", words);
    tell_others(pause, &stops, report);
    why_link_task(paused, report);
    tell_attach(paused, report);
    free(words);
}
