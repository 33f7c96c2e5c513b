#include "cli/memory/memory_export.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/memory/memory_output.h"
#include "cli/memory/memory_sites.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Faster than printf, which takes most of the time for hundreds of thousands of numbers. */
static void add_digits(struct buf *out, int64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    buf_add(out, at, (size_t)(digits + sizeof digits - at));
}

/* --- JSON --- */

static void write_rows(const struct object_sweep *sweep, struct object_row *rows, size_t count,
                       struct buf *out)
{
    struct object_sweep part = *sweep;
    part.rows = rows;
    part.row_count = count;
    sweep_json_write(&part, out);
}

static void add_kinds(const struct object_group *group, struct buf *out)
{
    const char *between = "";
    buf_add_string(out, "{");
    for (size_t i = 0; i <= OBJECT_REFERENCE_UNKNOWN; i++) {
        if (!group->by_reference[i])
            continue;
        buf_printf(out, "%s\"%s\": {\"references\": %zu, \"bytes\": %" PRId64 "}", between,
                   object_reference_name((enum object_reference)i), group->by_reference[i],
                   group->bytes_by_reference[i]);
        between = ", ";
    }
    buf_add_string(out, "}");
}

/* indices[i] is the index in the JSON of row i of the sweep. */
static void add_order(const struct object_group *group, const struct object_sweep *sweep,
                      const uint32_t *indices, struct buf *out)
{
    buf_add_string(out, ", \"rows\": [");
    for (size_t i = 0; i < group->row_count; i++) {
        buf_add_string(out, i ? ", " : "");
        add_digits(out, indices[group->rows[i] - sweep->rows]);
    }
    buf_add_string(out, "]}");
}

static void add_groups(const struct object_report *report, const struct object_sweep *sweep,
                       const uint32_t *indices, struct buf *out)
{
    buf_add_string(out, "\"groups\": [");
    for (size_t i = 0; i < report->group_count; i++) {
        const struct object_group *group = &report->groups[i];
        buf_add_string(out, i ? ",\n{\"key\": " : "\n{\"key\": ");
        message_quote(out, group->key);
        buf_printf(out,
                   ", \"bytes\": %" PRId64 ", \"objects\": %zu, \"references\": %zu, "
                   "\"unknown_size\": %zu, \"kinds\": ",
                   group->bytes, group->objects, group->row_count, group->unknown);
        add_kinds(group, out);
        add_order(group, sweep, indices, out);
    }
    buf_add_string(out, "\n]");
}

/* Takes the end off the object that `out` ends with, so that a member can be added. */
static void reopen_object(struct buf *out)
{
    while (out->len && (out->data[out->len - 1] == '\n' || out->data[out->len - 1] == ' '))
        out->len--;
    out->len -= out->len && out->data[out->len - 1] == '}';
    while (out->len && out->data[out->len - 1] == '\n')
        out->len--;
    buf_add_string(out, ",\n");
}

/* The report's rows in the sweep's order, which readers rely on. Sets `indices` for them. */
static struct object_row *pick_rows(const struct object_report *report,
                                    const struct object_sweep *sweep, uint32_t *indices)
{
    struct object_row *rows = mem_array(report->rows + 1, sizeof *rows);
    uint32_t count = 0;
    for (size_t i = 0; i < report->rows; i++)
        indices[report->all[i] - sweep->rows] = 1;
    for (size_t i = 0; i < sweep->row_count; i++) {
        if (!indices[i])
            continue;
        rows[count] = sweep->rows[i];
        indices[i] = count++;
    }
    return rows;
}

void memory_json(const struct object_report *report, const struct object_sweep *sweep,
                 const struct sweep_query *query, struct buf *out)
{
    uint32_t *indices = mem_array(sweep->row_count + 1, sizeof *indices);
    struct object_row *rows = pick_rows(report, sweep, indices);
    write_rows(sweep, rows, report->rows, out);
    if (query->group_by != OBJECT_BY_NOTHING || query->sort_by != OBJECT_SORT_SIZE) {
        reopen_object(out);
        add_groups(report, sweep, indices, out);
        buf_add_string(out, "}");
    }
    if (out->len && out->data[out->len - 1] != '\n')
        buf_add_string(out, "\n");
    free(rows);
    free(indices);
}

void memory_stats_json(const struct object_sweep *sweep, struct buf *out)
{
    struct object_sweep part = {.taken_ms = sweep->taken_ms,
                                .nodes = sweep->nodes,
                                .node_count = sweep->node_count,
                                .unanswered = sweep->unanswered};
    sweep_json_write(&part, out);
    if (out->len && out->data[out->len - 1] != '\n')
        buf_add_string(out, "\n");
}

/* --- CSV --- */

void memory_csv_text(const char *text, struct buf *out)
{
    if (text_empty(text))
        return;
    if (!strpbrk(text, ",\"\r\n") && *text != ' ') {
        buf_add_string(out, text);
        return;
    }
    buf_add_string(out, "\"");
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        buf_add(out, text, (size_t)(quote - text));
        buf_add_string(out, "\"\"");
    }
    buf_printf(out, "%s\"", text);
}

static void add_text(struct buf *out, const char *text)
{
    buf_add_string(out, ",");
    memory_csv_text(text, out);
}

static void add_number(struct buf *out, int64_t number)
{
    buf_add_string(out, ",");
    add_digits(out, number);
}

static const char csv_titles[] =
    "group,node_ip,node,pid,type,job_id,actor_class,actor_name,object_ref,size,reference_type,"
    "call_site,task_status,attempt,local_refs,pinned,submitted_refs,contained_in,"
    "owner_pid,owner_node,task_id,task_name,copies,where,held_by_no_variable\n";

static void add_holder(const struct object_sweep *sweep, const struct object_row *row,
                       struct buf *out)
{
    const struct object_process *process = &sweep->processes[row->process];
    add_text(out, process->worker->ip);
    add_text(out, sweep->nodes[process->node].name);
    add_number(out, process->worker->pid);
    add_text(out, memory_type_name(sweep, row));
    add_text(out, process->worker->job_id);
    add_text(out, process->actor_class);
    add_text(out, process->actor_name);
}

static void add_reference(const struct object_row *row, struct buf *out)
{
    char id[ID_TEXT(ID_OBJECT_BYTES)];
    const struct ray_object_ref *ref = row->ref;
    object_id_hex(&ref->id, id);
    add_text(out, id);
    if (row->size >= 0)
        add_number(out, row->size);
    else
        buf_add_string(out, ",");
    add_text(out, object_reference_name(row->reference));
    add_text(out, ref->call_site);
    add_text(out, ref->status == RAY_TASK_NIL ? "" : ray_task_status_name(ref->status));
    add_number(out, ref->attempt + 1);
    add_number(out, ref->local);
    add_text(out, ref->pinned ? "true" : "false");
    add_number(out, ref->submitted);
    add_number(out, ref->contained_in);
}

static void add_origin(const struct object_sweep *sweep, const struct object_row *row,
                       struct buf *out)
{
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    const struct ray_task *task = object_sweep_task(sweep, &row->ref->id);
    const struct object_process *owner = row->owner < 0 ? NULL : &sweep->processes[row->owner];
    if (owner)
        add_number(out, owner->worker->pid);
    else
        buf_add_string(out, ",");
    add_text(out, owner ? sweep->nodes[owner->node].name : "");
    object_id_task(&row->ref->id, task_id);
    add_text(out, task_id);
    add_text(out, task ? task->name : "");
}

static void add_location(const struct object_sweep *sweep, const struct object_row *row,
                         struct buf *out)
{
    const struct ray_object_location *at = object_sweep_location(sweep, &row->ref->id);
    struct buf where = {0};
    if (at && at->known)
        add_number(out, (int64_t)at->node_count);
    else
        buf_add_string(out, ",");
    memory_where(sweep, row, &where);
    add_text(out, where.data);
    buf_free(&where);
}

static enum memory_hold hold_of(const struct object_sweep *sweep, const struct object_row *row)
{
    size_t count, first = object_sweep_rows_of(sweep, &row->ref->id, &count);
    return memory_hold_of(sweep, sweep->rows + first, count);
}

void memory_csv(const struct object_report *report, const struct object_sweep *sweep,
                const struct sweep_query *query, struct buf *out)
{
    buf_add_string(out, csv_titles);
    for (size_t i = 0; i < report->group_count; i++) {
        const struct object_group *group = &report->groups[i];
        for (size_t k = 0; k < group->row_count; k++) {
            const struct object_row *row = group->rows[k];
            if (query->group_by != OBJECT_BY_NOTHING)
                memory_csv_text(group->key, out);
            add_holder(sweep, row, out);
            add_reference(row, out);
            add_origin(sweep, row, out);
            add_location(sweep, row, out);
            add_text(out, memory_hold_note(hold_of(sweep, row)));
            buf_add_string(out, "\n");
        }
    }
}

void memory_stats_csv(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, "node_ip,node,answered,used,capacity,primary_copies_bytes,fallback,objects,"
                        "primary_copies,spilled_bytes,spilled_objects,spill_seconds,restored_bytes,"
                        "restored_objects,restore_seconds,created_objects,created_bytes,"
                        "pulls_queued\n");
    for (size_t i = 0; i < sweep->node_count; i++) {
        const struct object_node *node = &sweep->nodes[i];
        const struct ray_store_stats *it = &node->store;
        memory_csv_text(node->ip, out);
        add_text(out, node->name);
        add_text(out, node->asked ? "true" : "false");
        if (!node->asked) {
            buf_add_string(out, ",,,,,,,,,,,,,,,\n");
            continue;
        }
        buf_printf(out,
                   ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                   ",%" PRId64 ",%" PRId64 ",%.3f,%" PRId64 ",%" PRId64 ",%.3f,%" PRId64 ",%" PRId64
                   ",%s\n",
                   it->used, it->available, it->primary_copies_bytes, it->fallback, it->objects,
                   it->primary_copies, it->spilled_bytes, it->spilled_objects, it->spill_seconds,
                   it->restored_bytes, it->restored_objects, it->restore_seconds,
                   it->created_objects, it->created_bytes, it->pulls_queued ? "true" : "false");
    }
}
