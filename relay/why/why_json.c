#include "relay/why/why_json.h"

#include "base/mem.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* Text of Ray's or the program's: line breaks stay, other control characters and broken UTF-8 do
 * not. */
static cJSON *text_of(const char *text)
{
    if (!text)
        return cJSON_CreateNull();
    char *printable = text_printable(text, strlen(text), "\n\t");
    cJSON *item = cJSON_CreateString(printable);
    free(printable);
    return item;
}

static cJSON *time_of(int64_t ms)
{
    return ms ? cJSON_CreateNumber((double)ms) : cJSON_CreateNull();
}

static cJSON *list_of(const struct why_list *list)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < list->count; i++)
        cJSON_AddItemToArray(array, text_of(list->items[i]));
    return array;
}

static cJSON *frames_of(const struct why_report *report)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < report->frame_count; i++) {
        const struct why_frame *frame = &report->frames[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "file", text_of(frame->file));
        cJSON_AddNumberToObject(item, "line", (double)frame->line);
        cJSON_AddItemToObject(item, "function", text_of(frame->function));
        cJSON_AddBoolToObject(item, "in_program", frame->is_users);
        cJSON_AddItemToArray(array, item);
    }
    return array;
}

static cJSON *chain_of(const struct why_report *report)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < report->chain_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "kind", text_of(report->chain[i].kind));
        cJSON_AddItemToObject(item, "id", text_of(report->chain[i].id));
        cJSON_AddItemToObject(item, "text", text_of(report->chain[i].text));
        cJSON_AddItemToArray(array, item);
    }
    return array;
}

static void print(cJSON *json, struct buf *out)
{
    char *text = cJSON_Print(json);
    buf_add_string(out, text);
    buf_add_string(out, "\n");
    cJSON_free(text);
    cJSON_Delete(json);
}

void why_json_report(const struct why_report *report, struct buf *out)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "kind", text_of(report->kind));
    cJSON_AddItemToObject(json, "id", text_of(report->id));
    cJSON_AddItemToObject(json, "name", text_of(text_empty(report->name) ? NULL : report->name));
    cJSON_AddItemToObject(json, "state", text_of(text_empty(report->state) ? NULL : report->state));
    cJSON_AddItemToObject(json, "since_ms", time_of(report->since_ms));
    cJSON_AddItemToObject(json, "code", text_of(report->code));
    cJSON_AddItemToObject(json, "cause", text_of(report->cause));
    cJSON_AddItemToObject(json, "details", list_of(&report->details));
    cJSON_AddItemToObject(json, "frames", frames_of(report));
    cJSON_AddItemToObject(json, "chain", chain_of(report));
    cJSON_AddItemToObject(json, "ray", list_of(&report->ray));
    cJSON_AddItemToObject(json, "unknown", list_of(&report->unknown));
    cJSON_AddItemToObject(json, "next", list_of(&report->next));
    print(json, out);
}

static cJSON *counts_of(const struct why_overview *overview)
{
    cJSON *tasks = cJSON_CreateObject();
    cJSON_AddNumberToObject(tasks, "running", (double)overview->tasks_running);
    cJSON_AddNumberToObject(tasks, "waiting", (double)overview->tasks_waiting);
    cJSON_AddNumberToObject(tasks, "failed", (double)overview->tasks_failed);
    cJSON_AddNumberToObject(tasks, "finished", (double)overview->tasks_finished);
    return tasks;
}

static cJSON *gaps_of(const struct why_records *records)
{
    cJSON *array = cJSON_CreateArray();
    for (int part = 0; part < WHY_PARTS; part++) {
        const struct err *problem = &records->problems[part];
        if (!problem->code)
            continue;
        char *text =
            mem_format("%s: %s", why_records_part_name((enum why_part)part), problem->what);
        cJSON_AddItemToArray(array, text_of(text));
        free(text);
    }
    return array;
}

void why_json_overview(const struct why_records *records, const struct why_overview *overview,
                       struct buf *out)
{
    cJSON *json = cJSON_CreateObject(), *rows = cJSON_CreateArray();
    bool counted = !records->problems[WHY_ATTEMPTS].code;
    cJSON_AddItemToObject(json, "tasks", counted ? counts_of(overview) : cJSON_CreateNull());
    for (size_t i = 0; i < overview->count; i++) {
        const struct why_row *row = &overview->rows[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "kind", text_of(row->kind));
        cJSON_AddItemToObject(item, "id", text_of(row->id));
        cJSON_AddItemToObject(item, "name", text_of(row->name));
        cJSON_AddItemToObject(item, "state", text_of(row->state));
        cJSON_AddNumberToObject(item, "count", (double)row->count);
        cJSON_AddItemToObject(item, "since_ms", time_of(row->at_ms));
        cJSON_AddItemToObject(item, "code", text_of(row->code));
        cJSON_AddItemToObject(item, "cause", text_of(row->cause));
        cJSON_AddItemToArray(rows, item);
    }
    cJSON_AddItemToObject(json, "rows", rows);
    cJSON_AddItemToObject(json, "unknown", gaps_of(records));
    cJSON_AddNumberToObject(json, "dropped", (double)records->dropped);
    print(json, out);
}

/* --- reading --- */

static const char *string_in(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static int64_t number_in(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : 0;
}

static void read_list(const cJSON *object, const char *name, struct why_list *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, name))
    {
        if (cJSON_IsString(item))
            why_list_add(out, "%s", item->valuestring);
    }
}

static void read_frames(const cJSON *object, struct why_report *report)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, "frames"))
    {
        const char *file = string_in(item, "file"), *function = string_in(item, "function");
        why_report_frame(report, file, strlen(file), number_in(item, "line"), function,
                         strlen(function));
    }
}

/* A kind or a code: report and chain keep them as static strings. */
static const char *kind_of(const char *text)
{
    static const char *const kinds[] = {"task", "actor",  "worker", "node",
                                        "job",  "object", "group",  "driver"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(kinds[i], text))
            return kinds[i];
    return "";
}

static const char *good_code_of(const char *text)
{
    static const char *const codes[] = {"finished", "alive", "running", "idle"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (text_equal(codes[i], text))
            return codes[i];
    return "read";
}

bool why_json_read(const char *json, struct why_report *report)
{
    cJSON *root = cJSON_Parse(json);
    const cJSON *item;
    bool is_report = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(root, "id")) &&
                     cJSON_IsString(cJSON_GetObjectItemCaseSensitive(root, "cause"));
    if (is_report) {
        report->kind = kind_of(string_in(root, "kind"));
        report->id = mem_string(string_in(root, "id"));
        report->name = mem_string(string_in(root, "name"));
        report->state = mem_string(string_in(root, "state"));
        report->summary = mem_format("%s · %s", report->kind, report->state);
        report->since_ms = number_in(root, "since_ms");
        why_report_cause(report, good_code_of(string_in(root, "code")), "%s",
                         string_in(root, "cause"));
        read_list(root, "details", &report->details);
        read_list(root, "ray", &report->ray);
        read_list(root, "unknown", &report->unknown);
        read_list(root, "next", &report->next);
        read_frames(root, report);
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "chain"))
        {
            why_report_link(report, kind_of(string_in(item, "kind")), string_in(item, "id"), "%s",
                            string_in(item, "text"));
        }
    }
    cJSON_Delete(root);
    return is_report;
}
