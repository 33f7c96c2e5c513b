/* The rules for actors. */
#include "base/text.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/memory_kill.h"
#include "relay/why_records/process_end.h"

#include <stdlib.h>
#include <string.h>

static void tell_message(const char *message, struct why_report *report)
{
    if (!message)
        return;
    char *words = why_first_words(message);
    why_list_add(&report->details, "Ray says: %s", words);
    free(words);
}

/* Ray's own words for the owner's end are wrong in part, so the owner's row is judged instead. */
static void judge_owner(const struct why_records *records, const struct ray_actor_death *death,
                        struct why_report *report)
{
    const struct ray_worker *owner = why_records_worker(records, death->owner_id);
    char name[WHY_NAME_TEXT];
    struct why_report its = {0};
    if (!owner || !process_end_explain(records, owner, &its)) {
        why_report_cause(report, "owner_died",
                         "the process that owned it died, and Ray then killed it");
        why_list_add(&report->unknown, "why the owner died: the cluster has no record of its end");
    } else {
        why_report_cause(report, "owner_died",
                         "its owner, pid %s, died, and Ray then killed it. The owner: %s",
                         why_name_of_worker(records, owner, name), its.cause);
        why_link_worker(records, owner->worker_id, report);
        why_list_add(&report->next, "raydbg why %s", name);
    }
    why_report_clear(&its);
}

static void judge_died(const struct why_records *records, const struct ray_actor_death *death,
                       const struct ray_worker *worker, struct why_report *report)
{
    struct process_end end = process_end_of_text(NULL, death->message ? death->message : "");
    bool of_owner = death->reason == RAY_REASON_UNKNOWN && text_equal(end.code, "owner_died");
    switch (of_owner ? RAY_REASON_OWNER_DIED
                     : death->reason) { /* Ray before 2.40 gives no reason */
    case RAY_REASON_OWNER_DIED:
        judge_owner(records, death, report);
        return;
    case RAY_REASON_RAY_KILL:
        why_report_cause(report, "ray_kill", "the program killed it with ray.kill");
        return;
    case RAY_REASON_OUT_OF_SCOPE:
    case RAY_REASON_REF_DELETED:
        why_report_cause(report, "out_of_scope",
                         "nobody held a handle of the actor any more, and Ray ended it");
        return;
    default:
        break;
    }
    if (worker && process_end_explain(records, worker, report)) {
        if (death->never_started)
            why_list_add(&report->details, "its __init__ never ran to its end");
        return;
    }
    if (end.code)
        why_report_cause(report, end.code, "%s", end.words);
    else
        why_report_cause(report, "actor_died", "its process died");
    why_list_add(&report->unknown, "more about its process: the cluster has no record of its end");
    tell_message(death->message, report);
}

void why_rules_death(const struct why_records *records, const struct ray_actor_death *death,
                     const struct ray_worker *worker, struct why_report *report)
{
    char *exception = why_report_exception(death->message ? death->message : "");
    switch (death->context) {
    case RAY_DEATH_CREATION_FAILED:
        why_report_traceback(report, death->message ? death->message : "");
        why_report_cause(report, "init_raised", "its __init__ raised %s",
                         *exception ? exception : "an exception");
        break;
    case RAY_DEATH_RUNTIME_ENV:
        why_report_cause(report, "runtime_env", "its runtime_env could not be set up%s%s",
                         *exception ? ": " : "", exception);
        break;
    case RAY_DEATH_DIED:
        judge_died(records, death, worker, report);
        break;
    case RAY_DEATH_UNSCHEDULABLE:
        why_report_cause(report, "unschedulable", "no node may run it");
        tell_message(death->message, report);
        break;
    case RAY_DEATH_OUT_OF_MEMORY:
        if (worker && process_end_explain(records, worker, report))
            break;
        why_report_cause(report, "out_of_memory", "%s",
                         ray_error_type_words(RAY_ERROR_OUT_OF_MEMORY));
        memory_kill_tell(death->message ? death->message : "", report);
        break;
    case RAY_DEATH_NONE:
        why_report_cause(report, "unknown", "Ray does not say why it died");
        break;
    }
    free(exception);
}

static void tell_stop(const struct ray_actor *actor, struct why_report *report)
{
    why_report_cause(report, "paused", "it is stopped at a breakpoint and waits for a debugger");
    why_list_add(&report->next, "raydbg attach %.8s", actor->actor_id);
}

/* Without an event of its creation or of a call, Ray tells nothing of what an actor does: of Ray
 * Serve's actors there are none. */
static void judge_unseen(const struct why_records *records, struct why_report *report)
{
    why_report_cause(report, "alive", "it is alive");
    if (!records->problems[WHY_ATTEMPTS].code)
        why_list_add(&report->unknown,
                     "what it runs: Ray has no event of it (enable_task_events=False, as in Ray "
                     "Serve, or forgotten)");
}

static void judge_alive(const struct why_records *records, const struct ray_actor *actor,
                        struct why_report *report)
{
    const struct ray_worker *worker = why_records_worker(records, actor->worker_id);
    char name[WHY_NAME_TEXT], span[WHY_SPAN_TEXT];
    size_t running = 0, queued = 0;
    bool seen = false;
    if (worker && process_end_explain(records, worker, report)) {
        why_list_add(&report->details, "Ray still lists the actor as ALIVE");
        return;
    }
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        bool created = it->type == RAY_ACTOR_CREATION_TASK;
        if ((!created && it->type != RAY_ACTOR_TASK) || !text_equal(it->actor_id, actor->actor_id))
            continue;
        seen = true;
        if (created)
            continue;
        int64_t since = it->state_ms[it->state];
        if (it->state == RAY_ATTEMPT_RUNNING && ++running <= 5)
            why_list_add(&report->details, "it runs %s since %s", why_name_of_task(it, name),
                         why_span(since ? records->now_ms - since : -1, span));
        queued += it->state > RAY_ATTEMPT_UNKNOWN && it->state < RAY_ATTEMPT_RUNNING &&
                  !why_never_runs(records, it);
    }
    if (queued)
        why_list_add(&report->details, "%zu call%s wait for it", queued, queued == 1 ? "" : "s");
    if (worker && worker->paused_threads) {
        tell_stop(actor, report);
        return;
    }
    if (!seen)
        judge_unseen(records, report);
    else
        why_report_cause(report, running ? "running" : "idle",
                         running ? "it is alive and works" : "it is alive and idle");
}

/* The process that Ray has leased for the actor, and runs its __init__ in; NULL if none is known.
 */
static const struct ray_worker *leased(const struct why_records *records,
                                       const struct ray_actor *actor)
{
    const struct ray_worker *worker = why_records_worker(records, actor->worker_id);
    return worker && why_records_is_alive(records, worker) ? worker : NULL;
}

/* Of an actor that has a process, but no event of its creation. */
static void judge_unseen_init(const struct why_records *records, const struct ray_actor *actor,
                              const struct ray_worker *worker, struct why_report *report)
{
    char name[WHY_NAME_TEXT];
    if (worker->paused_threads) {
        tell_stop(actor, report);
        return;
    }
    why_report_cause(report, "initializing", "it has a process, and its __init__ runs there");
    why_list_add(&report->unknown, "since when: Ray has no event of its creation");
    why_list_add(&report->next, "raydbg stack %s", why_name_of_worker(records, worker, name));
}

/* An actor is PENDING_CREATION also while its __init__ runs, and DEPENDENCIES_UNREADY also while it
 * waits for a node: the task that creates it tells them apart. */
static void judge_pending(const struct why_records *records, const struct ray_actor *actor,
                          struct why_report *report)
{
    const struct ray_attempt *creation = why_records_creation(records, actor);
    char name[WHY_NAME_TEXT], span[WHY_SPAN_TEXT];
    if (creation && creation->state == RAY_ATTEMPT_RUNNING) {
        const struct ray_worker *worker = why_records_worker(records, creation->worker_id);
        why_rules_running_task(records, creation, report);
        if (text_equal(report->code, "running"))
            why_report_cause(
                report, "initializing", "its __init__ runs, since %s",
                why_span(records->now_ms - creation->state_ms[RAY_ATTEMPT_RUNNING], span));
        why_link_worker(records, creation->worker_id, report);
        if (worker)
            why_list_add(&report->next, "raydbg stack %s",
                         why_name_of_worker(records, worker, name));
        return;
    }
    bool may_lack_argument = text_equal(actor->state, "DEPENDENCIES_UNREADY");
    if (!creation && leased(records, actor)) {
        judge_unseen_init(records, actor, leased(records, actor), report);
    } else if (may_lack_argument && creation && creation->state == RAY_ATTEMPT_PENDING_ARGS) {
        why_report_cause(report, "waits_for_argument",
                         "an argument of its __init__ is not made yet");
    } else {
        why_rules_creation(records, why_resources_of(actor), &actor->selector, report);
        if (may_lack_argument && !creation)
            why_list_add(&report->unknown,
                         "whether it waits for an argument of its __init__ instead: Ray has no "
                         "event of its creation");
    }
}

/* True if no process can be started for the actor until a node has what it needs. */
static bool lacks_node(const struct why_records *records, const struct ray_actor *actor)
{
    static const char *const codes[] = {"infeasible", "waits_for_resources", "group_infeasible",
                                        "group_waits"};
    struct why_report its = {0};
    bool lacks = false;
    why_rules_creation(records, why_resources_of(actor), &actor->selector, &its);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        lacks = lacks || text_equal(its.code, codes[i]);
    why_report_clear(&its);
    return lacks;
}

static void judge_restarting(const struct why_records *records, const struct ray_actor *actor,
                             struct why_report *report)
{
    if (leased(records, actor) || !lacks_node(records, actor)) {
        why_report_cause(report, "restarting", "its process died, and Ray is starting another");
        return;
    }
    why_rules_creation(records, why_resources_of(actor), &actor->selector, report);
    why_list_add(&report->details, "its process died, and Ray starts another where these are free");
}

/* Says how the process ended after which Ray restarted the actor. */
static void tell_previous(const struct why_records *records, const struct ray_actor *actor,
                          struct why_report *report)
{
    const struct ray_worker *worker = why_records_previous_process(records, actor);
    char name[WHY_NAME_TEXT], span[WHY_SPAN_TEXT];
    struct why_report its = {0};
    if (!worker || !process_end_explain(records, worker, &its)) {
        why_list_add(&report->unknown,
                     "why it was restarted: the cluster has no record of its earlier process");
        return;
    }
    why_name_of_worker(records, worker, name);
    int64_t ended = why_records_end_ms(records, worker);
    why_list_add(&report->ray, "its earlier process, %s, ended %s ago: %s", name,
                 why_span(ended ? records->now_ms - ended : -1, span), its.cause);
    for (size_t i = 0; i < its.unknown.count; i++)
        why_list_add(&report->unknown, "of %s: %s", name, its.unknown.items[i]);
    why_list_add(&report->next, "raydbg why %s", name);
    why_report_clear(&its);
}

static void tell_restarts(const struct why_records *records, const struct ray_actor *actor,
                          struct why_report *report)
{
    bool dead = text_equal(actor->state, "DEAD");
    if (actor->restarts && actor->max_restarts < 0 && !dead)
        why_list_add(&report->ray, "Ray has restarted it %lld time%s, and does so without limit",
                     (long long)actor->restarts, actor->restarts == 1 ? "" : "s");
    else if (actor->restarts)
        why_list_add(&report->ray, "Ray has restarted it %lld time%s (max_restarts=%lld)%s",
                     (long long)actor->restarts, actor->restarts == 1 ? "" : "s",
                     (long long)actor->max_restarts, dead ? ", and does not restart it again" : "");
    if (actor->restarts && !dead)
        tell_previous(records, actor, report);
    else if (!actor->restarts && dead)
        why_list_add(&report->ray, "Ray does not restart it (max_restarts=%lld)",
                     (long long)actor->max_restarts);
}

void why_rules_actor(const struct why_records *records, const struct ray_actor *actor,
                     struct why_report *report)
{
    const struct ray_worker *worker = why_records_worker(records, actor->worker_id);
    why_link_actor(records, actor->actor_id, report);
    if (text_equal(actor->state, "DEAD") && actor->death)
        why_rules_death(records, actor->death, worker, report);
    else if (text_equal(actor->state, "DEAD") &&
             (!worker || !process_end_explain(records, worker, report)))
        why_report_cause(report, "unknown", "it is dead, and Ray does not say why");
    else if (text_equal(actor->state, "ALIVE"))
        judge_alive(records, actor, report);
    else if (text_equal(actor->state, "RESTARTING"))
        judge_restarting(records, actor, report);
    else if (!text_equal(actor->state, "DEAD"))
        judge_pending(records, actor, report);
    why_link_worker(records, actor->worker_id, report);
    tell_restarts(records, actor, report);
    if (worker)
        why_list_add(&report->next, "raydbg logs %.8s", actor->actor_id);
}
