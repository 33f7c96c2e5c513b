#include "relay/why_records/process_end.h"

#include "base/text.h"
#include "relay/why_records/crash_log.h"
#include "relay/why_records/memory_kill.h"

#include <stdlib.h>
#include <string.h>

/* Ray's WorkerExitType and words, and what they mean (docs/facts/ray.md#10.1); the first row that
 * matches is used. */
enum { NEEDS_LOG = 1, BY_INTENT = 2, ORDINARY = 4 | BY_INTENT };

static const struct {
    const char *exit_type; /* NULL: any */
    const char *needle;    /* in exit_detail */
    int flags;
    const char *code, *words;
} rows[] = {
    {"NODE_OUT_OF_MEMORY", "", 0, "out_of_memory",
     "Ray's memory monitor killed its process, because the node was running out of memory"},
    {NULL, "received a force ray.cancel", BY_INTENT, "cancelled",
     "ray.cancel(force=True) ended its process"},
    {NULL, "killed by `ray.kill`", BY_INTENT, "ray_kill", "the program killed it with ray.kill"},
    {NULL, "its owner has died", 0, "owner_died",
     "the process that owned it died, and Ray then killed it"},
    {NULL, "references to the actor were removed", ORDINARY, "out_of_scope",
     "nobody held a handle of the actor any more, and Ray ended it"},
    {NULL, "exit_actor() is called", ORDINARY, "exit_actor",
     "the actor ended itself with ray.actor.exit_actor()"},
    {NULL, "exception in the initialization", 0, "init_raised", "its __init__ raised an exception"},
    {NULL, "job has finished", ORDINARY, "job_over", "its job had ended"},
    {NULL, "owned by a dead job", ORDINARY, "job_over", "its job had ended"},
    {NULL, "as driver exits", ORDINARY, "job_over", "its job had ended"},
    {NULL, "idle", ORDINARY, "idle", "it had been idle, and Ray ended it"},
    {NULL, "placement group was removed", BY_INTENT, "group_removed",
     "its placement group was removed"},
    {NULL, "receives a SIGTERM", 0, "sigterm",
     "its process got a SIGTERM: from `ray stop`, a pod's or batch system's end, or `kill`"},
    {NULL, "exit code ", 0, "exit_code", "its process exited"},
    {NULL, "connection error code", NEEDS_LOG, "process_lost", "its process vanished"},
    {NULL, "Socket closed", NEEDS_LOG, "process_lost", "its process vanished"},
    {NULL, "Broken pipe", NEEDS_LOG, "process_lost", "its process vanished"},
    {NULL, "Connection reset", NEEDS_LOG, "process_lost", "its process vanished"},
    {"INTENDED_SYSTEM_EXIT", "", BY_INTENT, "ended_by_ray", "Ray ended it in its ordinary course"},
    {"INTENDED_USER_EXIT", "", BY_INTENT, "ended_by_program", "the program ended it"},
    {"SYSTEM_ERROR", "", NEEDS_LOG, "process_lost", "its process died"},
};

static int exit_code_in(const char *text)
{
    static const char words[] = "exit code ";
    const char *at = strstr(text, words);
    int64_t code;
    char digits[8] = "";
    if (!at)
        return -1;
    at += sizeof words - 1;
    size_t len = strspn(at, "-0123456789");
    if (len < sizeof digits)
        memcpy(digits, at, len);
    return text_to_int(digits, -255, 255, &code) ? (int)code : -1;
}

struct process_end process_end_of_text(const char *exit_type, const char *text)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((!rows[i].exit_type || text_equal(rows[i].exit_type, exit_type)) &&
            strstr(text, rows[i].needle))
            return (struct process_end){rows[i].code,
                                        rows[i].words,
                                        exit_code_in(text),
                                        (rows[i].flags & NEEDS_LOG) != 0,
                                        (rows[i].flags & BY_INTENT) != 0,
                                        (rows[i].flags & ORDINARY) == ORDINARY};
    return (struct process_end){.exit_code = -1};
}

struct process_end process_end_of(const struct ray_worker *worker)
{
    struct process_end end =
        process_end_of_text(worker->exit_type, worker->exit_detail ? worker->exit_detail : "");
    if (!end.code)
        end = (struct process_end){
            "unknown", "Ray does not say how its process ended", -1, true, false, false};
    return end;
}

/* --- exit codes --- */

static const struct {
    int code;
    const char *words;
} exit_codes[] = {
    {0, "0: sys.exit(0) or the like; Ray takes any exit inside a task for a crash: return instead"},
    {1, "1: sys.exit(1), or an error in a thread that ends the process"},
    {126, "126: the command is not executable"},
    {127, "127: the command was not found"},
    {130, "130: SIGINT, ^C"},
    {134, "134: SIGABRT, an abort in native code"},
    {137, "137: SIGKILL, often the kernel's OOM killer or a memory limit"},
    {139, "139: SIGSEGV, a crash in native code"},
    {143, "143: SIGTERM, from `ray stop`, a pod's or batch system's end, or `kill`"},
};

const char *process_end_exit_code_words(int exit_code)
{
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++)
        if (exit_codes[i].code == exit_code)
            return exit_codes[i].words;
    return NULL;
}

/* --- the report --- */

static void explain_node(const struct ray_node *node, struct why_report *report)
{
    const char *ip = text_empty(node->ip) ? "?" : node->ip;
    why_report_cause(report, "node_died", "its node %s died", ip);
    if (node->end_reason)
        why_list_add(&report->details, "Ray says of the node: %s%s%s", node->end_reason,
                     text_empty(node->end_detail) ? "" : ": ",
                     text_empty(node->end_detail) ? "" : node->end_detail);
    why_list_add(&report->unknown,
                 "the logs of a dead node cannot be read: its agent died with it");
}

static const struct {
    const char *signal, *words;
} signals[] = {
    {"SIGSEGV", "its process crashed in native code: SIGSEGV"},
    {"SIGABRT", "its process aborted itself in native code: SIGABRT"},
    {"SIGBUS", "its process crashed: SIGBUS, often a full /dev/shm or disk behind a memory map"},
    {"SIGILL", "its process crashed: SIGILL, code that was built for another processor"},
    {"SIGFPE", "its process crashed in native code: SIGFPE"},
};

static void explain_crash(const struct crash_log *crash, const struct why_log *log,
                          struct why_report *report)
{
    const char *words = NULL;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(signals[i].signal, crash->signal) == 0)
            words = signals[i].words;
    if (words)
        why_report_cause(report, "native_crash", "%s", words);
    else
        why_report_cause(report, "native_crash", "its process crashed: %s", crash->signal);
    if (crash->stack)
        why_report_traceback(report, crash->stack);
    if (crash->reason)
        why_list_add(&report->details, "the last words before: %.*s", (int)crash->reason_len,
                     crash->reason);
    why_list_add(&report->details, "Ray says only that the connection ended; the signal is from %s",
                 log->file);
}

/* For a process that left no reason with Ray: its last words tell a crash, and a SIGKILL by their
 * absence. */
void process_end_explain_lost(const struct why_records *records, const struct ray_worker *worker,
                              struct why_report *report)
{
    const struct why_log *log = why_records_log(records, worker->worker_id);
    struct crash_log crash;
    if (log && log->text && crash_log_read(log->text, &crash)) {
        explain_crash(&crash, log, report);
    } else if (log && log->text) {
        why_report_cause(report, "killed_or_exited",
                         "its process vanished without a word: SIGKILL (137), or os._exit");
        why_list_add(&report->unknown,
                     "Ray records neither signal nor exit code. The kernel's OOM killer and `kill "
                     "-9` look like "
                     "this: see `dmesg` on %s",
                     why_records_ip(records, worker->node_id));
    } else {
        why_report_cause(report, "process_lost", "its process vanished");
        why_list_add(&report->unknown,
                     "whether it crashed, was killed or exited: its log is missing (%s)",
                     log && log->problem ? log->problem : "it was not read");
    }
}

static void explain_memory(const struct ray_worker *worker, struct why_report *report)
{
    const char *detail = worker->exit_detail ? worker->exit_detail : "";
    if (worker->memory_at_death)
        why_list_add(&report->details, "it used %.2f GB", (double)worker->memory_at_death / 1e9);
    memory_kill_tell(detail, report);
    why_list_add(
        &report->ray,
        "Ray retries a task that its memory monitor killed, without limit (RAY_task_oom_retries). "
        "It does not if max_retries is 0, or, in Ray 2.9, if it was the only task of its caller");
}

static void explain_end(const struct why_records *records, const struct ray_worker *worker,
                        const struct process_end *end, struct why_report *report)
{
    const char *code_words = process_end_exit_code_words(end->exit_code);
    if (end->needs_log) {
        process_end_explain_lost(records, worker, report);
        return;
    }
    if (strcmp(end->code, "exit_code") == 0 && code_words)
        why_report_cause(report, end->code, "its process exited with code %s", code_words);
    else if (strcmp(end->code, "exit_code") == 0)
        why_report_cause(report, end->code, "its process exited with code %d", end->exit_code);
    else
        why_report_cause(report, end->code, "%s", end->words);
    if (strcmp(end->code, "out_of_memory") == 0)
        explain_memory(worker, report);
    if (strcmp(end->code, "init_raised") == 0 && worker->init_error) {
        why_report_traceback(report, worker->init_error);
        char *exception = why_report_exception(worker->init_error);
        why_list_add(&report->details, "%s", exception);
        free(exception);
    }
}

bool process_end_explain(const struct why_records *records, const struct ray_worker *worker,
                         struct why_report *report)
{
    const struct ray_node *node = why_records_node(records, worker->node_id);
    if (worker->is_alive && node && !node->is_alive) {
        explain_node(node, report);
        return true;
    }
    if (worker->is_alive)
        return false;
    struct process_end end = process_end_of(worker);
    explain_end(records, worker, &end, report);
    return true;
}
