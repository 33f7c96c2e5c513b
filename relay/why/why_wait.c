/* The rules for tasks that wait or run. */
#include "base/text.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/process_end.h"

#include <stdio.h>
#include <string.h>

/* "running", and of what stands still why. */
static const char *state_words(const struct why_records *records, const struct ray_attempt *attempt)
{
    struct why_stops stops = why_records_stops(records, attempt);
    if (stops.running)
        return stops.stopped < stops.running ? "perhaps stopped at a breakpoint, running"
                                             : "stopped at a breakpoint, running";
    if (!why_never_runs(records, attempt))
        return why_state_name(attempt->state);
    return why_records_job_is_over(records, attempt) ? "its job has ended: waiting in vain"
                                                     : "its owner died: waiting in vain";
}

/* "slow_producer (bba95812), running 2 m on 1726@10.0.0.7" */
static void add_attempt(const struct why_records *records, const char *before,
                        const struct ray_attempt *attempt, struct why_report *report)
{
    char name[WHY_NAME_TEXT], span[WHY_SPAN_TEXT], process[WHY_NAME_TEXT] = "";
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    int64_t since = attempt->state_ms[attempt->state];
    if (worker)
        why_name_of_worker(records, worker, process);
    why_list_add(&report->details, "%s%s, %s %s%s%s", before, why_name_of_task(attempt, name),
                 state_words(records, attempt),
                 why_span(since ? records->now_ms - since : -1, span), worker ? " on " : "",
                 process);
    why_link_task(attempt, report);
    if (!report->next.count)
        why_list_add(&report->next, "raydbg why %s",
                     why_short_id(attempt->task_id, (char[ID_TEXT(ID_TASK_BYTES)]){0}));
}

/* --- references --- */

/* The tasks whose results this process waits for, as far as its references tell: each is told once.
 */
static size_t add_producers(const struct why_records *records, const struct why_refs *refs,
                            bool submitted, const char *self, struct why_report *report)
{
    size_t before = report->details.count;
    for (size_t i = 0; refs->objects && i < refs->objects->ref_count; i++) {
        const struct ray_object_ref *ref = &refs->objects->refs[i];
        char task_id[ID_TEXT(ID_TASK_BYTES)], actor[ID_TEXT(ID_ACTOR_BYTES)];
        if (object_id_is_put(&ref->id) || object_id_is_actor_handle(&ref->id, actor) ||
            (submitted && !ref->submitted))
            continue;
        object_id_task(&ref->id, task_id);
        const struct ray_attempt *producer = why_records_attempt(records, task_id);
        if (producer && !ray_attempt_is_over(producer) && !text_equal(task_id, self))
            add_attempt(records, "for ", producer, report);
    }
    return report->details.count - before;
}

static void tell_no_refs(const struct why_refs *refs, const char *whose, struct why_report *report)
{
    why_list_add(&report->unknown, "which one: %s did not tell its references (%s)", whose,
                 refs && refs->problem ? refs->problem : "it was not asked");
}

static void judge_arguments(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report)
{
    const struct ray_worker *owner = why_owner_of_task(records, attempt);
    const struct why_refs *refs = owner ? why_records_refs(records, owner->worker_id) : NULL;
    why_report_cause(report, "waits_for_argument", "it waits for an argument that is not made yet");
    if (!refs || !refs->objects)
        tell_no_refs(refs, "its owner", report);
    else if (add_producers(records, refs, true, attempt->task_id, report) > 1)
        why_list_add(&report->unknown,
                     "which of them: Ray tells only that its owner has submitted tasks with "
                     "these references");
}

/* --- nodes --- */

static void judge_node(const struct why_records *records, const struct ray_attempt *attempt,
                       struct why_report *report)
{
    const struct ray_group *group = why_records_group(records, attempt->group_id);
    if (group && !text_equal(group->state, "CREATED")) {
        why_rules_group(records, group, report);
        return;
    }
    if (attempt->type == RAY_ACTOR_CREATION_TASK)
        why_rules_creation(records, &attempt->resources, why_labels_of(attempt), report);
    else
        why_rules_resources(records, &attempt->resources, why_labels_of(attempt), report);
}

/* --- actors --- */

static void judge_queue(const struct why_records *records, const struct ray_attempt *attempt,
                        struct why_report *report)
{
    size_t before = report->details.count;
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_RUNNING_IN_ACTOR, attempt->actor_id, it)))
        if (it->type == RAY_ACTOR_TASK && why_records_is_running(records, it))
            add_attempt(records, "behind ", it, report);
    if (report->details.count > before) {
        why_report_cause(report, "queued_in_actor", "it waits in its actor's queue");
        return;
    }
    why_report_cause(report, "submitted", "it was sent to its actor, which has not begun it");
    why_list_add(&report->unknown,
                 "what the actor does: Ray has no running task of it. Workers tell once a second");
}

/* True if the actor explains why a call of it does not run. */
static bool judge_actor_first(const struct why_records *records, const struct ray_attempt *attempt,
                              struct why_report *report)
{
    const struct ray_actor *actor = why_records_actor(records, attempt->actor_id);
    if (!actor || attempt->type == RAY_NORMAL_TASK || text_equal(actor->state, "ALIVE"))
        return false;
    why_link_actor(records, actor->actor_id, report);
    why_rules_actor(records, actor, report);
    return true;
}

/* True if the process that submitted the task has ended: that is the cause. */
static bool judge_owner(const struct why_records *records, const struct ray_attempt *attempt,
                        struct why_report *report)
{
    const struct ray_worker *owner = why_dead_owner_of_task(records, attempt);
    char name[WHY_NAME_TEXT];
    struct why_report its = {0};
    if (!owner)
        return false;
    bool told = process_end_explain(records, owner, &its);
    why_report_cause(report, "owner_died",
                     "its owner, pid %s, died: it never ran, though Ray still lists it as "
                     "waiting%s%s",
                     why_name_of_worker(records, owner, name), told ? ". The owner: " : "",
                     told ? its.cause : "");
    for (size_t i = 0; i < its.unknown.count; i++)
        why_list_add(&report->unknown, "of %s: %s", name, its.unknown.items[i]);
    why_link_worker(records, owner->worker_id, report);
    why_list_add(&report->next, "raydbg why %s", name);
    why_report_clear(&its);
    return true;
}

void why_rules_waiting_task(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report)
{
    if (why_records_job_is_over(records, attempt)) {
        why_report_cause(report, "job_over", "its job has ended, and it never ran");
        return;
    }
    if (judge_owner(records, attempt, report) || judge_actor_first(records, attempt, report))
        return;
    switch (attempt->state) {
    case RAY_ATTEMPT_PENDING_ARGS:
        judge_arguments(records, attempt, report);
        break;
    case RAY_ATTEMPT_PENDING_NODE:
        judge_node(records, attempt, report);
        break;
    case RAY_ATTEMPT_UNKNOWN:
        why_report_cause(report, "unknown", "Ray does not tell its state");
        break;
    default:
        if (attempt->type == RAY_ACTOR_TASK) {
            judge_queue(records, attempt, report);
        } else {
            why_report_cause(report, "starting",
                             "its worker has it, and fetches its arguments or is starting");
        }
        break;
    }
}

/* --- running --- */

static size_t add_children(const struct why_records *records, const struct ray_attempt *attempt,
                           struct why_report *report)
{
    size_t before = report->details.count;
    const struct ray_attempt *it = NULL;
    while ((it = why_records_next(records, ATTEMPTS_OF_PARENT, attempt->task_id, it)))
        if (!ray_attempt_is_over(it) && !why_records_is_retried(records, it))
            add_attempt(records, "for ", it, report);
    return report->details.count - before;
}

static void judge_going(const struct why_records *records, const struct ray_attempt *attempt,
                        struct why_report *report)
{
    const struct why_refs *refs = why_records_refs(records, attempt->worker_id);
    size_t found = add_children(records, attempt, report);
    if (refs && refs->objects)
        found += add_producers(records, refs, false, attempt->task_id, report);
    if (!found) {
        why_report_cause(report, "running", "it runs");
        if (!refs || !refs->objects)
            why_list_add(&report->unknown,
                         "whether it waits for another task: its process did not tell its "
                         "references (%s)",
                         refs && refs->problem ? refs->problem : "it was not asked");
        return;
    }
    why_report_cause(report, "may_wait", "it runs, and may wait in ray.get");
    why_list_add(&report->unknown, "whether it is in ray.get now: a reference alone does not tell");
}

void why_rules_running_task(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    const struct ray_actor *actor = why_records_actor(records, attempt->actor_id);
    if (!why_records_is_running(records, attempt)) {
        if (!worker || !process_end_explain(records, worker, report)) {
            if (actor && text_equal(actor->state, "DEAD"))
                why_rules_actor(records, actor, report);
            else
                why_report_cause(report, "job_over", "its job has ended");
        }
        why_list_add(&report->details, "Ray still lists the task as RUNNING");
        return;
    }
    if (why_rules_own_pause(records, attempt, report))
        return;
    judge_going(records, attempt, report);
    if (worker && worker->debugger_port)
        why_list_add(&report->details,
                     "its debugger is open: a client is attached, or was (raydbg list)");
}
