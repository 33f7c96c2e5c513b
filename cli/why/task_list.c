#include "cli/why/task_list.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/table.h"
#include "proto/job_id.h"
#include "relay/why_records/why_names.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The selected attempts, the latest first. */
struct selection {
    const struct ray_attempt **items;
    size_t count;
};

static bool is_on(const struct why_records *records, const struct ray_attempt *attempt,
                  const char *name)
{
    const struct ray_node *node = why_records_node(records, attempt->node_id);
    return node && (text_equal(node->ip, name) || text_equal(node->hostname, name) ||
                    text_starts(node->node_id, name));
}

/* A task is listed by its last attempt that failed, also while it is tried again. */
static bool has_failed(const struct why_records *records, const struct ray_attempt *it)
{
    if (it->state != RAY_ATTEMPT_FAILED || it->state_ms[RAY_ATTEMPT_FAILED] < records->since_ms)
        return false;
    if (why_records_is_retried(records, it))
        return why_records_stands_for_task(records, it + 1) && !ray_attempt_is_over(it + 1);
    return why_records_stands_for_task(records, it);
}

static bool is_selected(const struct why_records *records, const struct task_list_select *select,
                        const struct ray_attempt *it)
{
    if (select->failed ? !has_failed(records, it) : !why_records_stands_for_task(records, it))
        return false;
    if (select->job && !job_id_is(it->job_id, select->job))
        return false;
    if (select->node && !is_on(records, it, select->node))
        return false;
    return select->failed || why_records_is_running(records, it);
}

static int compare_times(const void *left, const void *right)
{
    const struct ray_attempt *const *a = left, *const *b = right;
    int64_t first = (*a)->state_ms[(*a)->state], second = (*b)->state_ms[(*b)->state];
    return (first < second) - (first > second);
}

static struct selection select_attempts(const struct why_records *records,
                                        const struct task_list_select *select)
{
    struct selection selection = {0};
    for (size_t i = 0; i < records->attempt_count; i++)
        selection.count += is_selected(records, select, &records->attempts[i]);
    selection.items = mem_array(selection.count, sizeof(const struct ray_attempt *));
    selection.count = 0;
    for (size_t i = 0; i < records->attempt_count; i++)
        if (is_selected(records, select, &records->attempts[i]))
            selection.items[selection.count++] = &records->attempts[i];
    if (selection.count)
        qsort(selection.items, selection.count, sizeof(const struct ray_attempt *), compare_times);
    return selection;
}

static void judge(const struct why_records *records, const struct ray_attempt *attempt,
                  struct why_report *report)
{
    const struct why_subject subject = {.kind = WHY_TASK, .attempt = attempt};
    *report = (struct why_report){0};
    why_judge(records, &subject, report);
}

static int64_t pid_of(const struct why_records *records, const struct ray_attempt *attempt)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    return attempt->pid ? attempt->pid : worker ? worker->pid : 0;
}

/* --- the table --- */

static void add_row(struct table *table, const struct why_records *records,
                    const struct ray_attempt *attempt)
{
    struct why_report report;
    char cell[32], span[WHY_SPAN_TEXT], id[ID_TEXT(ID_TASK_BYTES)];
    int64_t pid = pid_of(records, attempt), since = attempt->state_ms[attempt->state];
    const char *ip = why_records_ip(records, attempt->node_id);
    judge(records, attempt, &report);
    table_cell(table, why_short_id(attempt->task_id, id));
    table_cell(table, attempt->name);
    table_cell(table, job_id_brief(attempt->job_id, cell));
    table_cell(table, *ip ? ip : "-");
    snprintf(cell, sizeof cell, "%lld", (long long)pid);
    table_cell(table, pid ? cell : "-");
    table_cell(table, since ? why_span(records->now_ms - since, span) : "-");
    if (why_records_is_retried(records, attempt)) {
        char *cause = mem_format("%s; it is tried again", report.cause);
        table_cell(table, cause);
        free(cause);
    } else {
        table_cell(table, report.cause);
    }
    why_report_clear(&report);
}

void task_list_table(const struct why_records *records, const struct task_list_select *select,
                     const char *cluster, const struct why_style *style, struct buf *out)
{
    static const struct table_column columns[] = {
        {.title = "TASK"},
        {.title = "NAME", .shrinks = true},
        {.title = "JOB"},
        {.title = "NODE"},
        {.title = "PID", .right = true},
        {.title = "SINCE", .right = true},
        {.title = "CAUSE", .shrinks = true},
    };
    struct selection selection = select_attempts(records, select);
    struct table *table = table_create(columns, sizeof columns / sizeof *columns);
    char span[WHY_SPAN_TEXT], id[ID_TEXT(ID_TASK_BYTES)];
    for (size_t i = 0; i < selection.count; i++)
        add_row(table, records, selection.items[i]);
    if (selection.count)
        table_render(table, style->width, style->colour, style->utf8, out);
    if (select->failed)
        buf_printf(out, "%zu failed in the last %s, of cluster %s\n", selection.count,
                   why_span(records->now_ms - records->since_ms, span), cluster);
    else
        buf_printf(out, "%zu running, of cluster %s\n", selection.count, cluster);
    why_output_gaps(records, style, out);
    if (selection.count)
        buf_printf(out, "next: raydbg why %s\n", why_short_id(selection.items[0]->task_id, id));
    table_free(&table);
    free(selection.items);
}

/* --- JSON --- */

static void add_text(cJSON *object, const char *name, const char *text)
{
    char *printable = text_empty(text) ? NULL : text_printable(text, strlen(text), "\n\t");
    cJSON_AddItemToObject(object, name,
                          printable ? cJSON_CreateString(printable) : cJSON_CreateNull());
    free(printable);
}

static cJSON *row_of(const struct why_records *records, const struct ray_attempt *attempt)
{
    cJSON *row = cJSON_CreateObject();
    struct why_report report;
    int64_t pid = pid_of(records, attempt), since = attempt->state_ms[attempt->state];
    judge(records, attempt, &report);
    add_text(row, "task_id", attempt->task_id);
    add_text(row, "task_name", attempt->name);
    add_text(row, "job_id", attempt->job_id);
    add_text(row, "node_id", attempt->node_id);
    add_text(row, "node_ip", why_records_ip(records, attempt->node_id));
    cJSON_AddItemToObject(row, "pid", pid ? cJSON_CreateNumber((double)pid) : cJSON_CreateNull());
    add_text(row, "worker_id", attempt->worker_id);
    add_text(row, "state", report.state);
    cJSON_AddNumberToObject(row, "attempt", attempt->attempt);
    cJSON_AddItemToObject(row, "since_ms",
                          since ? cJSON_CreateNumber((double)since) : cJSON_CreateNull());
    add_text(row, "code", report.code);
    add_text(row, "cause", report.cause);
    why_report_clear(&report);
    return row;
}

void task_list_json(const struct why_records *records, const struct task_list_select *select,
                    struct buf *out)
{
    struct selection selection = select_attempts(records, select);
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < selection.count; i++)
        cJSON_AddItemToArray(rows, row_of(records, selection.items[i]));
    char *text = cJSON_Print(rows);
    buf_add_string(out, text);
    buf_add_string(out, "\n");
    cJSON_free(text);
    cJSON_Delete(rows);
    free(selection.items);
}
