/* The rules for tasks that failed or finished. */
#include "base/mem.h"
#include "base/text.h"
#include "relay/why/why_rules.h"
#include "relay/why_records/memory_kill.h"
#include "relay/why_records/process_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- exceptions --- */

static const char argument_failed[] =
    "At least one of the input arguments for this task could not be computed";

/* The task that is to blame for an argument, as far as Ray's words tell: "ray::NAME() (pid=908,
 * ip=10.0.0.7)". Of a chain of tasks it is the one that raised. */
struct culprit {
    char name[WHY_NAME_TEXT];
    int64_t pid;   /* 0 if it is not told */
    char ip[64];   /* of its node; "" if it is not told */
    bool is_maker; /* of the argument, not only of an argument of its maker's */
};

static bool read_culprit(const char *message, struct culprit *out)
{
    static const char begins[] = "ray::", pid[] = "(pid=", ip[] = "ip=";
    const char *last = strstr(message, argument_failed), *process;
    out->is_maker = true;
    for (const char *next = last; (next = strstr(next + 1, argument_failed)); last = next)
        out->is_maker = false;
    const char *at = strstr(last, begins);
    if (!at)
        return false;
    at += sizeof begins - 1;
    size_t len = strcspn(at, "(\n\033"), line = strcspn(at, "\n");
    char *name = mem_string_n(at, len);
    bool fits = text_copy(out->name, sizeof out->name, name);
    free(name);
    process = memmem(at, line, pid, sizeof pid - 1);
    out->pid = process ? strtoll(process + sizeof pid - 1, NULL, 10) : 0;
    const char *node =
        process ? memmem(process, line - (size_t)(process - at), ip, sizeof ip - 1) : NULL;
    size_t node_len = node ? strcspn(node += sizeof ip - 1, ",)\n") : 0;
    snprintf(out->ip, sizeof out->ip, "%.*s", (int)node_len, node ? node : "");
    return fits && len > 0;
}

/* True if the attempt may be the culprit's: it failed before the consumer, for good, where the
 * culprit was. An actor's call may be of another job: Ray gives a detached actor's calls the job
 * that has made the actor. */
static bool may_be_culprit(const struct why_records *records, const struct culprit *culprit,
                           const struct ray_attempt *it, const struct ray_attempt *consumer)
{
    const char *ip = why_records_ip(records, it->node_id);
    bool of_job = text_equal(it->job_id, consumer->job_id) || it->type == RAY_ACTOR_TASK;
    return it->state == RAY_ATTEMPT_FAILED && text_equal(it->name, culprit->name) && of_job &&
           !why_records_is_retried(records, it) &&
           !(it->error_message && strstr(it->error_message, argument_failed)) &&
           !(culprit->pid && it->pid && it->pid != culprit->pid) &&
           !(*culprit->ip && *ip && !text_equal(ip, culprit->ip)) &&
           it->state_ms[RAY_ATTEMPT_FAILED] <= consumer->state_ms[RAY_ATTEMPT_FAILED];
}

/* The attempt that raised the exception; NULL if none or several may have. One whose exception is
 * not known counts only if no other raised this one. `*count`: how many there are. */
static const struct ray_attempt *failed_attempt(const struct why_records *records,
                                                const struct culprit *culprit,
                                                const struct ray_attempt *consumer,
                                                const char *exception, size_t *count)
{
    const struct ray_attempt *found = NULL;
    bool raised_this = false;
    *count = 0;
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (!may_be_culprit(records, culprit, it, consumer))
            continue;
        char *its = why_report_exception(it->error_message ? it->error_message : "");
        bool known = *its && *exception, same = known && text_equal(its, exception);
        free(its);
        if ((known && !same) || (raised_this && !same))
            continue;
        *count = same && !raised_this ? 1 : *count + 1;
        raised_this = same;
        found = it;
    }
    return *count == 1 ? found : NULL;
}

static void blame(const struct why_records *records, const struct ray_attempt *attempt,
                  const char *what, struct why_report *report)
{
    struct why_report its = {0};
    char name[WHY_NAME_TEXT];
    why_link_task(attempt, report);
    why_rules_task(records, attempt, &its);
    why_report_cause(report, "argument_failed", "it did not run: %s, which %s, failed: %s",
                     why_name_of_task(attempt, name), what, its.cause ? its.cause : "?");
    why_report_clear(&its);
    why_list_add(&report->next, "raydbg why %s",
                 why_short_id(attempt->task_id, (char[ID_TEXT(ID_TASK_BYTES)]){0}));
}

/* The task did not run: an argument of it is the result of a task that failed. */
static void judge_argument(const struct why_records *records, const struct ray_attempt *consumer,
                           const char *message, struct why_report *report)
{
    struct culprit culprit;
    size_t count;
    if (!read_culprit(message, &culprit)) {
        why_report_cause(report, "argument_failed",
                         "it did not run: the task that makes one of its arguments failed");
        return;
    }
    const char *what =
        culprit.is_maker ? "makes one of its arguments" : "one of its arguments depends on";
    char *exception = why_report_exception(message);
    const struct ray_attempt *attempt =
        failed_attempt(records, &culprit, consumer, exception, &count);
    if (attempt)
        blame(records, attempt, what, report);
    else
        why_report_cause(report, "argument_failed", "it did not run: %s, which %s, failed%s%s",
                         culprit.name, what, *exception ? ": it raised " : "", exception);
    if (count > 1)
        why_list_add(&report->unknown, "which %s: %zu tasks of this name raised the same there",
                     culprit.name, count);
    free(exception);
}

/* Ray's exceptions for objects say which object, and some of them an error type:
 * "[OBJECT_UNRECONSTRUCTABLE_PUT]". */
static bool judge_lost_object(const char *message, struct why_report *report)
{
    static const char words[] = "Failed to retrieve object ";
    const char *at = strstr(message, words), *found = NULL;
    struct object_id id;
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    if (!at)
        return false;
    at += sizeof words - 1;
    if (!object_id_parse(at, strspn(at, "0123456789abcdefABCDEF"), &id))
        return false;
    object_id_hex(&id, hex);
    for (int type = 0; ray_error_type_name(type) && !found; type++) {
        char *bracketed = mem_format("[%s]", ray_error_type_name(type));
        if (strstr(message, bracketed))
            found = ray_error_type_words(type);
        free(bracketed);
    }
    if (!found)
        found = strstr(message, "OwnerDiedError") ? ray_error_type_words(RAY_ERROR_OWNER_DIED)
                                                  : "an object that it needs is lost";
    why_report_cause(report, "object_lost", "%s", found);
    why_report_link(report, "object", hex, "object %.8s", hex);
    why_list_add(&report->next, "raydbg why %s", hex);
    return true;
}

static void judge_exception(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report)
{
    const char *message = attempt->error_message ? attempt->error_message : "";
    const char *traceback = attempt->raised_traceback ? attempt->raised_traceback : message;
    if (strstr(message, argument_failed) && !strstr(message, "Failed to retrieve object ")) {
        judge_argument(records, attempt, message, report);
        return;
    }
    char *exception = why_report_exception(*message ? message : traceback);
    why_report_traceback(report, traceback);
    if (judge_lost_object(message, report)) {
        if (*exception)
            why_list_add(&report->details, "it raised %s", exception);
        free(exception);
        return;
    }
    if (*exception)
        why_report_cause(report, "exception", "it raised %s", exception);
    else if (attempt->raised_type)
        why_report_cause(report, "exception", "it raised %s: %s", attempt->raised_type,
                         attempt->raised_value ? attempt->raised_value : "");
    else
        why_report_cause(report, "exception", "it raised an exception");
    free(exception);
}

/* --- processes --- */

/* From the words of the task's own error, where the process's row is missing. */
static bool judge_words(const struct ray_attempt *attempt, struct why_report *report)
{
    const char *message = attempt->error_message ? attempt->error_message : "";
    struct process_end end = process_end_of_text(NULL, message);
    const char *words = process_end_exit_code_words(end.exit_code);
    if (!end.code)
        return false;
    if (strcmp(end.code, "exit_code") == 0 && words)
        why_report_cause(report, end.code, "its process exited with code %s", words);
    else
        why_report_cause(report, end.code, "%s", end.words);
    return true;
}

/* Why nothing is known of the end of a process. */
static const char *no_process(const struct why_records *records)
{
    return records->problems[WHY_WORKERS].code ? records->problems[WHY_WORKERS].what
                                               : "the cluster has no record of the process";
}

static void judge_worker(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_report *report)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    const struct ray_node *node = why_records_node(records, attempt->node_id);
    if (attempt->death.context != RAY_DEATH_NONE) {
        const struct ray_actor *actor = why_records_actor(records, attempt->actor_id);
        why_rules_death(records, &attempt->death,
                        actor ? why_records_worker(records, actor->worker_id) : NULL, report);
        return;
    }
    if (attempt->raised_traceback)
        why_report_traceback(report, attempt->raised_traceback);
    if (worker && process_end_explain(records, worker, report))
        return;
    if (judge_words(attempt, report)) {
        if (*attempt->worker_id)
            why_list_add(&report->unknown,
                         "more about the process: the cluster has no record of its end");
        return;
    }
    if (node && !node->is_alive) {
        why_report_cause(report, "node_died", "its node %s died", node->ip);
        return;
    }
    why_report_cause(report, "process_lost", "its process died");
    why_list_add(&report->unknown, "how it died: %s", no_process(records));
}

static void judge_node(const struct why_records *records, const struct ray_attempt *attempt,
                       struct why_report *report)
{
    const struct ray_node *node = why_records_node(records, attempt->node_id);
    why_report_cause(report, "node_died", "its node %s died", node ? node->ip : "");
    if (node && node->end_reason)
        why_list_add(&report->details, "Ray says of the node: %s%s%s", node->end_reason,
                     text_empty(node->end_detail) ? "" : ": ",
                     text_empty(node->end_detail) ? "" : node->end_detail);
    why_list_add(&report->unknown,
                 "the logs of a dead node cannot be read: its agent died with it");
}

/* --- actors --- */

static void judge_actor(const struct why_records *records, const struct ray_attempt *attempt,
                        struct why_report *report)
{
    const struct ray_actor *actor = why_records_actor(records, attempt->actor_id);
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    char name[WHY_NAME_TEXT];
    if (!worker && actor)
        worker = why_records_worker(records, actor->worker_id);
    if (attempt->death.context == RAY_DEATH_NONE && worker &&
        process_end_explain(records, worker, report)) {
        /* The process in which the call was, or should have been, has ended. */
    } else if (attempt->death.context != RAY_DEATH_NONE || (actor && actor->death)) {
        bool own = attempt->death.context != RAY_DEATH_NONE;
        why_rules_death(records, own ? &attempt->death : actor->death, worker, report);
    } else {
        why_report_cause(report, "actor_unavailable", "%s",
                         ray_error_type_words(attempt->error_type));
    }
    if (attempt->raised_traceback && !report->frame_count)
        why_report_traceback(report, attempt->raised_traceback);
    if (actor) {
        char *cause = report->cause;
        report->cause = NULL;
        why_report_cause(report, report->code, "its actor %s: %s", why_name_of_actor(actor, name),
                         cause);
        free(cause);
        if (actor->max_restarts)
            why_list_add(&report->ray,
                         "Ray has restarted the actor %lld time%s (max_restarts=%lld); it is %s",
                         (long long)actor->restarts, actor->restarts == 1 ? "" : "s",
                         (long long)actor->max_restarts, actor->state);
    }
}

static void judge_runtime_env(const struct ray_attempt *attempt, struct why_report *report)
{
    const char *message = attempt->error_message   ? attempt->error_message
                          : attempt->death.message ? attempt->death.message
                                                   : "";
    char *exception = why_report_exception(message);
    why_report_cause(report, "runtime_env", "its runtime_env could not be set up%s%s",
                     *exception ? ": " : "", exception);
    free(exception);
    why_list_add(&report->details,
                 "its process never started; the log is runtime_env_setup-%s.log of the node",
                 attempt->job_id);
}

/* --- the table --- */

static void judge_memory(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_report *report)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    if (worker && process_end_explain(records, worker, report))
        return;
    why_report_cause(report, "out_of_memory", "%s", ray_error_type_words(RAY_ERROR_OUT_OF_MEMORY));
    memory_kill_tell(attempt->error_message ? attempt->error_message : "", report);
}

/* A judge for an error that needs more than its own words. */
static const struct {
    int error_type;
    void (*judge)(const struct why_records *records, const struct ray_attempt *attempt,
                  struct why_report *report);
} judges[] = {
    {RAY_ERROR_WORKER_DIED, judge_worker},
    {RAY_ERROR_TASK_EXECUTION_EXCEPTION, judge_exception},
    {RAY_ERROR_ACTOR_CREATION_FAILED, judge_exception},
    {RAY_ERROR_ACTOR_DIED, judge_actor},
    {RAY_ERROR_ACTOR_UNAVAILABLE, judge_actor},
    {RAY_ERROR_NODE_DIED, judge_node},
    {RAY_ERROR_OUT_OF_MEMORY, judge_memory},
};

/* A process that exits in a task reports the line among its last words (Ray's profile event
 * task:execute): without a CPU late, or never. */
static void note_lost_location(const struct ray_attempt *attempt, struct why_report *report)
{
    bool exited = text_equal(report->code, "exit_code") || text_equal(report->code, "sigterm");
    if (exited && !attempt->raised_traceback)
        why_list_add(&report->unknown, "where in the program: its process has not reported it");
}

static void judge_failed(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_report *report)
{
    int type = attempt->has_error ? attempt->error_type : RAY_ERROR_WORKER_DIED;
    const char *words = ray_error_type_words(type), *message = attempt->error_message;
    for (size_t i = 0; i < sizeof judges / sizeof *judges; i++) {
        if (judges[i].error_type == type) {
            judges[i].judge(records, attempt, report);
            note_lost_location(attempt, report);
            return;
        }
    }
    if (type == RAY_ERROR_RUNTIME_ENV_SETUP_FAILED) {
        judge_runtime_env(attempt, report);
        return;
    }
    if (words)
        why_report_cause(report, ray_error_type_name(type), "%s", words);
    else
        why_report_cause(report, "unknown", "Ray gives the error %d, which is newer than raydbg",
                         type);
    if (type == RAY_ERROR_WORKER_STARTUP_FAILED)
        why_rules_startup(records, report);
    if (message) {
        char *first = why_first_words(message);
        why_list_add(&report->details, "Ray says: %s", first);
        free(first);
    }
}

/* The process exited (docs/facts/ray.md#10.3: SYSTEM_ERROR, "exit code N"), and ran nothing after
 * this. The exception that ended it is among its last words, which may be lost. */
static bool exited_unreported(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    if (attempt->type != RAY_NORMAL_TASK || !worker || worker->is_alive ||
        !text_equal(worker->exit_type, "SYSTEM_ERROR") ||
        !text_equal(process_end_of(worker).code, "exit_code"))
        return false;
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *other = &records->attempts[i];
        if (text_equal(other->worker_id, attempt->worker_id) &&
            other->state_ms[RAY_ATTEMPT_RUNNING] > attempt->state_ms[RAY_ATTEMPT_RUNNING])
            return false;
    }
    return true;
}

bool why_rules_exited(const struct why_records *records, const struct ray_attempt *attempt)
{
    return attempt->raised_type ? strstr(attempt->raised_type, "SystemExit") != NULL
                                : exited_unreported(records, attempt);
}

bool why_rules_interrupted(const struct ray_attempt *attempt)
{
    return attempt->raised_type && strstr(attempt->raised_type, "KeyboardInterrupt");
}

static void judge_finished(const struct why_records *records, const struct ray_attempt *attempt,
                           struct why_report *report)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    if (why_rules_exited(records, attempt)) {
        if (!worker || !process_end_explain(records, worker, report)) {
            why_report_cause(report, "exit_code", "its process exited, by sys.exit() or the like");
            why_list_add(&report->unknown, "its exit code: %s", no_process(records));
        }
        why_report_traceback(report, attempt->raised_traceback ? attempt->raised_traceback : "");
        note_lost_location(attempt, report);
        why_list_add(&report->details,
                     "Ray lists the task as FINISHED, but its caller gets an error");
        return;
    }
    if (why_rules_interrupted(attempt)) {
        why_report_cause(report, "interrupted",
                         "it was cancelled with ray.cancel, or a KeyboardInterrupt ended it, which "
                         "Ray takes for that: its caller gets a TaskCancelledError");
        why_report_traceback(report, attempt->raised_traceback ? attempt->raised_traceback : "");
        why_list_add(&report->details, "Ray lists the task as FINISHED");
        return;
    }
    why_report_cause(report, "finished", "it finished: Ray knows of no failure");
}

void why_rules_ended_task(const struct why_records *records, const struct ray_attempt *attempt,
                          struct why_report *report)
{
    if (attempt->state == RAY_ATTEMPT_FAILED)
        judge_failed(records, attempt, report);
    else
        judge_finished(records, attempt, report);
}

static void judge_unfinished(const struct why_records *records, const struct ray_attempt *attempt,
                             struct why_report *report)
{
    if (attempt->state == RAY_ATTEMPT_RUNNING)
        why_rules_running_task(records, attempt, report);
    else
        why_rules_waiting_task(records, attempt, report);
    why_rules_others_pause(records, attempt, report);
    why_rules_cycle(records, attempt, report);
}

void why_rules_task(const struct why_records *records, const struct ray_attempt *attempt,
                    struct why_report *report)
{
    char id[ID_TEXT(ID_TASK_BYTES)];
    why_link_task(attempt, report);
    if (ray_attempt_is_over(attempt))
        why_rules_ended_task(records, attempt, report);
    else if (!why_rules_deadlock(records, attempt, report))
        judge_unfinished(records, attempt, report);
    why_link_actor(records, attempt->actor_id, report);
    why_link_worker(records, attempt->worker_id, report);
    why_rules_retries(records, attempt, report);
    if (*attempt->worker_id &&
        (attempt->state_ms[RAY_ATTEMPT_RUNNING] || attempt->type == RAY_NORMAL_TASK))
        why_list_add(&report->next, "raydbg logs %s", why_short_id(attempt->task_id, id));
}
