#include "cli/slow/slow_output.h"

#include "base/text.h"
#include "cli/common/terminal.h"
#include "proto/job_id.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- text --- */

static const char *dot(const struct slow_style *style)
{
    return style->utf8 ? " · " : " - ";
}

/* Appends text of the program's, and then spaces up to this width. */
static void add_padded(struct buf *out, const char *text, int width)
{
    char *printable = text_printable(text, strlen(text), "");
    int missing = width - terminal_width(printable);
    buf_printf(out, "%s%*s", printable, missing > 0 ? missing : 0, "");
    free(printable);
}

static void add_cpus(const struct slow_report *report, struct buf *out)
{
    if (report->cpus < 0)
        buf_add_string(out, "an unknown number of CPUs");
    else
        buf_printf(out, "%g CPU%s promised", report->cpus, report->cpus == 1 ? "" : "s");
}

/* "job 03 · 474 tasks in 41 s on 2 nodes · 5 CPUs promised, on average 0.4 tasks ran at a time" */
static void add_header(const struct slow_report *report, const struct slow_style *style,
                       struct buf *out)
{
    char job[ID_TEXT(ID_JOB_BYTES)], span[WHY_SPAN_TEXT];
    buf_printf(out, "%sjob %s%s%s%zu task%s in %s on %zu node%s%s", style->colour ? "\033[1m" : "",
               job_id_brief(report->job_id, job), style->colour ? "\033[0m" : "", dot(style),
               report->tasks, report->tasks == 1 ? "" : "s", slow_span(report->busy_us, span),
               report->nodes, report->nodes == 1 ? "" : "s", dot(style));
    add_cpus(report, out);
    buf_printf(out, ", on average %.1f tasks ran at a time\n", report->running);
    if (report->dropped)
        buf_printf(out, "of what Ray kept: %zu attempts; %" PRId64 " state changes were dropped\n",
                   report->kept, report->dropped);
}

static void add_finding(const struct slow_finding *finding, int width, const char *times,
                        struct buf *out)
{
    char span[WHY_SPAN_TEXT] = "";
    if (finding->execute_us >= 0)
        slow_span(finding->execute_us, span);
    buf_add_string(out, "  ");
    add_padded(out, finding->name, width);
    buf_printf(out, "  %5zu %s  %8s  ", finding->count, times, span);
    add_padded(out, finding->cause, 0);
    buf_add_string(out, "; ");
    add_padded(out, finding->advice, 0);
    buf_add_string(out, "\n");
}

static void add_nothing(const struct slow_report *report, struct buf *out)
{
    char job[ID_TEXT(ID_JOB_BYTES)];
    const struct why_list *looked_for = &report->looked_for;
    if (!*report->job_id)
        buf_add_string(out, "no task to look at: no job has submitted one\n");
    else if (!report->tasks)
        buf_printf(out, "no task to look at: Ray has none of job %s in this time\n",
                   job_id_brief(report->job_id, job));
    else
        buf_printf(out, "  nothing stands out among %zu name%s of tasks; looked for", report->names,
                   report->names == 1 ? "" : "s");
    for (size_t i = 0; i < looked_for->count && report->tasks; i++)
        buf_printf(out, "%s%s%s", i ? ", " : " ", looked_for->items[i],
                   i + 1 == looked_for->count ? "\n" : "");
}

void slow_output_text(const struct slow_report *report, const struct slow_style *style,
                      struct buf *out)
{
    int width = 0;
    if (report->tasks)
        add_header(report, style, out);
    for (size_t i = 0; i < report->count; i++)
        width = terminal_width(report->findings[i].name) > width
                    ? terminal_width(report->findings[i].name)
                    : width;
    for (size_t i = 0; i < report->count; i++)
        add_finding(&report->findings[i], width, style->utf8 ? "×" : "x", out);
    if (!report->count)
        add_nothing(report, out);
    for (size_t i = 0; i < report->unknown.count && report->tasks; i++) {
        buf_add_string(out, "  not known: ");
        add_padded(out, report->unknown.items[i], 0);
        buf_add_string(out, "\n");
    }
}

/* --- JSON --- */

/* Text of the program's. */
static void add_text(cJSON *object, const char *name, const char *text)
{
    char *printable = text_printable(text, strlen(text), "");
    cJSON_AddStringToObject(object, name, printable);
    free(printable);
}

/* `value` below 0 is unknown: null. */
static void add_number(cJSON *object, const char *name, double value)
{
    if (value < 0)
        cJSON_AddNullToObject(object, name);
    else
        cJSON_AddNumberToObject(object, name, value);
}

static void add_list(cJSON *object, const char *name, const struct why_list *list)
{
    cJSON *array = cJSON_AddArrayToObject(object, name);
    for (size_t i = 0; i < list->count; i++)
        cJSON_AddItemToArray(array, cJSON_CreateString(list->items[i]));
}

static cJSON *finding_json(const struct slow_finding *finding)
{
    cJSON *object = cJSON_CreateObject();
    add_text(object, "code", finding->code);
    add_text(object, "name", finding->name);
    add_number(object, "count", (double)finding->count);
    add_number(object, "median_execute_ms",
               finding->execute_us < 0 ? -1 : (double)finding->execute_us / 1000);
    add_text(object, "cause", finding->cause);
    add_text(object, "advice", finding->advice);
    add_number(object, "cost_ms", (double)finding->cost_us / 1000);
    cJSON *figures = cJSON_AddObjectToObject(object, "figures");
    for (size_t i = 0; i < finding->figure_count; i++)
        add_number(figures, finding->figures[i].name, finding->figures[i].value);
    return object;
}

void slow_output_json(const struct slow_report *report, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    if (*report->job_id)
        add_text(root, "job_id", report->job_id);
    else
        cJSON_AddNullToObject(root, "job_id");
    add_number(root, "tasks", (double)report->tasks);
    add_number(root, "names", (double)report->names);
    add_number(root, "nodes", (double)report->nodes);
    add_number(root, "busy_ms", (double)report->busy_us / 1000);
    add_number(root, "running", report->running);
    add_number(root, "cpus", report->cpus);
    add_number(root, "attempts_kept", (double)report->kept);
    add_number(root, "changes_dropped", (double)report->dropped);
    cJSON *findings = cJSON_AddArrayToObject(root, "findings");
    for (size_t i = 0; i < report->count; i++)
        cJSON_AddItemToArray(findings, finding_json(&report->findings[i]));
    add_list(root, "looked_for", &report->looked_for);
    add_list(root, "unknown", &report->unknown);
    char *text = cJSON_Print(root);
    buf_printf(out, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(root);
}
