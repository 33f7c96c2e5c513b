#include "relay/why/why_overview.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/text_numbers.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/process_end.h"

#include <stdlib.h>
#include <string.h>

/* Attempts of one name, actor, state and error, of which one is judged for all. */
struct group {
    const struct ray_attempt *attempt;
    size_t count;
};

struct groups {
    struct text_numbers keys;
    struct group *items; /* by number of the key */
};

static bool is_waiting(const struct ray_attempt *attempt)
{
    return attempt->state > RAY_ATTEMPT_UNKNOWN && attempt->state < RAY_ATTEMPT_RUNNING;
}

static bool has_failed(const struct why_records *records, const struct ray_attempt *attempt)
{
    return attempt->state == RAY_ATTEMPT_FAILED ||
           (attempt->state == RAY_ATTEMPT_FINISHED && attempt->type == RAY_NORMAL_TASK &&
            (why_rules_exited(records, attempt) || why_rules_interrupted(attempt)));
}

/* A task that runs again after a failure: the attempt that failed, if that was not too long ago. */
static const struct ray_attempt *failed_before(const struct why_records *records,
                                               const struct ray_attempt *attempt)
{
    const struct ray_attempt *before = why_records_previous(records, attempt);
    return before && has_failed(records, before) &&
                   before->state_ms[before->state] >= records->since_ms &&
                   why_records_is_running(records, attempt)
               ? before
               : NULL;
}

static bool belongs(const struct why_records *records, const struct ray_attempt *it)
{
    if (it->type == RAY_ACTOR_CREATION_TASK || !why_records_stands_for_task(records, it))
        return false;
    if (has_failed(records, it))
        return it->state_ms[it->state] >= records->since_ms;
    if (!is_waiting(it))
        return why_records_pause(records, it) != NULL || failed_before(records, it) != NULL;
    return !why_never_runs(records, it);
}

static void add_attempt(struct groups *groups, const struct ray_attempt *it)
{
    char *key = mem_format("%d %d %s %s", it->state, it->has_error ? it->error_type : -1,
                           it->actor_id, it->name);
    size_t before = groups->keys.count;
    uint32_t number = text_numbers_number(&groups->keys, key);
    free(key);
    if (groups->keys.count > before) {
        groups->items = mem_resize(groups->items, groups->keys.count, sizeof *groups->items);
        groups->items[number] = (struct group){it, 0};
    }
    struct group *group = &groups->items[number];
    int64_t at = it->state_ms[it->state], known = group->attempt->state_ms[group->attempt->state];
    group->count++;
    if (is_waiting(it) ? at < known : at > known)
        group->attempt = it;
}

static void find_groups(const struct why_records *records, struct groups *groups)
{
    for (size_t i = 0; i < records->attempt_count; i++)
        if (belongs(records, &records->attempts[i]))
            add_attempt(groups, &records->attempts[i]);
}

static void groups_clear(struct groups *groups)
{
    text_numbers_free(&groups->keys);
    free(groups->items);
}

/* --- rows --- */

static struct why_row *add_row(struct why_overview *out, const char *kind, const char *state,
                               const char *name)
{
    out->rows = mem_resize(out->rows, out->count + 1, sizeof *out->rows);
    struct why_row *row = &out->rows[out->count++];
    *row = (struct why_row){.kind = kind, .state = state, .name = name, .count = 1};
    return row;
}

static void take_cause(struct why_row *row, struct why_report *report)
{
    row->code = report->code;
    row->cause = report->cause ? report->cause : mem_string("?");
    report->cause = NULL;
    why_report_clear(report);
}

/* Of a task that runs again the cause is that of the attempt before. */
static void take_failure_before(const struct why_records *records,
                                const struct ray_attempt *attempt, struct why_row *row)
{
    const struct ray_attempt *before = failed_before(records, attempt);
    struct why_report its = {0};
    why_rules_ended_task(records, before, &its);
    row->state = "retried";
    row->at_ms = before->state_ms[before->state];
    row->code = its.code;
    row->cause = mem_format("attempt %d runs, since attempt %d failed: %s", attempt->attempt + 1,
                            before->attempt + 1, its.cause);
    why_report_clear(&its);
}

static void add_tasks(const struct why_records *records, struct why_overview *out)
{
    struct groups groups = {0};
    find_groups(records, &groups);
    for (size_t i = 0; i < groups.keys.count; i++) {
        const struct ray_attempt *it = groups.items[i].attempt;
        struct why_report report = {0};
        const char *state = has_failed(records, it) ? "failed"
                            : is_waiting(it)        ? "waiting"
                                                    : "paused";
        struct why_row *row = add_row(out, "task", state, it->name);
        row->id = it->task_id;
        row->count = groups.items[i].count;
        row->at_ms = it->state_ms[it->state];
        if (!is_waiting(it) && !why_records_pause(records, it) && !has_failed(records, it)) {
            take_failure_before(records, it, row);
            continue;
        }
        why_rules_task(records, it, &report);
        take_cause(row, &report);
    }
    groups_clear(&groups);
}

static bool died_by_intent(const struct why_records *records, const struct ray_actor *actor)
{
    const struct ray_worker *worker = why_records_worker(records, actor->worker_id);
    enum ray_death_reason reason = actor->death ? actor->death->reason : RAY_REASON_UNKNOWN;
    if (reason == RAY_REASON_RAY_KILL || reason == RAY_REASON_OUT_OF_SCOPE ||
        reason == RAY_REASON_REF_DELETED)
        return true;
    return worker && !worker->is_alive && process_end_of(worker).by_intent;
}

/* The process after whose end the actor was started again, if that was not too long ago. */
static const struct ray_worker *died_before(const struct why_records *records,
                                            const struct ray_actor *actor)
{
    const struct ray_worker *worker = why_records_previous_process(records, actor);
    return worker && why_records_end_ms(records, worker) >= records->since_ms ? worker : NULL;
}

/* Adds a row for an actor that lives again after its process died. */
static void add_restarted(const struct why_records *records, const struct ray_actor *actor,
                          struct why_overview *out)
{
    const struct ray_worker *worker = died_before(records, actor);
    struct why_report its = {0};
    if (!worker || !process_end_explain(records, worker, &its))
        return;
    struct why_row *row = add_row(out, "actor", "restarted",
                                  text_empty(actor->name) ? actor->class_name : actor->name);
    row->id = actor->actor_id;
    row->at_ms = why_records_end_ms(records, worker);
    row->code = its.code;
    row->cause = mem_format("it lives again after %lld restart%s; before: %s",
                            (long long)actor->restarts, actor->restarts == 1 ? "" : "s", its.cause);
    why_report_clear(&its);
}

static void add_actors(const struct why_records *records, struct why_overview *out)
{
    for (size_t i = 0; i < records->actor_count; i++) {
        const struct ray_actor *it = &records->actors[i];
        struct why_report report = {0};
        bool dead = text_equal(it->state, "DEAD");
        if (text_equal(it->state, "ALIVE"))
            add_restarted(records, it, out);
        if (text_equal(it->state, "ALIVE") ||
            (dead && (it->end_ms < records->since_ms || died_by_intent(records, it))))
            continue;
        struct why_row *row = add_row(out, "actor", dead ? "dead" : "waiting",
                                      text_empty(it->name) ? it->class_name : it->name);
        row->id = it->actor_id;
        row->at_ms = dead ? it->end_ms : it->start_ms;
        why_rules_actor(records, it, &report);
        take_cause(row, &report);
    }
}

static void add_nodes(const struct why_records *records, struct why_overview *out)
{
    for (size_t i = 0; i < records->node_count; i++) {
        const struct ray_node *it = &records->nodes[i];
        struct why_report report = {0};
        if (it->is_alive || it->end_ms < records->since_ms)
            continue;
        struct why_row *row = add_row(out, "node", "dead", it->ip);
        row->id = it->node_id;
        row->at_ms = it->end_ms;
        why_rules_node(records, it, &report);
        take_cause(row, &report);
    }
}

static void add_jobs(const struct why_records *records, struct why_overview *out)
{
    for (size_t i = 0; i < records->job_count; i++) {
        const struct ray_job *it = &records->jobs[i];
        struct why_report report = {0};
        if (!text_equal(it->submission_status, "FAILED") || it->end_ms < records->since_ms)
            continue;
        struct why_row *row =
            add_row(out, "job", "failed", it->submission_id ? it->submission_id : it->job_id);
        row->id = it->job_id;
        row->at_ms = it->end_ms;
        why_rules_job(records, it, &report);
        take_cause(row, &report);
    }
}

static void add_group_rows(const struct why_records *records, struct why_overview *out)
{
    for (size_t i = 0; i < records->group_count; i++) {
        const struct ray_group *it = &records->groups[i];
        struct why_report report = {0};
        if (text_equal(it->state, "CREATED") || text_equal(it->state, "REMOVED"))
            continue;
        struct why_row *row =
            add_row(out, "group", "waiting", text_empty(it->name) ? it->group_id : it->name);
        row->id = it->group_id;
        why_rules_group(records, it, &report);
        take_cause(row, &report);
    }
}

static void count_tasks(const struct why_records *records, struct why_overview *out)
{
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (!why_records_stands_for_task(records, it))
            continue;
        out->tasks_running += why_records_is_running(records, it);
        out->tasks_waiting += is_waiting(it) && !why_never_runs(records, it);
        out->tasks_failed += it->state == RAY_ATTEMPT_FAILED;
        out->tasks_finished += it->state == RAY_ATTEMPT_FINISHED;
    }
}

static bool is_over(const struct why_row *row)
{
    return !text_equal(row->state, "waiting") && !text_equal(row->state, "paused");
}

static int compare_rows(const void *left, const void *right)
{
    const struct why_row *a = left, *b = right;
    if (is_over(a) != is_over(b))
        return is_over(a) ? 1 : -1;
    int64_t first = is_over(a) ? b->at_ms : a->at_ms, second = is_over(a) ? a->at_ms : b->at_ms;
    return (first > second) - (first < second);
}

void why_overview_make(const struct why_records *records, struct why_overview *out)
{
    *out = (struct why_overview){0};
    count_tasks(records, out);
    add_tasks(records, out);
    add_actors(records, out);
    add_group_rows(records, out);
    add_nodes(records, out);
    add_jobs(records, out);
    if (out->count)
        qsort(out->rows, out->count, sizeof *out->rows, compare_rows);
}

void why_overview_clear(struct why_overview *overview)
{
    for (size_t i = 0; i < overview->count; i++)
        free(overview->rows[i].cause);
    free(overview->rows);
    *overview = (struct why_overview){0};
}

void why_overview_needs(const struct why_records *records, struct why_needs *needs)
{
    struct groups groups = {0};
    *needs = (struct why_needs){0};
    find_groups(records, &groups);
    for (size_t i = 0; i < groups.keys.count; i++)
        if (has_failed(records, groups.items[i].attempt)) {
            why_judge_need_task(records, groups.items[i].attempt, needs);
        } else {
            why_judge_need_previous(records, groups.items[i].attempt, needs);
            why_rules_need_proof(records, groups.items[i].attempt, needs);
        }
    for (size_t i = 0; i < records->actor_count; i++) {
        const struct ray_actor *it = &records->actors[i];
        bool died = text_equal(it->state, "DEAD") && it->end_ms >= records->since_ms;
        if (died || died_before(records, it))
            why_judge_need_actor(records, it, needs);
    }
    groups_clear(&groups);
}
