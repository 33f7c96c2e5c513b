#include "relay/sweep/sweep_page.h"

#include "base/text.h"
#include "dap/json_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_DEFAULT = 100, COUNT_LIMIT = 1000 };

/* --- arguments --- */

static bool find(const char *json, struct span arguments, const char *name, struct span *value)
{
    return arguments.len && scan_find(json, arguments, name, value) && json[value->at] != 'n';
}

static int wrong(struct err *err, const char *name, const char *what)
{
    return err_set(err, ERR_USAGE, "raydbg/clusterObjects: \"%s\" must be %s", name, what);
}

static int read_text(char **out, const char *json, struct span arguments, const char *name,
                     struct err *err)
{
    struct span value;
    if (!find(json, arguments, name, &value))
        return 0;
    *out = scan_string(json, value);
    return *out ? 0 : wrong(err, name, "a string");
}

static int read_size(size_t *out, const char *json, struct span arguments, const char *name,
                     struct err *err)
{
    struct span value;
    int64_t number;
    if (!find(json, arguments, name, &value))
        return 0;
    if (!scan_integer(json, value, &number) || number < 0)
        return wrong(err, name, "a number from 0");
    *out = (size_t)number;
    return 0;
}

static int read_words(struct objects_page *page, const char *json, struct span arguments,
                      struct err *err)
{
    char *group_by = NULL, *sort_by = NULL;
    int rc = read_text(&group_by, json, arguments, "groupBy", err);
    if (rc == 0)
        rc = read_text(&sort_by, json, arguments, "sortBy", err);
    if (rc == 0 && group_by && !object_group_parse(group_by, &page->group_by))
        rc = wrong(err, "groupBy", "none, node, call-site, owner, task, actor or job");
    if (rc == 0 && sort_by && !sweep_query_sort_parse(sort_by, &page->sort_by))
        rc = wrong(err, "sortBy", "size, refs, pid or age");
    free(group_by);
    free(sort_by);
    return rc;
}

static int read_taken(struct objects_page *page, const char *json, struct span arguments,
                      struct err *err)
{
    static const struct json_field fields[] = {
        JSON_OPTIONAL_FIELD(struct objects_page, taken_ms, "taken", JSON_MS),
    };
    static const struct json_table table = JSON_TABLE(fields);
    return arguments.len && json_record_read(&table, json, arguments, page, err) != 0
               ? wrong(err, "taken", "what an earlier answer said")
               : 0;
}

int objects_page_read(struct objects_page *page, const char *json, struct span arguments,
                      struct err *err)
{
    *page = (struct objects_page){.count = COUNT_DEFAULT};
    if (arguments.len && json[arguments.at] != '{')
        return err_set(err, ERR_USAGE, "raydbg/clusterObjects: the arguments must be an object");
    if (read_words(page, json, arguments, err) != 0 ||
        read_text(&page->filter, json, arguments, "filter", err) != 0 ||
        read_text(&page->task, json, arguments, "task", err) != 0 ||
        read_text(&page->group, json, arguments, "group", err) != 0 ||
        read_size(&page->start, json, arguments, "start", err) != 0 ||
        read_size(&page->count, json, arguments, "count", err) != 0 ||
        read_taken(page, json, arguments, err) != 0)
        return -1;
    if (page->count > COUNT_LIMIT)
        page->count = COUNT_LIMIT;
    return 0;
}

void objects_page_clear(struct objects_page *page)
{
    free(page->filter);
    free(page->task);
    free(page->group);
    *page = (struct objects_page){0};
}

bool objects_page_needs_tasks(const struct objects_page *page)
{
    return page->group_by == OBJECT_BY_TASK || page->sort_by == OBJECT_SORT_AGE || page->filter ||
           page->task;
}

/* --- the page --- */

/* The group whose rows are paged; NULL if groups are paged, or if there is no such group. */
static const struct object_group *open_group(const struct objects_page *page,
                                             const struct object_report *report)
{
    for (size_t i = 0; i < report->group_count; i++)
        if (page->group_by == OBJECT_BY_NOTHING || text_equal(report->groups[i].key, page->group))
            return &report->groups[i];
    return NULL;
}

static size_t clip(const struct objects_page *page, size_t total)
{
    size_t left = page->start < total ? total - page->start : 0;
    return left < page->count ? left : page->count;
}

const struct object_row *const *objects_page_rows(const struct objects_page *page,
                                                  const struct object_report *report, size_t *count)
{
    const struct object_group *group = open_group(page, report);
    *count = group ? clip(page, group->row_count) : 0;
    return *count ? group->rows + page->start : NULL;
}

static void write_group(const struct object_group *group, struct buf *out)
{
    bool first = true;
    buf_add_string(out, "{\"key\":");
    json_put_text(out, group->key);
    buf_printf(out,
               ",\"bytes\":%" PRId64 ",\"objects\":%zu,\"references\":%zu,\"unknownSizes\":%zu,"
               "\"byReference\":{",
               group->bytes, group->objects, group->row_count, group->unknown);
    for (size_t i = 0; i <= OBJECT_REFERENCE_UNKNOWN; i++) {
        if (!group->by_reference[i])
            continue;
        buf_printf(out, "%s\"%s\":{\"references\":%zu,\"bytes\":%" PRId64 "}", first ? "" : ",",
                   object_reference_name((enum object_reference)i), group->by_reference[i],
                   group->bytes_by_reference[i]);
        first = false;
    }
    buf_add_string(out, "}}");
}

static void write_process(const struct object_sweep *sweep, int32_t index, struct buf *out)
{
    if (index < 0) {
        buf_add_string(out, "null");
        return;
    }
    const struct object_process *process = &sweep->processes[index];
    const struct object_node *node = &sweep->nodes[process->node];
    buf_printf(out, "{\"pid\":%" PRId64 ",\"driver\":%s", process->worker->pid,
               process->worker->type == RAY_DRIVER ? "true" : "false");
    json_member_text(out, "node", node->name);
    json_member_text(out, "ip", node->ip);
    json_member_text(out, "workerId", process->worker->worker_id);
    json_member_text(out, "jobId", process->worker->job_id);
    json_member_text(out, "actorId", process->worker->actor_id);
    json_member_text(out, "actorClass", process->actor_class);
    json_member_text(out, "actorName", process->actor_name);
    buf_add_string(out, "}");
}

static const char *node_name(const struct object_sweep *sweep, const char *node_id)
{
    for (size_t i = 0; i < sweep->node_count; i++)
        if (text_equal(sweep->nodes[i].node_id, node_id))
            return sweep->nodes[i].name;
    return node_id;
}

/* The members that only the owner knows; null if it has not reported them. */
static void write_location(const struct object_sweep *sweep, const struct object_id *id,
                           struct buf *out)
{
    const struct ray_object_location *location = object_sweep_location(sweep, id);
    if (!location || !location->known) {
        buf_add_string(out, ",\"copies\":null,\"spilled\":null");
        return;
    }
    buf_add_string(out, ",\"copies\":[");
    for (size_t i = 0; i < location->node_count; i++) {
        buf_add_string(out, i ? "," : "");
        json_put_text(out, node_name(sweep, location->node_ids[i]));
    }
    buf_printf(out, "],\"spilled\":%s", text_empty(location->spilled_url) ? "false" : "true");
}

static void write_row(const struct object_sweep *sweep, const struct object_row *row,
                      struct buf *out)
{
    const struct ray_object_ref *ref = row->ref;
    const struct ray_task *task = object_sweep_task(sweep, &ref->id);
    char id[ID_TEXT(ID_OBJECT_BYTES)];
    object_id_hex(&ref->id, id);
    buf_printf(out, "{\"objectRef\":\"%s\",\"referenceType\":\"%s\"", id,
               object_reference_name(row->reference));
    json_member_number(out, "size", row->size);
    json_member_text(out, "callSite", ref->call_site);
    json_member_text(out, "taskStatus",
                     ref->status == RAY_TASK_NIL ? NULL : ray_task_status_name(ref->status));
    buf_printf(out,
               ",\"localReferences\":%" PRId64 ",\"submittedTasks\":%" PRId64
               ",\"containedIn\":%" PRIu32 ",\"pinnedInMemory\":%s",
               ref->local, ref->submitted, ref->contained_in, ref->pinned ? "true" : "false");
    json_member_text(out, "taskId", task ? task->task_id : NULL);
    json_member_text(out, "taskName", task ? task->name : NULL);
    write_location(sweep, &ref->id, out);
    buf_add_string(out, ",\"process\":");
    write_process(sweep, (int32_t)row->process, out);
    buf_add_string(out, ",\"owner\":");
    write_process(sweep, row->owner, out);
    buf_add_string(out, "}");
}

static void write_nodes(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, ",\"nodes\":[");
    for (size_t i = 0; i < sweep->node_count; i++) {
        const struct object_node *node = &sweep->nodes[i];
        buf_printf(out, "%s{\"asked\":%s", i ? "," : "", node->asked ? "true" : "false");
        json_member_text(out, "nodeId", node->node_id);
        json_member_text(out, "name", node->name);
        json_member_text(out, "ip", node->ip);
        json_member_text(out, "problem", node->problem);
        buf_printf(out,
                   ",\"used\":%" PRId64 ",\"capacity\":%" PRId64 ",\"spilledBytes\":%" PRId64
                   ",\"spilledObjects\":%" PRId64 "}",
                   node->store.used, node->store.available, node->store.spilled_bytes,
                   node->store.spilled_objects);
    }
    buf_add_string(out, "]");
}

static void write_groups(const struct objects_page *page, const struct object_report *report,
                         struct buf *out)
{
    const struct object_group *open = open_group(page, report);
    bool paged = page->group_by != OBJECT_BY_NOTHING && !page->group;
    size_t count = paged ? clip(page, report->group_count) : open ? 1 : 0;
    const struct object_group *groups = paged ? report->groups + (count ? page->start : 0) : open;
    buf_printf(out, ",\"total\":%zu,\"groups\":[",
               paged  ? report->group_count
               : open ? open->row_count
                      : 0);
    for (size_t i = 0; i < count; i++) {
        buf_add_string(out, i ? "," : "");
        write_group(&groups[i], out);
    }
    buf_add_string(out, "]");
}

void objects_page_write(const struct objects_page *page, const struct object_sweep *sweep,
                        const struct object_report *report, struct buf *out)
{
    size_t count;
    const struct object_row *const *rows = objects_page_rows(page, report, &count);
    buf_add_string(out, "{\"taken\":");
    json_put_seconds(out, sweep->taken_ms);
    buf_printf(out, ",\"bytes\":%" PRId64 ",\"objects\":%zu,\"references\":%zu,\"start\":%zu",
               report->bytes, report->objects, report->rows, page->start);
    write_nodes(sweep, out);
    write_groups(page, report, out);
    buf_add_string(out, ",\"rows\":[");
    for (size_t i = 0; i < count; i++) {
        buf_add_string(out, i ? "," : "");
        write_row(sweep, rows[i], out);
    }
    buf_add_string(out, "]}");
}
