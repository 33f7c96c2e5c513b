/* The rules for processes, nodes and jobs. */
#include "base/text.h"
#include "proto/job_id.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/process_end.h"

#include <stdlib.h>
#include <string.h>

/* --- processes --- */

/* Names what the process was at when it ended, or what it runs. */
static void tell_tasks(const struct why_records *records, const struct ray_worker *worker,
                       struct why_report *report)
{
    enum { SHOWN = 5 };
    size_t count = 0;
    char name[WHY_NAME_TEXT];
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (!text_equal(it->worker_id, worker->worker_id) || it->state == RAY_ATTEMPT_FINISHED ||
            it->type == RAY_DRIVER_TASK)
            continue;
        if (++count <= SHOWN)
            why_list_add(&report->details, "%s %s", why_name_of_task(it, name),
                         why_state_name(it->state));
    }
    if (count > SHOWN)
        why_list_add(&report->details, "and %zu more tasks", count - SHOWN);
}

static const struct ray_actor *actor_of(const struct why_records *records,
                                        const struct ray_worker *worker)
{
    for (size_t i = 0; i < records->actor_count; i++)
        if (text_equal(records->actors[i].worker_id, worker->worker_id))
            return &records->actors[i];
    return NULL;
}

void why_rules_worker(const struct why_records *records, const struct ray_worker *worker,
                      struct why_report *report)
{
    const struct ray_actor *actor = actor_of(records, worker);
    char name[WHY_NAME_TEXT];
    why_link_worker(records, worker->worker_id, report);
    if (actor)
        why_link_actor(records, actor->actor_id, report);
    if (process_end_explain(records, worker, report)) {
        struct process_end end = process_end_of(worker);
        if (actor && actor->death && !worker->is_alive && end.by_intent)
            why_rules_death(records, actor->death, worker, report);
    } else if (worker->paused_threads) {
        why_report_cause(report, "paused",
                         "it is stopped at a breakpoint and waits for a debugger");
        why_list_add(&report->next, "raydbg attach %s", why_name_of_worker(records, worker, name));
    } else {
        why_report_cause(report, "alive", "it is alive");
    }
    tell_tasks(records, worker, report);
    if (!worker->is_driver)
        why_list_add(&report->next, "raydbg logs %s", why_name_of_worker(records, worker, name));
}

/* --- nodes --- */

static const struct {
    const char *reason, *words;
} node_ends[] = {
    {"EXPECTED_TERMINATION", "it was ended in order, by `ray stop` or a SIGTERM to its raylet"},
    {"UNEXPECTED_TERMINATION",
     "it vanished: its raylet or machine died, or the network to it broke"},
    {"AUTOSCALER_DRAIN_PREEMPTED",
     "the autoscaler drained it because the machine was about to be preempted"},
    {"AUTOSCALER_DRAIN_IDLE", "the autoscaler drained it because it was idle"},
};

static void tell_losses(const struct why_records *records, const struct ray_node *node,
                        struct why_report *report)
{
    size_t tasks = 0, actors = 0;
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        tasks += text_equal(it->node_id, node->node_id) && it->state == RAY_ATTEMPT_FAILED &&
                 node->end_ms && it->state_ms[RAY_ATTEMPT_FAILED] >= node->end_ms - 60000;
    }
    for (size_t i = 0; i < records->actor_count; i++)
        actors += text_equal(records->actors[i].node_id, node->node_id) &&
                  text_equal(records->actors[i].state, "DEAD") && records->actors[i].death &&
                  records->actors[i].death->reason == RAY_REASON_NODE_DIED;
    if (tasks || actors)
        why_list_add(&report->details, "%zu task%s and %zu actor%s died with it", tasks,
                     tasks == 1 ? "" : "s", actors, actors == 1 ? "" : "s");
}

void why_rules_node(const struct why_records *records, const struct ray_node *node,
                    struct why_report *report)
{
    why_report_link(report, "node", node->node_id, "node %s, %s", node->ip,
                    node->is_alive ? "alive" : "dead");
    if (node->is_alive) {
        why_report_cause(report, "alive", "it is alive");
        return;
    }
    for (size_t i = 0; i < sizeof node_ends / sizeof *node_ends; i++)
        if (text_equal(node_ends[i].reason, node->end_reason))
            why_report_cause(report, "node_died", "%s", node_ends[i].words);
    if (!report->cause)
        why_report_cause(report, "node_died", "it died, and Ray does not say why");
    if (!text_empty(node->end_detail))
        why_list_add(&report->details, "Ray says: %s", node->end_detail);
    tell_losses(records, node, report);
    why_list_add(&report->unknown,
                 "the logs of a dead node cannot be read: its agent died with it");
}

/* --- jobs --- */

/* Ray's message has the end of the driver's output. Adds the exception there that ended it. */
static void tell_exception(const char *message, struct why_report *report)
{
    static const char begins[] = "Traceback (most recent call last)";
    const char *last = NULL;
    for (const char *at = strstr(message, begins); at; at = strstr(at + 1, begins))
        last = at;
    if (!last)
        return;
    char *exception = why_report_exception(last);
    why_report_traceback(report, last);
    if (*exception)
        why_list_add(&report->details, "it raised %s", exception);
    free(exception);
}

static void judge_submission(const struct ray_job *job, struct why_report *report)
{
    const char *words = job->has_exit_code ? process_end_exit_code_words(job->exit_code) : NULL;
    if (words)
        why_report_cause(report, "exit_code", "its driver exited with code %s", words);
    else if (job->has_exit_code)
        why_report_cause(report, "exit_code", "its driver exited with code %d", job->exit_code);
    else
        why_report_cause(report, "submission", "its submission is %s", job->submission_status);
    if (!text_empty(job->submission_message)) {
        char *first = why_first_words(job->submission_message);
        why_list_add(&report->details, "Ray says: %s", first);
        free(first);
        tell_exception(job->submission_message, report);
    }
}

static void tell_counts(const struct why_records *records, const struct ray_job *job,
                        struct why_report *report)
{
    size_t failed = 0, waiting = 0, running = 0, finished = 0;
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (!text_equal(it->job_id, job->job_id) || !why_records_stands_for_task(records, it))
            continue;
        failed += it->state == RAY_ATTEMPT_FAILED;
        running += why_records_is_running(records, it);
        finished += it->state == RAY_ATTEMPT_FINISHED;
        waiting += it->state > RAY_ATTEMPT_UNKNOWN && it->state < RAY_ATTEMPT_RUNNING &&
                   !why_never_runs(records, it);
    }
    why_list_add(&report->details, "its tasks: %zu failed, %zu waiting, %zu running, %zu finished",
                 failed, waiting, running, finished);
}

void why_rules_job(const struct why_records *records, const struct ray_job *job,
                   struct why_report *report)
{
    char brief[ID_TEXT(ID_JOB_BYTES)];
    const struct ray_worker *driver = why_driver_of_job(records, job->job_id);
    why_report_link(report, "job", job->job_id, "job %s, %s: %s", job_id_brief(job->job_id, brief),
                    job->is_dead ? "ended" : "running",
                    text_empty(job->entrypoint) ? "?" : job->entrypoint);
    if (driver)
        why_link_worker(records, driver->worker_id, report);
    if (job->submission_status && text_equal(job->submission_status, "SUCCEEDED"))
        why_report_cause(report, "finished", "it finished: its driver exited with code 0");
    else if (job->has_exit_code ||
             (job->submission_status && text_equal(job->submission_status, "FAILED")))
        judge_submission(job, report);
    else if (!job->is_dead)
        why_report_cause(report, "running", "its driver runs");
    else {
        why_report_cause(report, "job_over", "its driver has ended");
        why_list_add(&report->unknown,
                     "how: Ray records the exit code of submitted jobs only (`ray job submit`)");
    }
    if (!records->problems[WHY_ATTEMPTS].code)
        tell_counts(records, job, report);
    why_list_add(&report->next, "raydbg why");
}
