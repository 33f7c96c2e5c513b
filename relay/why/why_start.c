/* The rules for what has its resources free, and no process: why a worker does not start. */
#include "base/mem.h"
#include "base/text.h"
#include "relay/why/why_rules.h"

#include <stdlib.h>
#include <string.h>

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
        bool of_raylet = !*log->worker_id && !log->of_runtime_env;
        char *line = log->text && of_raylet ? startup_error(log->text) : NULL;
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

/* The command that a node runs for a runtime_env just now: that of the last line "… -- Run cmd[3]
 * ['pip', 'install', …]" of its log, unless that has ended. The caller frees it; NULL if there is
 * none. */
static char *setup_command(const char *text)
{
    static const char runs[] = "Run cmd[", ended[] = "utput ";
    const char *found = NULL;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        const char *command = memmem(line, len, runs, sizeof runs - 1);
        bool over = (memmem(line, len, ended, sizeof ended - 1) &&
                     memmem(line, len, " cmd[", sizeof " cmd[" - 1)) ||
                    memmem(line, len, "Traceback", sizeof "Traceback" - 1);
        if (command)
            found = command;
        else if (over)
            found = NULL;
    }
    return found ? mem_string_n(found, strcspn(found, "\n")) : NULL;
}

/* True if a node sets up a runtime_env for the job: that is the cause. */
static bool tell_setup(const struct why_records *records, struct why_report *report)
{
    bool found = false;
    for (size_t i = 0; i < records->log_count; i++) {
        const struct why_log *log = &records->logs[i];
        char *command = log->text && log->of_runtime_env ? setup_command(log->text) : NULL;
        if (!command)
            continue;
        found = true;
        why_report_cause(
            report, "sets_up_runtime_env",
            "its resources are free, and a runtime_env of its job is being set up on %s",
            why_records_ip(records, log->node_id));
        why_list_add(&report->details, "%s of %s: %s", log->file,
                     why_records_ip(records, log->node_id), command);
        free(command);
    }
    if (found)
        why_list_add(&report->unknown,
                     "whether that is the one that it waits for: the log is of its whole job");
    return found;
}

void why_rules_start(const struct why_records *records, struct why_report *report)
{
    if (tell_setup(records, report))
        return;
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
    why_list_add(
        &report->unknown,
        "whether it may run on some nodes only (NodeAffinity, fallback_strategy): Ray's tables do "
        "not tell");
    why_list_add(&report->unknown,
                 "why the worker does not start: Ray keeps that in raylet.err and "
                 "runtime_env_setup-*.log");
}
